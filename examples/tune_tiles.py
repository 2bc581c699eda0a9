# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds tile sizes for a matmul and a convolution: by random search, then by a model fitted to its times.

MLIR's ExecutionEngine runs the code that `advised-tile` and the lowering make. The model is a forest of trees
over the sizes; of many new candidates, the script runs those that the model predicts to be fastest. At the
end the untiled operation and the best of both searches run in turns, so that they meet the same load.

usage: tune_tiles.py [--samples 60] [--rounds 41]
"""

from __future__ import annotations

import argparse
import ctypes
import random
import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Console, JustifyMethod
from rich.table import Table

import passpilot
from passpilot import MLIR_TILE, TILE_SIZES

MLIR: Final = passpilot.mlir.bindings()
ENGINES: Final = import_module(f"{MLIR.root}.execution_engine")
RUNTIME: Final = import_module(f"{MLIR.root}.runtime")

HEADINGS: Final[dict[str, JustifyMethod]] = {
    "operation": "left",
    "best of": "left",
    "time": "right",
    "speed-up": "right",
    "sizes": "left",
}
CANDIDATES: Final = 2000
PLACES: Final = ("ijk", "nhwfyxc")
"""The loops of the two operations, in MLIR's order."""

Array = NDArray[np.float32]
Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Problem:
    """An operation of linalg: its text, its operands' shapes (the result's is last), and its loops."""

    name: str
    operation: str
    shapes: tuple[Sizes, ...]
    extents: Sizes
    letters: str

    @property
    def text(self) -> str:
        """A module with the operation, on tensors that are read from buffers and written to one."""
        buffers = [f"memref<{'x'.join(map(str, shape))}xf32>" for shape in self.shapes]
        a, b, c = (buffer.replace("memref", "tensor") for buffer in buffers)
        arguments = ", ".join(f"%m{place}: {buffer}" for place, buffer in enumerate(buffers))
        return f"""
        func.func @main({arguments}) attributes {{llvm.emit_c_interface}} {{
          %zero = arith.constant 0.0 : f32
          %a = bufferization.to_tensor %m0 restrict : {buffers[0]} to {a}
          %b = bufferization.to_tensor %m1 restrict : {buffers[1]} to {b}
          %c = bufferization.to_tensor %m2 restrict writable : {buffers[2]} to {c}
          %f = linalg.fill ins(%zero : f32) outs(%c : {c}) -> {c}
          %r = {self.operation} ins(%a, %b : {a}, {b}) outs(%f : {c}) -> {c}
          bufferization.materialize_in_destination %r in restrict writable %m2 : ({c}, {buffers[2]}) -> ()
          return
        }}"""

    def arrays(self) -> list[Array]:
        """Operands of small integers: sums are exact in any order."""
        numbers = np.random.default_rng(0)
        return [aligned(numbers.integers(-4, 5, shape)) for shape in self.shapes]

    def pick(self, draw: random.Random) -> Sizes:
        """Draw legal tile sizes."""
        return tuple(draw.choice([size for size in TILE_SIZES if size < extent]) for extent in self.extents)

    def described(self, sizes: Sizes) -> str:
        """The sizes as text for people."""
        return " ".join(f"{loop}={size}" for loop, size in zip(self.letters, sizes, strict=True) if size)


def aligned(values: NDArray[np.int64]) -> Array:
    """Copy values to memory that starts at a cache line, like MLIR's own buffers."""
    memory = np.empty(values.size + 16, np.float32)
    start = -memory.ctypes.data % 64 // 4
    array = memory[start : start + values.size].reshape(values.shape)
    array[...] = values
    return array


def problems() -> tuple[Problem, ...]:
    """A matmul and a convolution."""
    n, h, c, f = 256, 28, 32, 64
    ones = "{strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}"
    image, weights, result = (1, h + 2, h + 2, c), (3, 3, c, f), (1, h, h, f)
    loops = (1, h, h, f, 3, 3, c)
    return (
        Problem(f"matmul, {n}³", "linalg.matmul", ((n, n),) * 3, (n,) * 3, PLACES[0]),
        Problem(
            f"conv 3², {h}² x {c} to {f}",
            f"linalg.conv_2d_nhwc_hwcf {ones}",
            (image, weights, result),
            loops,
            PLACES[1],
        ),
    )


class Compiled:
    """An operation tiled by `sizes` and compiled, on operands that all candidates share."""

    def __init__(self, problem: Problem, sizes: Sizes, arrays: Sequence[Array]) -> None:
        def decide(obs: passpilot.Observation) -> int:
            if obs["is_contraction"] or obs["is_convolution"]:
                return TILE_SIZES.index(sizes[int(obs["loop"][0])])
            return 0  # the fill

        module = MLIR.ir.Module.parse(problem.text, MLIR.ir.Context())
        with MLIR_TILE.advisor(decide) as advisor:
            passpilot.mlir.run_pipeline(module, "builtin.module(func.func(advised-tile))", [advisor])
        passpilot.mlir.to_llvm_dialect(module)
        self._engine = ENGINES.ExecutionEngine(module, opt_level=3)
        memrefs = map(RUNTIME.get_ranked_memref_descriptor, arrays)
        self._arguments = [ctypes.pointer(ctypes.pointer(memref)) for memref in memrefs]

    def seconds(self) -> float:
        """The time of one run."""
        start = time.perf_counter()
        self._engine.invoke("main", *self._arguments)
        return time.perf_counter() - start


class Bench:
    """Measures one problem: keeps its operands and the expected result."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self._arrays = problem, problem.arrays()
        self.untiled: Sizes = (0,) * len(problem.extents)
        self.compiled(self.untiled).seconds()
        self._expected = self._arrays[-1].copy()

    def compiled(self, sizes: Sizes) -> Compiled:
        """Compile the operation with these sizes."""
        return Compiled(self.problem, sizes, self._arrays)

    def tried(self, every: Iterable[Sizes], rounds: int = 5) -> dict[Sizes, float]:
        """The least time for all sizes; checks the results."""
        times: dict[Sizes, float] = {}
        for sizes in every:
            compiled = self.compiled(sizes)
            self._arrays[-1].fill(np.nan)
            times[sizes] = min(compiled.seconds() for _ in range(rounds))
            np.testing.assert_array_equal(self._arrays[-1], self._expected)
        return times

    def compared(self, every: Iterable[Sizes], rounds: int) -> dict[Sizes, float]:
        """The median time for all sizes, measured in turns."""
        rivals = {sizes: self.compiled(sizes) for sizes in every}
        times: dict[Sizes, list[float]] = {sizes: [] for sizes in rivals}
        for _ in range(rounds):
            for sizes, compiled in rivals.items():
                times[sizes].append(compiled.seconds())
        return {sizes: statistics.median(seconds) for sizes, seconds in times.items()}


def rows(every: Sequence[Sizes], extents: Sizes) -> NDArray[np.float64]:
    """The model's features: per loop, whether it is tiled and its trip count in a tile; a tile's volume."""
    sizes = np.array(every, float)
    inside = np.where(sizes > 0, sizes, np.array(extents, float))
    volume = np.log2(inside).sum(axis=1, keepdims=True)
    return np.hstack([sizes > 0, np.log2(inside), volume])


def proposed(problem: Problem, seen: dict[Sizes, float], count: int, draw: random.Random) -> list[Sizes]:
    """Of many new sizes, the `count` that a model of the times predicts to be fastest."""
    from sklearn.ensemble import ExtraTreesRegressor

    model = ExtraTreesRegressor(n_estimators=100, random_state=0)
    model.fit(rows(list(seen), problem.extents), np.log(list(seen.values())))
    fresh = list({problem.pick(draw): None for _ in range(CANDIDATES)}.keys() - seen.keys())
    fresh.sort()
    order = np.argsort(model.predict(rows(fresh, problem.extents)))
    return [fresh[place] for place in order[:count]]


def tune(problem: Problem, samples: int, rounds: int) -> list[tuple[str, float, Sizes]]:
    """Title, time and sizes of three winners: untiled, best by random search, best by search and model."""
    draw, bench = random.Random(0), Bench(problem)
    searched = bench.tried({problem.pick(draw): None for _ in range(samples)})
    fitted = bench.tried(proposed(problem, searched, max(samples // 3, 1), draw))
    both = searched | fitted
    winners = {
        "untiled": bench.untiled,
        f"{len(searched)} at random": min(searched, key=searched.__getitem__),
        f"{len(fitted)} more by the model": min(both, key=both.__getitem__),
    }
    times = bench.compared(winners.values(), rounds)
    return [(title, times[sizes], sizes) for title, sizes in winners.items()]


def main() -> None:
    """Tune both operations and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--samples", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=41)
    options = parser.parse_args()
    table = Table(title="Tile sizes", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for heading, justify in HEADINGS.items():
        table.add_column(heading, justify=justify, no_wrap=True)
    for problem in problems():
        made = tune(problem, options.samples, options.rounds)
        for title, seconds, sizes in made:
            speed_up = f"{made[0][1] / seconds:.2f}"
            name = "" if any(sizes) else problem.name
            table.add_row(name, title, f"{1e3 * seconds:.2f} ms", speed_up, problem.described(sizes))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
