# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares advised inlining in MLIR with the same bindings' native `inline`, when all calls are accepted.

usage: python -m bench.measure.mlir.inline [--check]

The real modules are the JAX programs of the tests. The generated ones have 2,000 and 20,000 calls of private
functions, 20 per function. `canonicalize` simplifies. Every run parses the module in a new context; the time
is the processor time of the pipeline's only thread. Rounds alternate, ratios are of the least times. Writes
bench/results/mlir_inline.json.
"""

from __future__ import annotations

import gc
import json
import tempfile
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

import passpilot
from bench.lib.bars import Bar, settle
from bench.lib.records import ROOT
from passpilot.features.mlir.call_graph import call_graphs
from passpilot.features.mlir.inline import observe
from passpilot.passes.mlir.inlining.graph import ChangingGraph
from passpilot.passes.mlir.inlining.point import MLIR_INLINE
from tests.corpus.modules import MODULES, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from passpilot.runners.python import Observation
    from passpilot.runners.spec import RunnerLike

FEATURES: Final = "features of a call"
RESULTS: Final = ROOT / "bench/results"
REAL_ROUNDS: Final = 15
GENERATED: Final = ((2_000, 10, 10), (2_000, 50, 5), (20_000, 10, 3))
"""(calls, operations of a callee besides its return, rounds)."""

PER_CALLER: Final = 20

LIMITS: Final = {
    "real": {"bottom-up, const:1": 1.3, "mark-and-run, const:1": 1.15},
    "generated": {"bottom-up, const:1": 2, "mark-and-run, const:1": 1.25},
}
"""The bars: how many times the time of native `inline`. The generated modules have nothing but calls of small
functions, so that what passpilot does for every call weighs most there."""


@dataclass(frozen=True)
class Case:
    """A module to inline in."""

    name: str
    kind: str
    """A key of LIMITS."""
    text: str
    rounds: int


@dataclass(frozen=True)
class Row:
    """One result: the milliseconds of a run and their ratio to native `inline`, or microseconds per call."""

    case: str
    modules: str
    kind: str
    value: float
    ratio: float = 0.0


def cases() -> Iterator[Case]:
    """All modules."""
    for name in MODULES:
        with tempfile.TemporaryDirectory() as folder:
            yield Case(name, "real", unpacked(name, Path(folder)).text, REAL_ROUNDS)
    for calls, size, rounds in GENERATED:
        yield Case(f"{calls:,} calls, {size} operations", "generated", generated(calls, size), rounds)


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


def measured(case: Case) -> Iterator[Row]:
    """The least milliseconds of every kind of inlining."""
    least = dict.fromkeys(KINDS, float("inf"))
    for _ in range(case.rounds):
        for name, run in KINDS.items():
            module = parsed(case.text)
            gc.collect()
            began = time.thread_time()
            run(module)
            least[name] = min(least[name], time.thread_time() - began)
            assert "call @" not in str(module)
    for name, seconds in least.items():
        yield Row(case.name, case.kind, name, 1e3 * seconds, seconds / least["native inline"])


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


def bars(rows: list[Row]) -> list[Bar]:
    """What the figures may be: the worst of the modules of a kind."""
    made = [
        Bar(f"{modules} modules, {kind}", _worst(rows, modules, kind), limit, "MLIR's own `inline`")
        for modules, limits in LIMITS.items()
        for kind, limit in limits.items()
    ]
    return [*made, Bar(f"{FEATURES}, µs", max(row.value for row in rows if row.kind == FEATURES), 15)]


def _worst(rows: list[Row], modules: str, kind: str) -> float:
    return max(row.ratio for row in rows if (row.modules, row.kind) == (modules, kind))


def main() -> None:
    """Measure, print, and write the figures."""
    table = Table("module", "engine, runner", "time", "to native", title="All calls accepted")
    rows: list[Row] = []
    for case in cases():
        rows += measured(case)
        if case.kind == "generated":
            cost = min(feature_cost(case.text) for _ in range(case.rounds))
            rows.append(Row(case.name, case.kind, FEATURES, cost))
    for row in rows:
        unit = "ms" if row.ratio else "µs"
        table.add_row(row.case, row.kind, f"{row.value:.1f} {unit}", f"{row.ratio:.2f}" if row.ratio else "")
    Console().print(table)
    RESULTS.mkdir(exist_ok=True)
    written = [asdict(row) for row in rows]
    (RESULTS / "mlir_inline.json").write_text(json.dumps(written, indent=1) + "\n")
    settle(*bars(rows))


if __name__ == "__main__":
    main()
