# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ratios of times that were measured in pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Final, TypedDict

FEWEST: Final = 3
"""The fewest pairs with an interval."""

_STUDENT: Final = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145),
    *(2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048),
    *(2.045, 2.042),
)
"""The 97.5 % quantiles of Student's distribution with 1 to 30 degrees of freedom."""

_NORMAL: Final = 1.96


class PairedRatio(TypedDict):
    """The ratio of two times, measured in turns; the interval is None where there are too few pairs."""

    ratio: float
    low: float | None
    high: float | None
    pairs: int


class RunTime(PairedRatio):
    """The time of a program's runs, relative to the reference's."""

    seconds: float
    """The median of the processor time of all runs together."""


WIDEST: Final = 1.05
"""The end of an interval by its beginning above which a ratio is not known."""

NOT_KNOWN: Final = "not known"


def is_known(timed: PairedRatio) -> bool:
    """Whether the interval is narrow enough to say the ratio; one without an interval is."""
    low, high = timed["low"], timed["high"]
    return low is None or high is None or high <= WIDEST * low


def ratio_text(timed: PairedRatio) -> str:
    """A ratio with its interval, or that it is not known."""
    if not is_known(timed):
        return NOT_KNOWN
    interval = "" if timed["low"] is None else f" ({timed['low']:.3f}-{timed['high']:.3f})"
    return f"{timed['ratio']:.3f}{interval}"


def paired_ratio(times: Sequence[float], against: Sequence[float]) -> PairedRatio | None:
    """The geometric mean of the ratios of pairs, with its 95 % interval by Student's distribution."""
    logs = [math.log(own / other) for own, other in zip(times, against, strict=True) if own > 0 and other > 0]
    if not logs:
        return None
    mean = fmean(logs)
    low: float | None = None
    high: float | None = None
    if len(logs) >= FEWEST:
        quantile = _STUDENT[len(logs) - 2] if len(logs) - 2 < len(_STUDENT) else _NORMAL
        half = quantile * stdev(logs) / math.sqrt(len(logs))
        low, high = math.exp(mean - half), math.exp(mean + half)
    return {"ratio": math.exp(mean), "low": low, "high": high, "pairs": len(logs)}
