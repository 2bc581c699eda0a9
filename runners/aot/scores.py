# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Turns the sums of a tree ensemble into its outputs: transforms, labels, two classes from one score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from llvmlite import ir

from passpilot.runners.aot.emitter import I64
from passpilot.runners.aot.mathematics import Mathematics

TRANSFORMS: Final = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")
"""The transforms of scores. ONNX has one more, PROBIT, which no converter writes."""

Outputs = tuple[ir.Value, list[ir.Value]]
"""A label, and the scores."""


def transform(
    math: Mathematics, name: str, scores: Sequence[ir.Value], met: Sequence[ir.Value]
) -> list[ir.Value]:
    """The transformed scores; a score without a weight (`met` is false) counts as zero."""
    pairs = zip(scores, met, strict=True)
    known = [math.pick(has, score, 0) for score, has in pairs]
    if name == "LOGISTIC":
        return [math.sigmoid(score) for score in known]
    if name.startswith("SOFTMAX"):
        return _softmax(math, known, skip_zeros=name == "SOFTMAX_ZERO")
    return known


def _softmax(math: Mathematics, scores: Sequence[ir.Value], *, skip_zeros: bool) -> list[ir.Value]:
    top = scores[0]
    for score in scores[1:]:
        top = math.pick(math.below(top, score), score, top)
    powers, total = [], math.of(0)
    for score in scores:
        power = added = math.exp(math.sub(score, top))
        if skip_zeros:
            other = math.below(1e-7, math.abs(score))
            added = math.pick(other, power, 0)
            power = math.pick(other, power, math.mul(score, math.exp(math.neg(top))))
        powers.append(power)
        total = math.add(total, added)
    return [math.div(power, total) for power in powers]


@dataclass(frozen=True, slots=True)
class Binary:
    """The outputs of a classifier of two classes, like onnxruntime's."""

    labels: Sequence[int]
    base: Sequence[float]
    name: str
    single: bool
    """Whether all weights belong to one class."""
    positive: bool
    """Whether no weight is negative: a single score is then a probability, and 0.5 decides."""

    def outputs(self, math: Mathematics, scores: Sequence[ir.Value], met: Sequence[ir.Value]) -> Outputs:
        """The label and the two scores; `met` says which classes got a weight."""
        if isinstance(met[1], ir.Constant):
            return self._outputs(math, scores, met, bool(met[1].constant))
        label, values = self._outputs(math, scores, met, True)
        other, others = self._outputs(math, scores, met, False)
        both = zip(values, others, strict=True)
        return math.pick(met[1], label, other), [math.pick(met[1], *pair) for pair in both]

    def _outputs(
        self, math: Mathematics, scores: Sequence[ir.Value], met: Sequence[ir.Value], has_second: bool
    ) -> Outputs:
        first, second = scores
        base = [math.of(value) for value in self.base]
        if len(base) == 2 and has_second:  # onnxruntime ignores the first class's base
            second = math.build.fadd(base[1], first)
            first = math.neg(second)
        elif base:
            first = math.build.fadd(first, base[0])
        limit = 0.5 if self.single and self.positive else 0.0
        yes = math.below(limit, second if has_second else first)
        labels = self.labels if self.single else (0, 1)
        label = math.pick(yes, I64(labels[1]), I64(labels[0]))
        if has_second or len(base) == 2:
            return label, transform(math, self.name, [first, second], met)
        return label, self._two_of_one(math, first)

    def _two_of_one(self, math: Mathematics, score: ir.Value) -> list[ir.Value]:
        if self.single and self.positive and self.name != "LOGISTIC":
            return [math.build.fsub(math.of(1), score), score]
        pair = [math.neg(score), score]
        return [math.sigmoid(value) for value in pair] if self.name == "LOGISTIC" else pair


@dataclass(frozen=True, slots=True)
class Multiclass:
    """The outputs of a classifier of more than two classes."""

    labels: Sequence[int]
    base: Sequence[float]
    name: str

    def outputs(self, math: Mathematics, scores: Sequence[ir.Value], met: Sequence[ir.Value]) -> Outputs:
        """The label of the first largest score that has a weight or base, and the scores."""
        build, based = math.build, len(self.base)
        pairs = zip(scores, self.base, strict=False)
        sums = [*(build.fadd(score, math.of(base)) for score, base in pairs), *scores[based:]]
        known = [*(met[0].type(True) for _ in self.base), *met[based:]]
        found, top, label = known[0].type(False), math.of(0), I64(self.labels[0])
        for score, has, value in zip(sums, known, self.labels, strict=True):
            above = build.or_(build.not_(found), math.below(top, score))
            better = build.and_(has, above)
            top, label = math.pick(better, score, top), math.pick(better, I64(value), label)
            found = build.or_(found, has)
        return label, transform(math, self.name, sums, known)
