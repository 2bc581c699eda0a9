# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the cost of a Python function pass per function, next to LLVM's own empty pass.

A module of many small functions goes through one pass at a time: LLVM's `no-op-function`, a Python pass that
does nothing, one that reads the name, one that walks the instructions. Rounds alternate; the figures are
medians. The last column is what Python adds to LLVM's own empty pass. Target: an empty pass at most 1.5 µs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import passpilot
from bench.lib import Bar, command, in_turns, medians, settle, show, thread_seconds

if TYPE_CHECKING:
    from passpilot.plugin.ir import Function

ROUNDS: Final = 15
NATIVE: Final = "no-op-function"


@passpilot.llvm.function_pass("bench-empty")
@dataclass(frozen=True)
class Empty:
    def run(self, function: Function) -> bool:  # noqa: ARG002
        return False


@passpilot.llvm.function_pass("bench-name")
@dataclass(frozen=True)
class Name:
    def run(self, function: Function) -> bool:
        return not function.name


@passpilot.llvm.function_pass("bench-walk")
@dataclass(frozen=True)
class Walk:
    def run(self, function: Function) -> bool:
        return not all(instruction.opcode for instruction in function.instructions)


def module_of(functions: int) -> passpilot.Module:
    body = "  %a = add i32 %x, 1\n  %b = mul i32 %a, %x\n  %c = xor i32 %b, 7\n  ret i32 %c\n"
    text = "".join(f"define i32 @f{i}(i32 %x) {{\n{body}}}\n" for i in range(functions))
    return passpilot.Module.read(text.encode(), name="bench.ll")


@command
def main(functions: int = 20000) -> None:
    module = module_of(functions)
    runs = {
        name: partial(thread_seconds, partial(passpilot.optimize, module, f"function({name})", verify=False))
        for name in (NATIVE, "bench-empty", "bench-name", "bench-walk")
    }
    costs = {name: seconds / functions * 1e6 for name, seconds in medians(in_turns(runs, ROUNDS)).items()}
    rows = {name: {"µs per function": cost, "beyond": cost - costs[NATIVE]} for name, cost in costs.items()}
    show(f"{functions} functions", "pass", rows)
    settle(Bar("an empty Python pass, µs per function", rows["bench-empty"]["beyond"], 1.5, "LLVM's own"))
