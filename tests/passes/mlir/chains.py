# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random chains of linalg operations on matrices of small integers, of which MLIR can fuse some."""

from __future__ import annotations

import random
from typing import Final

import numpy as np

from tests.passes.mlir.linalg import Program

SHAPE: Final = (6, 8)
_MAPS: Final = (
    "#m = affine_map<(i, j) -> (i, j)>\n#c = affine_map<(i, j) -> (j)>\n#v = affine_map<(i) -> (i)>\n"
)


class Chain:
    """The chain of one seed: every operation reads values that come before it; `main` returns a vector."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        sizes = ("?", "?") if self._random.random() < 0.3 else SHAPE
        self._matrix = f"tensor<{sizes[0]}x{sizes[1]}xi32>"
        self._vector = f"tensor<{sizes[1]}xi32>"
        self._matrices, self._vectors = ["%a", "%b"], ["%c"]
        self._lines: list[str] = []

    def program(self) -> Program:
        """The program, and numbers for it."""
        for place in range(self._random.randint(2, 7)):
            self._random.choice((self._of_matrices, self._of_vectors, self._broadcast))(f"%r{place}")
        self._reduce("%s")
        vector, matrix = self._vector, self._matrix
        head = f"func.func @main(%a: {matrix}, %b: {matrix}, %c: {vector}) -> {vector}"
        body = "\n".join([*self._lines, f"func.return %s : {vector}"])
        text = f"{_MAPS}{head} attributes {{llvm.emit_c_interface}} {{\n{body}\n}}\n"
        numbers = np.random.default_rng(len(text))
        shapes = (SHAPE, SHAPE, SHAPE[1:])
        return Program(text, tuple(numbers.integers(-4, 5, shape).astype(np.int32) for shape in shapes))

    def _of_matrices(self, name: str) -> None:
        x, y = self._some(self._matrices), self._some(self._matrices)
        self._generic(name, "#m, #m, #m", [(x, self._matrix), (y, self._matrix)], ("%a", self._matrix))
        self._matrices.append(name)

    def _of_vectors(self, name: str) -> None:
        x, y = self._some(self._vectors), self._some(self._vectors)
        self._generic(name, "#v, #v, #v", [(x, self._vector), (y, self._vector)], ("%c", self._vector))
        self._vectors.append(name)

    def _broadcast(self, name: str) -> None:
        x, y = self._some(self._matrices), self._some(self._vectors)
        self._generic(name, "#m, #c, #m", [(x, self._matrix), (y, self._vector)], ("%a", self._matrix))
        self._matrices.append(name)

    def _reduce(self, name: str) -> None:
        x, y = self._matrices[-1], self._vectors[-1]
        kinds = '["reduction", "parallel"]'
        inputs = [(x, self._matrix), (y, self._vector)]
        self._generic(name, "#m, #c, #c", inputs, ("%c", self._vector), kinds, "%o")

    def _some(self, names: list[str]) -> str:
        return self._random.choice(names[-2:])

    def _generic(
        self,
        name: str,
        maps: str,
        inputs: list[tuple[str, str]],
        output: tuple[str, str],
        kinds: str = "",
        third: str = "%x",
    ) -> None:
        kinds = kinds or ('["parallel", "parallel"]' if "#m" in maps else '["parallel"]')
        operation = self._random.choice(("addi", "muli", "subi"))
        names, types = (", ".join(each) for each in zip(*inputs, strict=True))
        self._lines.append(
            f"{name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = {kinds}}}\n"
            f"ins({names} : {types}) outs({output[0]} : {output[1]}) {{\n"
            "^bb0(%x: i32, %y: i32, %o: i32):\n"
            f"%p = arith.{operation} %x, %y : i32\n"
            f"%q = arith.addi %p, {third} : i32\n"
            f"linalg.yield %q : i32\n}} -> {output[1]}"
        )
