# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what `advised-fuse` can gain over MLIR's own choice, which is to fuse all that it can.

Each program runs in MLIR's ExecutionEngine at -O3: fused as by MLIR, not at all, by the fastest of
``random:0`` to ``random:15``, and by one rule for all programs: to fuse what is not computed more often
afterwards. The builds run in turns with MLIR's, `--pairs` times, and compute the same numbers.
"""

from __future__ import annotations

import ctypes
import statistics
import sys
from functools import partial
from importlib import import_module
from typing import Final

import numpy as np

import passpilot
from bench.lib import command, show, thread_seconds
from passpilot import MLIR_FUSE
from passpilot.runners.python import Observation
from passpilot.runners.spec import RunnerLike

MLIR: Final = passpilot.mlir.bindings()
ENGINES: Final = import_module(f"{MLIR.root}.execution_engine")
RUNTIME: Final = import_module(f"{MLIR.root}.runtime")
ROWS: Final = 512
COLUMNS: Final = 256
SEEDS: Final = 16

_MAPS: Final = """
#m = affine_map<(i, j) -> (i, j)>
#c = affine_map<(i, j) -> (j)>
#v = affine_map<(i) -> (i)>
"""
_VECTOR: Final = f"tensor<{COLUMNS}xf32>"
_MATRIX: Final = f"tensor<{ROWS}x{COLUMNS}xf32>"


def _operation(name: str, inputs: str, body: str, kinds: str = "parallel parallel") -> str:
    """An operation of matrices %m… and vectors %v…; `body` computes %r of %x, %y and the old value %o."""
    operands, loops = inputs.split(), kinds.split()
    is_vector = len(loops) == 1 or "reduction" in loops
    types = [_VECTOR if operand.startswith("%v") else _MATRIX for operand in operands]
    column = "#v" if len(loops) == 1 else "#c"
    maps = [column if kind == _VECTOR else "#m" for kind in types] + [column if is_vector else "#m"]
    result = _VECTOR if is_vector else _MATRIX
    arguments = ", ".join(f"{value}: f32" for value in (*("%x", "%y")[: len(operands)], "%o"))
    iterators = ", ".join(f'"{kind}"' for kind in loops)
    output = "%vout" if is_vector else "%mout"
    return f"""{name} = linalg.generic {{indexing_maps = [{", ".join(maps)}], iterator_types = [{iterators}]}}
      ins({", ".join(operands)} : {", ".join(types)}) outs({output} : {result}) {{
    ^bb0({arguments}):
      {body}
      linalg.yield %r : f32
    }} -> {result}"""


EXP: Final = "%r = math.exp %x : f32"
MULTIPLY: Final = "%r = arith.mulf %x, %y : f32"
ADD: Final = "%r = arith.addf %x, %y : f32"
NEGATE: Final = "%r = arith.negf %x : f32"

PROGRAMS: Final = {
    "scale columns": [
        _operation("%va", "%v", EXP, "parallel"),
        _operation("%ma", "%m %va", MULTIPLY),
        _operation("%mz", "%ma", NEGATE),
    ],
    "chain": [
        _operation("%ma", "%m %m", MULTIPLY),
        _operation("%mb", "%ma %m", ADD),
        _operation("%mc", "%mb", NEGATE),
        _operation("%mz", "%mc %m", MULTIPLY),
    ],
    "normalize": [
        _operation("%va", "%v %v", "%s = arith.addf %x, %y : f32\n%r = math.rsqrt %s : f32", "parallel"),
        _operation("%vb", "%v", "%r = math.tanh %x : f32", "parallel"),
        _operation("%ma", "%m %va", MULTIPLY),
        _operation("%mb", "%ma %vb", ADD),
        _operation("%mz", "%mb %m", ADD),
    ],
    "weighted sums": [
        _operation("%va", "%v", EXP, "parallel"),
        _operation("%ma", "%m %va", MULTIPLY),
        _operation("%vz", "%ma", "%r = arith.addf %x, %o : f32", "reduction parallel"),
        _operation("%mz", "%m %vz", ADD),
    ],
}


def text_of(operations: list[str]) -> str:
    """The module of a program, which reads two buffers and writes one."""
    matrix, vector = _MATRIX.replace("tensor", "memref"), _VECTOR.replace("tensor", "memref")
    body = "\n".join(operations)
    return f"""{_MAPS}
    func.func @main(%a: {matrix}, %b: {vector}, %c: {matrix}) attributes {{llvm.emit_c_interface}} {{
      %m = bufferization.to_tensor %a restrict : {matrix} to {_MATRIX}
      %v = bufferization.to_tensor %b restrict : {vector} to {_VECTOR}
      %mout = tensor.empty() : {_MATRIX}
      %zero = arith.constant 0.0 : f32
      %empty = tensor.empty() : {_VECTOR}
      %vout = linalg.fill ins(%zero : f32) outs(%empty : {_VECTOR}) -> {_VECTOR}
      {body}
      bufferization.materialize_in_destination %mz in restrict writable %c : ({_MATRIX}, {matrix}) -> ()
      return
    }}"""


class Build:
    """A program fused as a runner says, and its result."""

    def __init__(self, text: str, runner: RunnerLike) -> None:
        module = MLIR.ir.Module.parse(text, MLIR.ir.Context())
        with MLIR_FUSE.advisor(runner) as advisor:
            passpilot.mlir.run_pipeline(module, "builtin.module(func.func(advised-fuse))", [advisor])
        self.operations = str(module).count("linalg.generic")
        passpilot.mlir.to_llvm_dialect(module)
        self._engine = ENGINES.ExecutionEngine(module, opt_level=3)
        numbers = np.random.default_rng(0)
        matrix = numbers.random((ROWS, COLUMNS), np.float32)
        self._kept = [matrix, numbers.random(COLUMNS, np.float32), np.zeros_like(matrix)]
        memrefs = map(RUNTIME.get_ranked_memref_descriptor, self._kept)
        self._arguments = [ctypes.pointer(ctypes.pointer(memref)) for memref in memrefs]
        self.seconds()
        self.result = self._kept[2].copy()

    def seconds(self) -> float:
        return thread_seconds(partial(self._engine.invoke, "main", *self._arguments))


def rule(obs: Observation) -> bool:
    """Fuse what is not computed more often afterwards."""
    return obs["computed"].item() <= 1


def speed(build: Build, plain: Build, pairs: int) -> float:
    """How many times as fast as MLIR's choice a build is: the median over runs in turns."""
    return statistics.median(plain.seconds() / build.seconds() for _ in range(pairs))


def measure(name: str, pairs: int) -> dict[str, float]:
    text = text_of(PROGRAMS[name])
    plain = Build(text, "const:1")
    random = [Build(text, f"random:{seed}") for seed in range(SEEDS)]
    none, ruled = Build(text, "const:0"), Build(text, rule)
    for build in (*random, none, ruled):
        if not np.allclose(build.result, plain.result, rtol=1e-4):
            sys.exit(f"{name}: expected the same numbers")
    best = max(random, key=lambda build: speed(build, plain, 12))
    return {
        "µs": statistics.median(plain.seconds() for _ in range(pairs)) * 1e6,
        "nothing fused": speed(none, plain, pairs),
        f"best of {SEEDS}": speed(best, plain, pairs),
        "the rule": speed(ruled, plain, pairs),
    }


@command
def main(*, pairs: int = 60) -> None:
    rows = {name: measure(name, pairs) for name in PROGRAMS}
    show("speed relative to MLIR's choice, medians of pairs", "program", rows)
