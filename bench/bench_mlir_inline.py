# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares advised inlining in MLIR with the same bindings' native `inline`, when all calls are accepted.

The modules have 2,000 and 20,000 calls of private functions, 20 per function; `canonicalize` simplifies.
Every run parses the module in a new context; the time is the processor time of the pipeline's only thread.
Rounds alternate, ratios are of the least times. Targets: bottom-up at most twice native, mark-and-run 1.15
times; features 15 µs per call. Writes bench/results/mlir_inline.json.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

import passpilot

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.bars import Bar, settle
from passpilot.features.mlir.call_graph import call_graphs
from passpilot.features.mlir.inline import observe
from passpilot.passes.mlir.inlining.graph import ChangingGraph
from passpilot.passes.mlir.inlining.point import MLIR_INLINE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from passpilot.runners.python import Observation
    from passpilot.runners.spec import RunnerLike

RESULTS: Final = Path(__file__).parent / "results"
CASES: Final = ((2_000, 10, 10), (2_000, 50, 5), (20_000, 10, 3))
"""(calls, operations of a callee besides its return, rounds)."""

PER_CALLER: Final = 20


def generated(calls: int, size: int) -> str:
    """The text of a module with `calls` calls of functions of `size` operations."""
    callers = calls // PER_CALLER
    callees = max(callers // 10, 1)
    lines = [line for number in range(callees) for line in _callee(number, size)]
    for caller in range(callers):
        called = (f"leaf{(7 * caller + call) % callees}" for call in range(PER_CALLER))
        lines += [
            f"func.func @f{caller}(%x0: i64, %y: i64) -> i64 {{",
            *map(_call, range(PER_CALLER), called),
        ]
        lines += [f"  func.return %x{PER_CALLER} : i64", "}"]
    return "\n".join(lines)


def _call(number: int, callee: str) -> str:
    return f"  %x{number + 1} = func.call @{callee}(%x{number}, %y) : (i64, i64) -> i64"


def _callee(number: int, size: int) -> Iterator[str]:
    yield f"func.func private @leaf{number}(%x0: i64, %y: i64) -> i64 {{"
    for each in range(size):
        operation = ("addi", "muli", "xori", "subi")[each % 4]
        yield f"  %x{each + 1} = arith.{operation} %x{each}, %y : i64"
    yield f"  func.return %x{size} : i64 }}"


def parsed(text: str) -> Any:
    """Parse a module in a new context without threads."""
    ir = passpilot.mlir.bindings().ir
    context = ir.Context()
    context.enable_multithreading(False)
    return ir.Module.parse(text, context)


def decide(obs: Observation) -> bool:
    """Reads two features, and accepts."""
    return bool(obs["callee_operations"][0] + obs["loop_depth"][0] >= 0)


def native(module: Any) -> None:
    """Run MLIR's own pass."""
    passpilot.mlir.run_pipeline(module, "builtin.module(inline)")


def advised(module: Any, *, engine: str, runner: RunnerLike) -> None:
    """Run the advised pass."""
    with MLIR_INLINE.advisor(runner) as advisor:
        passpilot.mlir.run_pipeline(module, f"builtin.module(advised-inline{{engine={engine}}})", [advisor])


KINDS: Final[dict[str, Callable[[Any], None]]] = {
    "native inline": native,
    "bottom-up, const:1": partial(advised, engine="bottom-up", runner="const:1"),
    "bottom-up, Python": partial(advised, engine="bottom-up", runner=decide),
    "mark-and-run, const:1": partial(advised, engine="mark-and-run", runner="const:1"),
    "mark-and-run, Python": partial(advised, engine="mark-and-run", runner=decide),
}


def measured(text: str, rounds: int) -> dict[str, float]:
    """The least seconds of every kind of inlining."""
    least = dict.fromkeys(KINDS, float("inf"))
    for _ in range(rounds):
        for name, run in KINDS.items():
            module = parsed(text)
            gc.collect()
            began = time.thread_time()
            run(module)
            least[name] = min(least[name], time.thread_time() - began)
            assert "func.call" not in str(module)
    return least


def feature_cost(text: str) -> float:
    """Microseconds for the features of one call, including counting all functions again."""
    module = parsed(text)
    (graph,) = call_graphs(module.operation)
    began = time.thread_time()
    count = 0
    for node in graph.nodes.values():
        ChangingGraph(graph).recount(node)
        for call in node.contents.calls:
            callee = graph.target(call)
            assert callee is not None, "all are defined"
            observe(call, node, callee, graph)
            count += 1
    return 1e6 * (time.thread_time() - began) / count


def bars(results: list[dict[str, Any]]) -> list[Bar]:
    """What the figures may be: the worst of the cases."""
    worst = {kind: max(row["ratio"] for row in results if row["kind"] == kind) for kind in KINDS}
    made = [
        Bar(kind, ratio, 2 if kind.startswith("bottom-up") else 1.15, "MLIR's own `inline`")
        for kind, ratio in worst.items()
        if kind.endswith("const:1")
    ]
    cost = max(row["microseconds_per_call"] for row in results if row["kind"] == "features")
    return [*made, Bar("features of a call, µs", cost, 15)]


def main() -> None:
    """Measure, print, and write the figures."""
    table = Table("calls", "operations", "engine, runner", "ms", "to native", title="All calls accepted")
    results = []
    for calls, size, rounds in CASES:
        text, case = generated(calls, size), {"calls": calls, "operations": size}
        least = measured(text, rounds)
        cost = min(feature_cost(text) for _ in range(rounds))
        for name, seconds in least.items():
            ratio = seconds / least["native inline"]
            results.append({**case, "kind": name, "seconds": seconds, "ratio": ratio})
            table.add_row(f"{calls:,}", str(size), name, f"{1e3 * seconds:.1f}", f"{ratio:.2f}")
        results.append({**case, "kind": "features", "microseconds_per_call": cost})
        table.add_row(f"{calls:,}", str(size), "features, per call", f"{cost / 1e3:.4f}", "")
    Console().print(table)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "mlir_inline.json").write_text(json.dumps(results, indent=1))
    settle("mlir_inline", *bars(results))


if __name__ == "__main__":
    main()
