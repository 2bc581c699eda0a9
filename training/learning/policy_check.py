# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares an exported model, in onnxruntime, with the trained one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from passpilot.features.domain import Choice, Flag
from passpilot.plugin.errors import ModelError
from passpilot.training.data.matrix import decide
from passpilot.training.learning.graph import INPUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from passpilot.training.data.matrix import Examples, Floats
    from passpilot.training.learning.learner import Learner, Scaling

OBSERVATIONS: Final = 10_000
NEAR: Final = 1e-3
"""Scores so near to each other, relative to the largest, may be ordered differently after rounding."""


@dataclass(frozen=True, slots=True)
class ExportCheck:
    """How an exported model compares with the trained one.

    Attributes:
        observations: the decisions that both have taken.
        differing: how many of them differ, all of them nearly undecided.
        distance: the largest difference of scores, relative to the largest score.
    """

    observations: int
    differing: int
    distance: float


def check_export(
    model: bytes, learner: Learner, scaling: Scaling, parts: Sequence[Examples], seed: int
) -> ExportCheck:
    """Compare them on `OBSERVATIONS` observations: those of the data, and if they are few, distorted ones.

    Raises:
        ModelError: they decide differently, where it is no matter of rounding.
    """
    import onnxruntime

    flat, mask = _observations(parts, np.random.default_rng(seed))
    arrangement = parts[0].arrangement
    domain = arrangement.domain
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    given = np.concatenate([session.run(None, {INPUT: part})[0] for part in np.array_split(flat, 20)])
    scores = learner.scores(flat)
    largest = float(np.abs(scores).max()) or 1.0
    if isinstance(domain, Flag):
        wanted = scores[:, 0] >= 0
        near = np.abs(scores[:, 0]) < NEAR * largest
        if given.dtype.kind == "f":
            distance = float(np.abs(given[:, 0] - 1 / (1 + np.exp(-scores[:, 0].astype(np.float64)))).max())
            differing = (given[:, 0] >= 0.5) != wanted
        else:
            distance, differing = 0.0, (given[:, 0] != 0) != wanted
    elif isinstance(domain, Choice):
        distance = float(np.abs(given - scores).max()) / largest
        chosen, wanted = decide(domain, given, mask), decide(domain, scores, mask)
        differing = chosen != wanted
        rows = np.arange(len(scores))
        gap = scores[rows, wanted.astype(np.int64)] - scores[rows, chosen.astype(np.int64)]
        near = gap < NEAR * largest
    else:
        scaled = scores * np.float32(scaling.factor) + np.float32(scaling.offset)
        wanted = decide(domain, scaled, None)
        distance = float(np.abs(given[:, 0] - wanted).max() / (np.abs(wanted).max() or 1.0))
        differing = near = np.zeros(len(flat), bool)
    if (differing & ~near).any() or not distance < NEAR:
        count = int((differing & ~near).sum())
        msg = f"{count} of {len(flat)} decisions differ, and scores by {distance:.2g}"
        raise ModelError(f"export to ONNX: expected the decisions of the trained model, got others: {msg}")
    return ExportCheck(len(flat), int(differing.sum()), distance)


def _observations(
    parts: Sequence[Examples], random: np.random.Generator
) -> tuple[Floats, NDArray[np.bool_] | None]:
    """The elements and the masks of `OBSERVATIONS` decisions."""
    flat = np.concatenate([part.flat for part in parts])
    masks = [np.ones((len(part), part.arrangement.columns), bool) if part.mask is None else part.mask for part in parts]
    chosen = random.permutation(len(flat))[:OBSERVATIONS]
    rest = random.integers(0, len(flat), OBSERVATIONS - len(chosen))
    distorted = np.round(flat[rest] * random.uniform(0.5, 1.5, flat[rest].shape)).astype(np.float32)
    return np.concatenate([flat[chosen], distorted]), np.concatenate(masks)[np.concatenate([chosen, rest])]
