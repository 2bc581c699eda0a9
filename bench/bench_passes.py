# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the cost of a Python function pass per function, next to LLVM's own empty pass.

A module of many small functions goes through one pass at a time: LLVM's `no-op-function`, a Python pass that
does nothing, one that reads the name, one that walks the instructions. Rounds alternate; the figures are
medians. The last column is what Python adds to LLVM's own empty pass. Target: an empty pass at most 1.5 µs.
Writes bench/results/passes.json.

usage: bench_passes.py [FUNCTIONS]      (20000)
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

import passpilot

if TYPE_CHECKING:
    from passpilot.plugin.ir import Function

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from bench.bars import Bar, arguments, settle  # noqa: E402

ROUNDS: Final = 15
NATIVE: Final = "no-op-function"


@passpilot.llvm.function_pass("bench-empty")
@dataclass(frozen=True)
class Empty:
    """Does nothing."""

    def run(self, function: Function) -> bool:  # noqa: ARG002
        """Do nothing."""
        return False


@passpilot.llvm.function_pass("bench-name")
@dataclass(frozen=True)
class Name:
    """Reads the name."""

    def run(self, function: Function) -> bool:
        """Whether the function is nameless."""
        return not function.name


@passpilot.llvm.function_pass("bench-walk")
@dataclass(frozen=True)
class Walk:
    """Walks over the instructions."""

    def run(self, function: Function) -> bool:
        """Whether some opcode is unknown."""
        return not all(instruction.opcode for instruction in function.instructions)


def module_of(functions: int) -> passpilot.Module:
    """A module of this number of functions, of four instructions each."""
    body = "  %a = add i32 %x, 1\n  %b = mul i32 %a, %x\n  %c = xor i32 %b, 7\n  ret i32 %c\n"
    text = "".join(f"define i32 @f{i}(i32 %x) {{\n{body}}}\n" for i in range(functions))
    return passpilot.Module.read(text.encode(), name="bench.ll")


def seconds(module: passpilot.Module, pipeline: str) -> float:
    """This thread's processor time for the pipeline."""
    began = time.thread_time()
    passpilot.optimize(module, pipeline, verify=False)
    return time.thread_time() - began


def main() -> None:
    """Measure, print, and write the figures."""
    given = arguments()
    functions = int(given[0]) if given else 20000
    module = module_of(functions)
    passes = (NATIVE, "bench-empty", "bench-name", "bench-walk")
    taken: dict[str, list[float]] = {name: [] for name in passes}
    for _ in range(ROUNDS):
        for name in passes:
            taken[name].append(seconds(module, f"function({name})"))
    each = {name: statistics.median(times) / functions * 1e6 for name, times in taken.items()}
    table = Table("pass", "µs per function", "beyond LLVM's empty pass", title=f"{functions} functions")
    for name, cost in each.items():
        table.add_row(name, f"{cost:.2f}", f"{cost - each[NATIVE]:.2f}")
    Console().print(table)
    results = ROOT / "bench" / "results"
    results.mkdir(exist_ok=True)
    (results / "passes.json").write_text(json.dumps({"functions": functions, "microseconds": each}, indent=1))
    settle(
        "passes",
        Bar("an empty Python pass, µs per function", each["bench-empty"] - each[NATIVE], 1.5, "LLVM's own"),
    )


if __name__ == "__main__":
    main()
