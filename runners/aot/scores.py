# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From the sums of an ensemble of trees to its outputs: transforms, labels, and the two classes of one score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from llvmlite import ir

from passpilot.runners.aot.emitter import I64

if TYPE_CHECKING:
    from collections.abc import Sequence

TRANSFORMS: Final = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""The transforms of scores, as numbered by the operator TreeEnsemble."""


def transform(build: ir.IRBuilder, name: str, scores: Sequence[ir.Value]) -> list[ir.Value]:
    """The scores after the transform."""
    if name == "LOGISTIC":
        return [logistic(build, score) for score in scores]
    if name == "PROBIT":
        return [_probit(build, score) for score in scores]
    if name.startswith("SOFTMAX"):
        return _softmax(build, scores, skip_zeros=name == "SOFTMAX_ZERO")
    return list(scores)


def logistic(build: ir.IRBuilder, score: ir.Value) -> ir.Value:
    """The logistic function, by the exponential of a number that is not positive."""
    one = score.type(1.0)
    small = call(build, "llvm.exp", build.fneg(call(build, "llvm.fabs", score)))
    upper = build.fdiv(one, build.fadd(one, small))
    return build.select(build.fcmp_ordered("<", score, score.type(0.0)), build.fsub(one, upper), upper)


def call(build: ir.IRBuilder, intrinsic: str, value: ir.Value) -> ir.Value:
    """An intrinsic of one number."""
    return build.call(build.module.declare_intrinsic(intrinsic, [value.type]), [value])


def _softmax(build: ir.IRBuilder, scores: Sequence[ir.Value], *, skip_zeros: bool) -> list[ir.Value]:
    real = scores[0].type
    top = scores[0]
    for score in scores[1:]:
        top = build.select(build.fcmp_ordered(">", score, top), score, top)
    powers, total = [], real(0.0)
    for score in scores:
        power = call(build, "llvm.exp", build.fsub(score, top))
        added = power
        if skip_zeros:
            is_zero = build.fcmp_unordered("<=", call(build, "llvm.fabs", score), real(1e-7))
            scaled = build.fmul(score, call(build, "llvm.exp", build.fneg(top)))
            power = build.select(is_zero, scaled, power)
            added = build.select(is_zero, real(0.0), power)
        powers.append(power)
        total = build.fadd(total, added)
    return [build.fdiv(power, total) for power in powers]


def _probit(build: ir.IRBuilder, score: ir.Value) -> ir.Value:
    """The quantile of the normal distribution, by Winitzki's approximation of the inverse error function."""
    real = score.type
    one, bend = real(1.0), 0.147
    x = build.fsub(build.fmul(real(2.0), score), one)
    log = call(build, "llvm.log", build.fmul(build.fsub(one, x), build.fadd(one, x)))
    mean = build.fadd(real(2 / (3.14159 * bend)), build.fmul(real(0.5), log))
    inner = build.fsub(build.fmul(mean, mean), build.fmul(real(1 / bend), log))
    root = call(build, "llvm.sqrt", build.fsub(call(build, "llvm.sqrt", inner), mean))
    signed = build.select(build.fcmp_ordered("<", x, real(0.0)), build.fneg(root), root)
    return build.fmul(real(1.41421356), signed)


@dataclass(frozen=True, slots=True)
class Binary:
    """A classifier of two classes, as onnxruntime has it."""

    labels: Sequence[int]
    base: tuple[float, ...]
    name: str
    """The transform."""
    single: bool
    """Whether all weights belong to one class."""
    positive: bool
    """Whether no weight is negative: the one score is then a probability, decided at 0.5."""

    def outputs(
        self, build: ir.IRBuilder, scores: Sequence[ir.Value], met: Sequence[ir.Value]
    ) -> tuple[ir.Value, list[ir.Value]]:
        """The label and the two scores; `met` tells of which classes weights were met."""
        has_second = met[1]
        if isinstance(has_second, ir.Constant):
            return self._outputs(build, scores, bool(has_second.constant))
        label, values = self._outputs(build, scores, True)
        other_label, others = self._outputs(build, scores, False)
        pairs = zip(values, others, strict=True)
        return build.select(has_second, label, other_label), [
            build.select(has_second, value, other) for value, other in pairs
        ]

    def _outputs(
        self, build: ir.IRBuilder, scores: Sequence[ir.Value], has_second: bool
    ) -> tuple[ir.Value, list[ir.Value]]:
        first, second = scores
        base = [first.type(value) for value in self.base]
        if len(base) == 2 and has_second:
            second = build.fadd(base[1], first)
            first = build.fneg(second)
        elif len(base) == 2:
            first, second = build.fadd(first, base[0]), build.fadd(second, base[1])
        elif base:
            first = build.fadd(first, base[0])
        decisive = second if has_second else first
        yes = build.fcmp_ordered(">", decisive, first.type(0.5 if self.single and self.positive else 0.0))
        label = build.select(yes, *(I64(each) for each in reversed(self._labels())))
        if has_second or len(base) == 2:
            return label, transform(build, self.name, [first, second])
        return label, self._two_of_one(build, first, yes)

    def _labels(self) -> Sequence[int]:
        return self.labels if self.single else (0, 1)

    def _two_of_one(self, build: ir.IRBuilder, score: ir.Value, yes: ir.Value) -> list[ir.Value]:
        if self.single and self.positive:
            return [build.fsub(score.type(1.0), score), score]
        if self.name == "LOGISTIC":
            return [logistic(build, build.fneg(score)), logistic(build, score)]
        negated = build.fneg(score)
        if not self.single:
            return [score, negated]
        return [build.select(yes, negated, score), build.select(yes, score, negated)]


@dataclass(frozen=True, slots=True)
class Multiclass:
    """A classifier of more than two classes."""

    labels: Sequence[int]
    base: tuple[float, ...]
    name: str
    """The transform."""

    def outputs(
        self, build: ir.IRBuilder, scores: Sequence[ir.Value], met: Sequence[ir.Value]
    ) -> tuple[ir.Value, list[ir.Value]]:
        """The label, of the largest score, and the scores; `met` tells of which classes weights were met."""
        real = scores[0].type
        based = [build.fadd(score, real(base)) for score, base in zip(scores, self.base, strict=False)]
        known = [*(met[0].type(True) for _ in based), *met[len(based) :]]
        sums = [*based, *scores[len(based) :]]
        found, top, label = known[0].type(False), real(0.0), I64(self.labels[0])
        for score, has, value in zip(sums, known, self.labels, strict=True):
            above = build.or_(build.not_(found), build.fcmp_ordered(">", score, top))
            better = build.and_(has, above)
            top, label = build.select(better, score, top), build.select(better, I64(value), label)
            found = build.or_(found, has)
        return label, transform(build, self.name, sums)
