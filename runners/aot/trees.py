# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TreeEnsembleClassifier and TreeEnsembleRegressor of ai.onnx.ml 1 to 3.

Weights are added in the order of the trees and in the thresholds' type, like onnxruntime on one thread, so
that scores are bitwise the same. The standard does not say how the one score of a classifier of two classes
becomes two scores and a label; we follow onnxruntime.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from llvmlite import ir

from passpilot.runners.aot.emitter import (
    I1,
    I32,
    I64,
    INTERNAL,
    POINTER,
    Buffer,
    Emitter,
    Node,
    memory_type,
    operator,
    refused,
)
from passpilot.runners.aot.ensemble import LANES, Ensemble, Forest, numbers
from passpilot.runners.aot.mathematics import Mathematics
from passpilot.runners.aot.scores import TRANSFORMS, Binary, Multiclass, transform

NOTHING: Final = {"SUM": 0.0, "AVERAGE": 0.0, "MIN": np.inf, "MAX": -np.inf}
"""The score before the first weight, by aggregate function."""


@operator("TreeEnsembleRegressor")
def regressor(node: Node, emit: Emitter) -> None:
    """Per target, the reached leaves' weights, aggregated and transformed."""
    count = node.integer("n_targets", 1)
    aggregate = _choice(node, "aggregate_function", "SUM", tuple(NOTHING))
    name = _choice(node, "post_transform", "NONE", TRANSFORMS)
    rows = _Rows(node, emit)
    ensemble = Ensemble(node, "target", count, rows.dtype)
    scored = ensemble.flag_scored()
    base = numbers(node, "base_values", rows.dtype).tolist()
    math, out = rows.math, emit.output(node.outputs[0])
    for row, sums in rows.scores(ensemble, aggregate):
        scores = sums[:count]
        if aggregate == "AVERAGE":
            trees = math.of(len(ensemble.trees.roots))
            scores = [emit.builder.fdiv(score, trees) for score in scores]
        if len(base) == count:
            pairs = zip(scores, base, strict=True)
            scores = [emit.builder.fadd(score, math.of(value)) for score, value in pairs]
        met = [_is_met(math, flag, sums) for flag in scored]
        _write(emit, out, row, transform(math, name if count > 1 else "NONE", scores, met))


@operator("TreeEnsembleClassifier")
def classifier(node: Node, emit: Emitter) -> None:
    """The label, and the classes' scores."""
    strings = node.attributes.get("classlabels_strings", [])
    if strings and node.outputs[0]:
        raise refused(node, "labels that are integers", "strings", f"leave {node.outputs[0]!r} unused")
    labels = node.integers("classlabels_int64s") or list(range(len(strings)))
    if len(labels) < 2:
        raise refused(node, "two classes or more", str(len(labels)))
    name = _choice(node, "post_transform", "NONE", TRANSFORMS)
    rows = _Rows(node, emit)
    ensemble = Ensemble(node, "class", len(labels), rows.dtype)
    base = numbers(node, "base_values", rows.dtype).tolist()
    finish: Binary | Multiclass = Multiclass(labels, base, name)
    if len(labels) == 2:
        finish = Binary(labels, base, name, ensemble.single, ensemble.positive)
    scored = ensemble.flag_scored()
    outs = [emit.output(name) if name else None for name in (*node.outputs, "")[:2]]
    for row, sums in rows.scores(ensemble, "SUM"):
        met = [_is_met(rows.math, flag, sums) for flag in scored]
        label, values = finish.outputs(rows.math, sums[: len(labels)], met)
        if outs[0]:
            emit.store(outs[0], row, label)
        if outs[1]:
            _write(emit, outs[1], row, values)


def _choice(node: Node, name: str, default: str, known: Sequence[str]) -> str:
    value = node.text(name, default)
    if value not in known:
        raise refused(node, f"{name} among {', '.join(known)}", value)
    return value


def _is_met(math: Mathematics, flag: int | bool, sums: Sequence[ir.Value]) -> ir.Value:
    if isinstance(flag, bool):
        return I1(flag)
    return math.build.and_(math.below(0, sums[flag]), math.below(sums[flag], np.inf))


def _write(emit: Emitter, out: Buffer, row: ir.Value, values: Sequence[ir.Value]) -> None:
    build = emit.builder
    start = build.mul(row, I64(len(values)))
    for place, value in enumerate(values):
        stored = value if value.type == out.element else build.fptrunc(value, out.element)
        emit.store(out, build.add(start, I64(place)), stored)


class _Rows:
    def __init__(self, node: Node, emit: Emitter) -> None:
        self.emit = emit
        self.input = emit.value(node.inputs[0])
        if self.input.dtype.name not in ("float32", "float64", "int64", "int32"):
            raise refused(node, "an input of float32, float64, int64 or int32", self.input.dtype.name)
        if not 1 <= len(self.input.shape) <= 2:
            raise refused(node, "an input of one or two dimensions", str(len(self.input.shape)))
        double = self.input.dtype.name == "float64"
        self.dtype: np.dtype[np.floating] = np.dtype(np.float64) if double else np.dtype(np.float32)
        self.math = Mathematics(emit.builder, self.dtype)
        self.features = self.input.shape[-1]

    def scores(self, ensemble: Ensemble, aggregate: str) -> Iterator[tuple[ir.Value, list[ir.Value]]]:
        """Loop over the rows; yield the row's index and scores."""
        emit, count = self.emit, ensemble.count
        forest = ensemble.lay_out(self.features, NOTHING[aggregate])
        copy = None
        if forest.copied or self.input.dtype != self.dtype:
            copy = emit.scratch(self.dtype, (self.features * (2 if forest.copied else 1),))
        sums = emit.scratch(self.dtype, (count,))
        descent = _Descent(emit, forest, self.math.type)
        with emit.loop(self.input.size // max(self.features, 1)) as row:
            start = emit.builder.mul(row, I64(self.features))
            features = self._copied(start, copy) if copy else emit.address(self.input, start)
            for score in range(count):
                emit.store(sums, I64(score), self.math.of(NOTHING[aggregate]))
            descent.run(features, sums, aggregate)
            yield row, [emit.load(sums, I64(score)) for score in range(count)]

    def _copied(self, start: ir.Value, copy: Buffer) -> ir.Value:
        """Copy the row's features as floats; if `copy` has room, a second time with -inf for NaN."""
        emit, build = self.emit, self.emit.builder
        with emit.loop(self.features) as index:
            value = emit.load(self.input, build.add(start, index))
            if self.input.dtype.kind == "i":
                value = build.sitofp(value, self.math.type)
            emit.store(copy, index, value)
            if copy.size > self.features:
                known = self.math.pick(self.math.is_nan(value), -np.inf, value)
                emit.store(copy, build.add(index, I64(self.features)), known)
        return copy.pointer


class _Descent:
    """The descent of all trees for one row; see `passpilot.runners.aot.ensemble`."""

    def __init__(self, emit: Emitter, forest: Forest, real: ir.Type) -> None:
        self.emit, self.forest, self.real = emit, forest, real
        kinds = [real, memory_type(forest.records.dtype["value"]), I32, I32]
        self._record = ir.LiteralStructType(kinds)
        self._records = emit.constant(forest.records.view(np.uint8)).pointer
        self._depths = emit.constant(forest.depths)
        self._rows = None if forest.rows is None else emit.constant(forest.rows)
        self._leaves = emit.scratch(np.int32, (len(forest.depths) * LANES,))
        self._function = self._descend()

    def run(self, features: ir.Value, sums: Buffer, aggregate: str) -> None:
        """Add the reached leaves' weights to the sums, in the order of the trees."""
        emit = self.emit
        emit.builder.call(self._function, [features, self._leaves.pointer])
        with emit.loop(self._leaves.size) as tree:
            self._add(emit.load(self._leaves, tree), sums, aggregate)

    def _descend(self) -> ir.Function:
        """The function that finds the leaves for a row of features.

        It stays scalar: LLVM would gather the lanes into vectors, which takes four times as long.
        """
        emit = self.emit
        kind = ir.FunctionType(ir.VoidType(), [POINTER, POINTER])
        function = ir.Function(emit.module, kind, emit.module.get_unique_name(f"{INTERNAL}descend"))
        function.linkage = "internal"
        for attribute in ("noimplicitfloat", "noinline", "nounwind"):
            function.attributes.add(attribute)
        caller, emit.builder = emit.builder, ir.IRBuilder(function.append_basic_block("entry"))
        features, pointer = function.args
        leaves = Buffer(pointer, self._leaves.dtype, self._leaves.shape)
        with emit.loop(len(self.forest.depths)) as group:
            first = emit.builder.mul(group, I64(LANES))
            places = self._lanes(features, emit.builder.trunc(first, I32), emit.load(self._depths, group))
            for lane, place in enumerate(places):
                emit.store(leaves, emit.builder.add(first, I64(lane)), place)
        emit.builder.ret_void()
        emit.builder = caller
        return function

    def _lanes(self, features: ir.Value, first: ir.Value, depth: ir.Value) -> list[ir.Value]:
        build = self.emit.builder
        roots = [build.add(first, I32(lane)) for lane in range(LANES)]
        before, body = build.block, build.append_basic_block("descent")
        after = build.append_basic_block("leaves")
        build.branch(body)
        build.position_at_end(body)
        phis = [build.phi(I32) for _ in (*roots, depth)]
        places = [self._step(features, place) for place in phis[:-1]]
        left = build.sub(phis[-1], I32(1))
        for phi, start, following in zip(phis, (*roots, depth), (*places, left), strict=True):
            phi.add_incoming(start, before)
            phi.add_incoming(following, body)
        build.cbranch(build.icmp_unsigned("==", left, I32(0)), after, body)
        build.position_at_end(after)
        return places

    def _step(self, features: ir.Value, place: ir.Value) -> ir.Value:
        build = self.emit.builder
        which = build.zext(self._field(place, 2), I64)
        feature = build.load(build.gep(features, [which], source_etype=self.real), typ=self.real)
        feature.align = self.forest.records.dtype["threshold"].itemsize
        above = build.fcmp_unordered(">", feature, self._field(place, 0))
        return build.add(self._field(place, 3), build.zext(above, I32))

    def _field(self, place: ir.Value, field: int) -> ir.Value:
        build = self.emit.builder
        index = [build.zext(place, I64), I32(field)]
        address = build.gep(self._records, index, inbounds=True, source_etype=self._record)
        return build.load(address, typ=self._record.elements[field])

    def _add(self, leaf: ir.Value, sums: Buffer, aggregate: str) -> None:
        emit, build = self.emit, self.emit.builder
        value = self._field(leaf, 1)
        if self._rows is None:
            self._aggregate(sums, I64(0), value, aggregate)
            return
        if value.type != I64:
            value = build.zext(value, I64)
        start = build.mul(value, I64(sums.size))
        with emit.loop(sums.size) as score:
            weight = emit.load(self._rows, build.add(start, score))
            self._aggregate(sums, score, weight, aggregate)

    def _aggregate(self, sums: Buffer, score: ir.Value, weight: ir.Value, aggregate: str) -> None:
        emit, build = self.emit, self.emit.builder
        known = emit.load(sums, score)
        if aggregate in ("MIN", "MAX"):
            better = build.fcmp_ordered("<" if aggregate == "MIN" else ">", weight, known)
            emit.store(sums, score, build.select(better, weight, known))
        else:
            emit.store(sums, score, build.fadd(known, weight))
