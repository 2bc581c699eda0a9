# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of linalg of random sizes, and what MLIR's ExecutionEngine computes by them.

All values are small integers, whatever their type: results do not depend on the order of sums.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from passpilot.passes.mlir.lower import to_llvm_dialect
from passpilot.plugin.mlir.bindings import bindings

Array = NDArray[np.generic]

DTYPES: Final = {"f32": np.float32, "f64": np.float64, "i32": np.int32}


@dataclass(frozen=True)
class Program:
    """A module whose function `main` takes arrays and returns one."""

    text: str
    arrays: tuple[Array, ...]


def run(module: Any, arrays: Sequence[Array]) -> Array:
    """What `main` returns for arrays, which stay as they are; the module is lowered."""
    root = bindings().root
    engines, runtime = import_module(f"{root}.execution_engine"), import_module(f"{root}.runtime")
    inputs = [array.copy() for array in arrays]
    last = inputs[-1]
    to_llvm_dialect(module)
    engine = engines.ExecutionEngine(module, opt_level=1)
    result = runtime.make_nd_memref_descriptor(last.ndim, runtime.as_ctype(last.dtype))()
    arguments = [result, *map(runtime.get_ranked_memref_descriptor, inputs)]
    engine.invoke("main", *(ctypes.pointer(ctypes.pointer(each)) for each in arguments))
    computed: Array = runtime.ranked_memref_to_numpy([result]).copy()
    return computed


def parsed(text: str) -> Any:
    """A module in a context of its own."""
    ir = bindings().ir
    return ir.Module.parse(text, ir.Context())


class Maker:
    """Makes the programs of one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._numbers = np.random.default_rng(seed)
        self._dtype = self._random.choice(sorted(DTYPES))
        self._dynamic = self._random.random() < 0.4
        self._buffers = self._random.random() < 0.25

    def program(self) -> Program:
        """One of any kind."""
        kinds: tuple[Callable[[], Program], ...] = (
            self._matmul,
            self._batch_matmul,
            self._convolution,
            self._depthwise,
            self._pooling,
            self._elementwise,
            self._transposed,
            self._reduction,
            self._ordered,
            self._reversed,
            self._fill,
        )
        return self._random.choice(kinds)()

    def _size(self, most: int = 9) -> int:
        return self._random.randint(1, most)

    def _matmul(self) -> Program:
        m, n, k = self._size(40), self._size(40), self._size(40)
        return self._named("linalg.matmul", [(m, k), (k, n)], (m, n))

    def _batch_matmul(self) -> Program:
        b, m, n, k = (self._size() for _ in range(4))
        return self._named("linalg.batch_matmul", [(b, m, k), (b, k, n)], (b, m, n))

    def _convolution(self) -> Program:
        n, h, w, c, f, kh, kw = (self._size(5) for _ in range(7))
        (sh, sw), (dh, dw) = self._pair(), self._pair()
        image = (n, (h - 1) * sh + (kh - 1) * dh + 1, (w - 1) * sw + (kw - 1) * dw + 1, c)
        steps = _steps((sh, sw), (dh, dw))
        return self._named("linalg.conv_2d_nhwc_hwcf", [image, (kh, kw, c, f)], (n, h, w, f), steps)

    def _depthwise(self) -> Program:
        n, h, w, c, kh, kw = (self._size(5) for _ in range(6))
        (sh, sw) = self._pair()
        image = (n, (h - 1) * sh + kh, (w - 1) * sw + kw, c)
        steps = _steps((sh, sw), (1, 1))
        return self._named("linalg.depthwise_conv_2d_nhwc_hwc", [image, (kh, kw, c)], (n, h, w, c), steps)

    def _pooling(self) -> Program:
        n, h, w, c, kh, kw = (self._size(5) for _ in range(6))
        (sh, sw) = self._pair()
        image = (n, (h - 1) * sh + kh, (w - 1) * sw + kw, c)
        name = self._random.choice(["linalg.pooling_nhwc_sum", "linalg.pooling_nhwc_max"])
        return self._named(name, [image, (kh, kw)], (n, h, w, c), _steps((sh, sw), (1, 1)))

    def _elementwise(self) -> Program:
        """With a broadcast, and the numbers of the loops."""
        m, n = self._size(40), self._size(40)
        cast = "sitofp" if self._dtype[0] == "f" else "trunci"
        body = [
            "%i = linalg.index 0 : index",
            "%j = arith.index_cast %i : index to i64",
            f"%k = arith.{cast} %j : i64 to {self._dtype}",
            f"%s = {self._operation('add')} %x, %y : {self._dtype}",
            f"%v = {self._operation('mul')} %s, %k : {self._dtype}",
        ]
        maps = ["(i, j) -> (i, j)", "(i, j) -> (j)", "(i, j) -> (i, j)"]
        return self._generic(["parallel"] * 2, maps, [(m, n), (n,)], (m, n), body)

    def _transposed(self) -> Program:
        m, n, k = (self._size(12) for _ in range(3))
        body = [f"%v = {self._operation('add')} %x, %y : {self._dtype}"]
        maps = ["(i, j, k) -> (k, i, j)", "(i, j, k) -> (i + j)", "(i, j, k) -> (j, k, i)"]
        return self._generic(["parallel"] * 3, maps, [(k, m, n), (m + n - 1,)], (n, k, m), body)

    def _reduction(self) -> Program:
        m, n, k = (self._size(12) for _ in range(3))
        body = [
            f"%p = {self._operation('mul')} %x, %y : {self._dtype}",
            f"%v = {self._operation('add')} %o, %p : {self._dtype}",
        ]
        maps = ["(i, j, k) -> (i, j, k)", "(i, j, k) -> (k)", "(i, j, k) -> (j)"]
        kinds = ["reduction", "parallel", "reduction"]
        return self._generic(kinds, maps, [(m, n, k), (k,)], (n,), body)

    def _ordered(self) -> Program:
        """A reduction whose result depends on the order."""
        m, n, k = self._size(4), self._size(12), self._size(4)
        body = [
            f"%p = {self._operation('sub')} %y, %o : {self._dtype}",
            f"%v = {self._operation('add')} %p, %x : {self._dtype}",
            f"%w = {self._operation('sub')} %v, %o : {self._dtype}",
        ]
        maps = ["(i, j, k) -> (i, j, k)", "(i, j, k) -> (k)", "(i, j, k) -> (j)"]
        kinds = ["reduction", "parallel", "reduction"]
        return self._generic(kinds, maps, [(m, n, k), (k,)], (n,), body, "%w")

    def _reversed(self) -> Program:
        """Indices that grow as those of the loop fall: such operations are not tiled."""
        m, n = self._size(20), self._size(20)
        body = [f"%v = {self._operation('add')} %x, %y : {self._dtype}"]
        maps = [f"(i, j) -> ({m - 1} - i, j)", "(i, j) -> (i, j)", "(i, j) -> (i, j)"]
        return self._generic(["parallel"] * 2, maps, [(m, n), (m, n)], (m, n), body)

    def _fill(self) -> Program:
        """A fill of what a sum of rows then goes into."""
        m, n = self._size(40), self._size(40)
        inner = self._types([(m, n), (n,)])
        self._buffers = False
        tensor, vector = inner[0].replace("memref", "tensor"), inner[1].replace("memref", "tensor")
        zero = "0.0" if self._dtype[0] == "f" else "0"
        body = f"""
            %z = arith.constant {zero} : {self._dtype}
            %f = linalg.fill ins(%z : {self._dtype}) outs(%a1 : {vector}) -> {vector}
            %r = linalg.reduce {{ {self._operation("add")} }} ins(%a0 : {tensor}) outs(%f : {vector})
                dimensions = [0]
            func.return %r : {vector}"""
        return self._function([(m, n), (n,)], vector, body, [tensor, vector])

    def _pair(self) -> tuple[int, int]:
        return self._size(3), self._size(3)

    def _operation(self, name: str) -> str:
        return f"arith.{name}{self._dtype[0]}"

    def _named(
        self, name: str, inputs: Sequence[tuple[int, ...]], output: tuple[int, ...], attributes: str = ""
    ) -> Program:
        types = self._types([*inputs, output])
        ins = f"ins(%a0, %a1 : {types[0]}, {types[1]})"
        return self._with_output(f"{name} {attributes} {ins}", [*inputs, output], types)

    def _generic(
        self,
        kinds: Sequence[str],
        maps: Sequence[str],
        inputs: Sequence[tuple[int, ...]],
        output: tuple[int, ...],
        body: Sequence[str],
        result: str = "%v",
    ) -> Program:
        """An operation on %x, %y and, as the output is until then, %o."""
        types = self._types([*inputs, output])
        texts = ", ".join(f"affine_map<{each}>" for each in maps)
        iterators = ", ".join(f'"{kind}"' for kind in kinds)
        head = f"linalg.generic {{indexing_maps = [{texts}], iterator_types = [{iterators}]}}"
        element = self._dtype
        lines = "\n".join([*body, f"linalg.yield {result} : {element}"])
        region = f"{{\n^bb0(%x: {element}, %y: {element}, %o: {element}):\n{lines}\n}}"
        ins = f"ins(%a0, %a1 : {types[0]}, {types[1]})"
        return self._with_output(f"{head} {ins}", [*inputs, output], types, region)

    def _with_output(
        self, head: str, shapes: Sequence[tuple[int, ...]], types: Sequence[str], region: str = ""
    ) -> Program:
        made = types[-1]
        text = f"{head} outs(%a2 : {made}) {region}"
        if self._buffers:
            return self._function(shapes, made, f"{text}\nfunc.return %a2 : {made}", types)
        return self._function(shapes, made, f"%r = {text} -> {made}\nfunc.return %r : {made}", types)

    def _function(
        self, shapes: Sequence[tuple[int, ...]], result: str, body: str, types: Sequence[str]
    ) -> Program:
        arguments = ", ".join(f"%a{place}: {kind}" for place, kind in enumerate(types))
        attributes = "attributes {llvm.emit_c_interface}"
        text = f"func.func @main({arguments}) -> {result} {attributes} {{\n{body}\n}}\n"
        dtype = DTYPES[self._dtype]
        return Program(text, tuple(self._numbers.integers(-4, 5, shape).astype(dtype) for shape in shapes))

    def _types(self, shapes: Sequence[tuple[int, ...]]) -> list[str]:
        kind = "memref" if self._buffers else "tensor"
        sizes = [["?" if self._dynamic else str(size) for size in shape] for shape in shapes]
        return [f"{kind}<{'x'.join([*each, self._dtype])}>" for each in sizes]


def _steps(strides: tuple[int, int], dilations: tuple[int, int]) -> str:
    texts = [
        f"{name} = dense<[{a}, {b}]> : tensor<2xi64>"
        for name, (a, b) in (("strides", strides), ("dilations", dilations))
    ]
    return f"{{{', '.join(texts)}}}"
