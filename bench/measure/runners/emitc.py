# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares one perceptron by three routes: onnxruntime, `passpilot aot` of the ONNX model, LLVM's EmitC.

The model 38-64-64-2 is written as ONNX and as TOSA. mlir-opt and mlir-translate lower the TOSA to C++, and
`passpilot aot model.cpp` compiles that. One C loop calls all in turns, on the same random observations, each
compiled for this processor and for any. The least of many short rounds counts, so that other work on the
machine does not.

usage: python -m bench.measure.runners.emitc
"""

from __future__ import annotations

import ctypes
import tempfile
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from bench.lib import command, in_turns, show
from bench.lib.models import ahead_of_time
from bench.lib.native import Floor
from bench.measure.runners.aot import CALLS, FEATURES, FLOOR, loops
from passpilot.cli.aot import main as aot
from tests.runners.aot.lowered import lowered, tosa
from tests.runners.aot.models import mlp

ACTIVATIONS: Final = ("Relu", "Tanh")
CPUS: Final = ("generic", "native")
TURNS: Final = 60


def askers(folder: Path, activation: str, c: ctypes.CDLL) -> dict[str, tuple[int, int, int]]:
    """The function, its context and its input, by route."""
    made, path = mlp(activation=activation), folder / f"{activation}.onnx"
    path.write_bytes(made.SerializeToString())
    cpp = path.with_suffix(".cpp")
    cpp.write_text(lowered(tosa(made)))
    floor = Floor(path.with_suffix(".floor.so"), path, FEATURES, 2)
    found = {FLOOR: (floor.function, floor.context, floor.input)}
    for cpu in CPUS:
        own = ahead_of_time(path, "-mcpu", cpu, f"--shape=x:1,{FEATURES}")
        own = own.rename(folder / f"{activation}.{cpu}.so")
        theirs = folder / f"{activation}.{cpu}.emitc.so"
        assert aot([str(cpp), "-o", str(theirs), "-mcpu", cpu, "--buffer=x,logits"]) == 0
        for name, library in (("aot of ONNX", own), ("aot of EmitC", theirs)):
            context = ctypes.c_void_p()
            evaluate = c.opened(str(library).encode(), ctypes.byref(context))
            place = (ctypes.c_float * FEATURES)()
            KEPT.append(place)
            found[f"{name}, {cpu}"] = (evaluate, context.value or 0, ctypes.addressof(place))
    return found


KEPT: Final[list[object]] = []
"""The inputs of the models, which live as long as the process."""


@command
def main() -> None:
    c, rows = loops(), np.random.default_rng(1).normal(0, 1, (256, FEATURES)).astype("f4")

    def microseconds(function: int, context: int, place: int) -> float:
        taken = c.per_call(function, context, place, rows.ctypes.data, CALLS // 8)
        assert taken > 0, "the model answers"
        return float(taken * 1e6)

    table: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        for activation in ACTIVATIONS:
            made = askers(Path(name), activation, c)
            runs = {route: partial(microseconds, *asker) for route, asker in made.items()}
            fastest = {route: min(taken) for route, taken in in_turns(runs, TURNS).items()}
            for route, taken in fastest.items():
                table[f"{activation}, {route}"] = {"µs": taken, "ratio": taken / fastest[FLOOR]}
    show(f"µs per answer, least of {TURNS} rounds; ratios to onnxruntime's C API", "model and route", table)
