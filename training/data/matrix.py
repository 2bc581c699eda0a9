# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Arrangement`: how the tensors of decisions become rows of numbers; `Examples`: rows with their labels.

A decision is one row of all its elements. Where it is a choice among columns that have features of their own,
as in `evict`, it is a row per column: a model rates the columns one by one, and the best legal one is chosen.
The compiler's own decision, if a model sees it, is there whether a column is the compiler's choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from passpilot.features.domain import Choice, Domain, Flag
from passpilot.features.point import Point
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import InputError
from passpilot.training.data.shards import GAIN, DecisionShards

Floats = NDArray[np.float32]

LARGEST: Final = 1e30
"""What infinity counts as, which some features of `evict` have."""

Label = Literal["advice", "default", "worth"]
ALL: Final = "*"
"""Stands for a point's own features in a list of names."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How the tensors of a decision become rows of floats.

    Attributes:
        point: the name of the decision point.
        features: the tensors that a model reads, in order.
        domain: the valid answers.
        whole: whether a decision is one row in any case.
        default: the tensor of the compiler's own decision.
    """

    point: str
    features: tuple[TensorSpec, ...]
    domain: Domain
    whole: bool = False
    default: str = ""

    @classmethod
    def of(cls, point: Point, names: Iterable[str], *, whole: bool = False) -> Arrangement:
        """The arrangement of the named features; ``*`` stands for the point's own.

        Raises:
            SpecMismatchError: the point does not offer a feature.
            InputError: a feature has neither one element nor one for each column.
        """
        from passpilot.runners.base import own_features

        mask = point.domain.mask if isinstance(point.domain, Choice) else ""
        own = [spec.name for spec in own_features(point) if spec.name != mask]
        chosen: list[str] = []
        for name in names:
            chosen += own if name == ALL else [name]
        arrangement = cls(
            point.name, point.select(dict.fromkeys(chosen)), point.domain, whole, point.default.name
        )
        if arrangement.by_column:
            wrong = [spec for spec in arrangement.features if spec.size not in (1, arrangement.columns)]
            if wrong:
                expected = f"features of 1 or {arrangement.columns} elements"
                raise InputError(
                    f"features: expected {expected} at {point.name}, got {wrong[0].name} of {wrong[0]}"
                )
        return arrangement

    @property
    def columns(self) -> int:
        """The number of choices; 1 where the advice is no choice."""
        return self.domain.count if isinstance(self.domain, Choice) else 1

    @property
    def by_column(self) -> bool:
        """Whether a decision is a row per column."""
        if self.whole or self.columns == 1:
            return False
        return any(spec.size == self.columns for spec in self.features)

    @property
    def outputs(self) -> int:
        """The numbers that a model gives for a row."""
        return 1 if self.by_column else self.columns

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the numbers in a row."""
        found: list[str] = []
        for spec in self.features:
            single = spec.size == 1 or self.by_column
            found += [spec.name] if single else [f"{spec.name}[{place}]" for place in range(spec.size)]
        return tuple(found)

    @property
    def elements(self) -> int:
        """The elements of all tensors of a decision."""
        return sum(spec.size for spec in self.features)

    @property
    def has_floats(self) -> bool:
        """Whether a feature may be infinite, or no number, which counts as 0."""
        return any(spec.dtype.startswith("float") for spec in self.features)

    @property
    def own_choice(self) -> int | None:
        """The element of the compiler's own decision, where rows say whether their column is that."""
        if not self.by_column:
            return None
        names = [spec.name for spec in self.features]
        if self.default not in names:
            return None
        return sum(spec.size for spec in self.features[: names.index(self.default)])

    def places(self) -> NDArray[np.int64]:
        """Where the numbers of the rows are in `extended`: [columns, numbers], or [1, numbers]."""
        return _places(self)

    def extended(self, flat: Floats) -> Floats:
        """The elements of decisions, and behind them whether a column is the compiler's own choice."""
        if self.own_choice is None:
            return flat
        own = flat[:, self.own_choice, None] == np.arange(self.columns, dtype=np.float32)
        return np.concatenate([flat, own.astype(np.float32)], axis=1)

    def flat(self, tensors: Mapping[str, NDArray[np.generic]]) -> Floats:
        """The elements of N decisions, all of them finite: [N, elements]."""
        parts = [tensors[spec.name].reshape(-1, spec.size).astype(np.float32) for spec in self.features]
        whole = np.concatenate(parts, axis=1)
        return np.nan_to_num(whole, nan=0, posinf=LARGEST, neginf=-LARGEST) if self.has_floats else whole

    def rows(self, flat: Floats) -> Floats:
        """The rows of decisions: [N, numbers], or [N, columns, numbers]."""
        return self.extended(flat)[:, self.places()] if self.by_column else flat


@cache
def _places(arrangement: Arrangement) -> NDArray[np.int64]:
    if not arrangement.by_column:
        return np.arange(arrangement.elements, dtype=np.int64)[None]
    sizes = [spec.size for spec in arrangement.features]
    starts = np.cumsum([0, *sizes])[:-1].tolist()
    if arrangement.own_choice is not None:
        place = starts.index(arrangement.own_choice)
        starts[place], sizes[place] = arrangement.elements, arrangement.columns
    rows = [
        [start + (column if size > 1 else 0) for start, size in zip(starts, sizes, strict=True)]
        for column in range(arrangement.columns)
    ]
    return np.array(rows, np.int64)


@dataclass(frozen=True, slots=True)
class ExampleWeights:
    """How much decisions count.

    Attributes:
        base: the weight of all; 0 lets bytes alone count.
        changed: the extra weight of those that are not the compiler's own.
        gain: the extra weight per byte that a decision makes the program smaller.
        most: the most bytes that one decision counts.
        margin: where bytes are learned, by how many another answer than the compiler's own must be better.
        balance: 0 lets all decisions count alike, 1 lets all programs.
    """

    base: float = 1.0
    changed: float = 0.0
    gain: float = 0.0
    most: float = 100.0
    margin: float = 0.0
    balance: float = 0.0


@dataclass(frozen=True, slots=True)
class Examples:
    """N decisions with what is to be learned.

    Attributes:
        arrangement: how they are arranged.
        flat: the elements of their tensors, [N, elements].
        labels: what was decided: integers, or numbers at a point of numbers.
        default: what the compiler decides.
        mask: the legal columns, [N, columns]; None where all are.
        weights: how much they count; the mean is 1.
        programs: the numbers of their programs.
        names: the names of the programs.
        gains: by how many bytes the label makes the program smaller than another answer, where it is known.
        targets: at a flag, the bytes that yes spares, if these are learned; None if the labels are.
    """

    arrangement: Arrangement
    flat: Floats
    labels: NDArray[np.float64]
    default: NDArray[np.float64]
    mask: NDArray[np.bool_] | None
    weights: NDArray[np.float64]
    programs: NDArray[np.int32]
    names: Sequence[str]
    gains: NDArray[np.float64]
    targets: NDArray[np.float64] | None = None

    @classmethod
    def load(
        cls,
        shards: DecisionShards,
        arrangement: Arrangement,
        default: str,
        label: Label = "advice",
        weights: ExampleWeights | None = None,
    ) -> Examples:
        """The decisions of shards.

        Args:
            shards: they are read in a stream.
            arrangement: how they become rows.
            default: the name of the tensor of the compiler's own decision.
            label: what is to be learned: the advice, the compiler's own decision, or what yes is worth.
            weights: how much they count.

        Raises:
            InputError: the shards lack a tensor, or the worth of answers that are not yes or no is wanted.
        """
        advice, domain = shards.schema.advice.name, arrangement.domain
        if label == "worth" and not isinstance(domain, Flag):
            raise InputError(f"label worth: expected a point of yes or no, got {arrangement.point}")
        settings = weights or ExampleWeights()
        mask = domain.mask if isinstance(domain, Choice) else ""
        masked = mask in {spec.name for spec in shards.schema.tensors}
        names = [spec.name for spec in arrangement.features]
        names += [default, advice, "program", GAIN, *([mask] if masked else [])]
        answers = (default if label == "default" else advice, default, GAIN)
        parts, numbers = [], dict[str, int]()
        for batch in shards.batches(names):
            plain = (batch[name].reshape(-1).astype(np.float64) for name in answers)
            legal = batch[mask].reshape(len(batch[mask]), -1) != 0 if masked else np.zeros(0, bool)
            parts.append((arrangement.flat(batch), *plain, _numbered(batch["program"], numbers), legal))
        if not parts:
            raise InputError(f"{shards.files[0]}: expected decisions, got none")
        flat, labels, defaults, gains, programs, legal = map(np.concatenate, zip(*parts, strict=True))
        targets = np.clip(gains, 0, settings.most) * np.where(labels > 0, 1, -1)
        targets += settings.margin * np.where(defaults > 0, 1, -1)
        return cls(
            arrangement,
            flat,
            labels,
            defaults,
            legal if masked else None,
            _weighed(settings, labels != defaults, gains, programs),
            programs,
            list(numbers),
            gains,
            targets if label == "worth" else None,
        )

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, chosen: NDArray[np.int64]) -> Examples:
        """Some of the decisions, by their numbers."""
        columns = ("flat", "labels", "default", "mask", "weights", "programs", "gains", "targets")
        values = {name: getattr(self, name) for name in columns}
        return replace(self, **{name: value[chosen] for name, value in values.items() if value is not None})

    def sample(self, most: int, seed: int) -> Examples:
        """Up to `most` of the decisions, always the same ones, in their order."""
        if len(self) <= most:
            return self
        return self.take(np.sort(np.random.default_rng(seed).permutation(len(self))[:most]))

    @property
    def rows(self) -> Floats:
        """The rows: [N, numbers], or [N, columns, numbers]."""
        return self.arrangement.rows(self.flat)

    @property
    def by_class(self) -> bool:
        """Whether answers are learned, and not numbers."""
        return self.targets is None and isinstance(self.arrangement.domain, (Flag, Choice))

    @property
    def numbers(self) -> NDArray[np.float64]:
        """What is learned: the targets, or else the labels."""
        return self.labels if self.targets is None else self.targets

    @property
    def changed(self) -> NDArray[np.bool_]:
        """Which decisions are not the compiler's own."""
        return np.asarray(self.labels != self.default)

    def decide(self, scores: Floats) -> NDArray[np.float64]:
        """The decisions that scores [N, columns] make."""
        return decide(self.arrangement.domain, scores, self.mask)


def decide(domain: Domain, scores: Floats, mask: NDArray[np.bool_] | None) -> NDArray[np.float64]:
    """The decisions of scores [N, columns]: flag: score ≥ 0; choice: best legal column; number: the score."""
    if isinstance(domain, Flag):
        return np.asarray(scores[:, 0] >= 0, np.float64)
    if isinstance(domain, Choice):
        legal = scores if mask is None else np.where(mask, scores, -np.inf)
        return np.asarray(legal.argmax(axis=1), np.float64)
    return np.clip(scores[:, 0].astype(np.float64), domain.low, domain.high)


def _numbered(texts: NDArray[np.generic], numbers: dict[str, int]) -> NDArray[np.int32]:
    words, codes = np.unique(texts.astype(str), return_inverse=True)
    places = np.array([numbers.setdefault(str(word), len(numbers)) for word in words], np.int32)
    found: NDArray[np.int32] = places[codes]
    return found


def _weighed(
    settings: ExampleWeights,
    changed: NDArray[np.bool_],
    gains: NDArray[np.float64],
    programs: NDArray[np.int32],
) -> NDArray[np.float64]:
    weights = settings.base + settings.changed * changed + settings.gain * np.clip(gains, 0, settings.most)
    if not weights.any():
        raise InputError("weights: expected one above 0, got none; the decisions have no gain, and base is 0")
    if settings.balance:
        sums = np.maximum(np.bincount(programs, weights), np.finfo(np.float64).tiny)
        weights = weights / sums[programs] ** settings.balance
    return np.asarray(weights / weights.mean())
