# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the arguments of a `DecisionPoint`: its name, features, advice and domain."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from passpilot.features.domain import Choice, Domain, Flag, Number
from passpilot.features.point import Feature
from passpilot.features.spec import TensorSpec
from passpilot.passes.python.names import NAME

if TYPE_CHECKING:
    from passpilot.passes.decision_point import Values

_LARGEST: Final = sys.float_info.max


def feature_row(feature: TensorSpec | Feature) -> Feature:
    """Convert a feature to a row of a table.

    Raises:
        TypeError: `feature` is neither a `TensorSpec` nor a `Feature`.
    """
    if isinstance(feature, Feature):
        return feature
    if not isinstance(feature, TensorSpec):
        raise TypeError(f"expected a TensorSpec or a Feature for each feature, got {feature!r}")
    return Feature(feature, "")


def rows_of(name: object, rows: Sequence[Feature], domain: Domain) -> tuple[Feature, ...]:
    """The rows of the table; adds the mask of a `Choice` if it is missing.

    Raises:
        TypeError: a name is not valid, or the mask has the wrong type or size.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise TypeError(f"expected a name in kebab-case, such as 'unroll-factor', got {name!r}")
    for row in rows:
        if not (row.spec.name.isascii() and row.spec.name.isidentifier()):
            raise TypeError(f"expected ASCII identifiers as names of features, got {row.spec.name!r}")
    if not isinstance(domain, Choice):
        return tuple(rows)
    wanted = TensorSpec(domain.mask, "int64", (1, domain.count))
    mask = next((row.spec for row in rows if row.spec.name == domain.mask), None)
    if mask is None:
        return (*rows, Feature(wanted, "1 in the column of each choice that is allowed"))
    if (mask.dtype, mask.size) != (wanted.dtype, wanted.size):
        raise TypeError(f"expected the mask {mask.name} as {wanted}, got it as {mask}")
    return tuple(rows)


def whole_mask(domain: Domain, rows: Iterable[Feature]) -> Values:
    """A mask that allows every column of a `Choice`, by its name; empty for other domains."""
    if not isinstance(domain, Choice):
        return {}
    value: object = 1
    for count in reversed(next(row.spec.shape for row in rows if row.spec.name == domain.mask)):
        value = (value,) * count
    return {domain.mask: value}


def domain_of(advice: object, domain: object, specs: Iterable[TensorSpec]) -> Domain:
    """The domain of the advice: the given one, or the one that advice and features imply.

    Raises:
        TypeError: the advice or the domain is not valid, or they do not fit each other.
    """
    if not isinstance(advice, TensorSpec) or str(advice) not in ("int64[1]", "float64[1]"):
        raise TypeError(f"expected a TensorSpec of int64[1] or float64[1] as advice, got {advice!r}")
    numbers = advice.dtype == "float64"
    if domain is None:
        mask = next((spec for spec in specs if spec.name == "mask" and not numbers), None)
        domain = Number(-_LARGEST, _LARGEST) if numbers else Choice(mask.size, "mask") if mask else Flag()
    if not isinstance(domain, (Flag, Choice, Number)) or isinstance(domain, Number) != numbers:
        wanted = "a Number for" if numbers else "a Flag or a Choice for"
        raise TypeError(f"expected {wanted} the advice {advice}, got {domain!r}")
    if isinstance(domain, Choice) and domain.count < 1:
        raise TypeError(f"expected at least one choice, got {domain!r}")
    if isinstance(domain, Number):
        if not domain.low <= domain.high:
            raise TypeError(f"expected a range of numbers, got {domain!r}")
        return Number(max(domain.low, -_LARGEST), min(domain.high, _LARGEST))
    return domain
