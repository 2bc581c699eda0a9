# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR passes in Python that tests define on the spot, and modules for them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from passpilot.passes.mlir import api as mlir

Run = Callable[[Any], object]

TEXT: Final = """\
func.func private @small(%x: i32) -> i32 {
  %y = arith.addi %x, %x : i32
  return %y : i32
}
func.func @big(%x: i32) -> i32 {
  %y = func.call @small(%x) : (i32) -> i32
  return %y : i32
}
"""


def define(run: Run, anchor: str = "", name: str = "test-pass") -> str:
    """Register a pass that calls `run`; its name."""

    @dataclass(frozen=True)
    class Made:
        limit: int = 3
        loud: bool = False

        def run(self, operation: object) -> object:
            return run(operation)

    mlir.pass_(name, anchor=anchor)(Made)
    return name


SEVERAL: Final = len(os.sched_getaffinity(0)) > 1
"""Whether MLIR has several threads: it has one per processor that it may use."""


def parsed(text: str = TEXT, threads: bool = False) -> Any:
    """A module in a context of its own."""
    context = mlir.bindings().ir.Context()
    context.enable_multithreading(threads)
    return mlir.bindings().ir.Module.parse(text, context)


def many(count: int) -> str:
    """A module of functions with something to simplify."""
    body = "%y = arith.addi %x, %x : i32 %z = arith.addi %x, %x : i32 %w = arith.muli %y, %z : i32"
    return "\n".join(f"func.func @f{i}(%x: i32) -> i32 {{ {body} return %w : i32 }}" for i in range(count))


def symbol(operation: Any) -> str:
    return str(operation.attributes["sym_name"].value)
