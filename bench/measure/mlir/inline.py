# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares advised inlining in MLIR with the same bindings' native `inline`, when all calls are accepted.

The real modules are the JAX programs of the tests. The generated ones have 2,000 and 20,000 calls of private
functions, 20 per function. `canonicalize` simplifies. Every run parses the module in a new context; the time
is the processor time of the pipeline's only thread. Rounds alternate, ratios are of the least times.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import passpilot
from bench.lib import Bar, command, in_turns, least, settle, show, thread_seconds
from bench.measure.mlir.modules import module
from passpilot.passes.mlir.inline import MLIR_INLINE
from tests.corpus.modules import MODULES, unpacked

if TYPE_CHECKING:
    from passpilot.runners.python import Observation
    from passpilot.runners.spec import RunnerLike

NATIVE: Final = "native inline"
REAL_ROUNDS: Final = 15
PER_CALLER: Final = 20
GENERATED: Final = ((2_000, 10, 10), (2_000, 50, 5), (20_000, 10, 3))
"""(calls, operations of a callee besides its return, rounds)."""
LIMITS: Final = {
    "real": {"bottom-up, const:1": 1.05, "mark-and-run, const:1": 1.05},
    "generated": {"bottom-up, const:1": 1.05, "mark-and-run, const:1": 1.05},
}
"""The bars: how many times the time of native `inline`. The generated modules have nothing but calls of small
functions, so that what passpilot does for every call weighs most there."""


@dataclass(frozen=True)
class Case:
    name: str
    kind: str
    """A key of LIMITS."""
    text: str
    rounds: int


def cases() -> Iterator[Case]:
    for name in MODULES:
        with tempfile.TemporaryDirectory() as folder:
            yield Case(name, "real", unpacked(name, Path(folder)).text, REAL_ROUNDS)
    for calls, size, rounds in GENERATED:
        text = module(calls, PER_CALLER, max(calls // PER_CALLER // 10, 1), size)
        yield Case(f"{calls:,} calls, {size} operations", "generated", text, rounds)


def parsed(text: str) -> Any:
    """Parse a module in a new context without threads."""
    ir = passpilot.mlir.bindings().ir
    context = ir.Context()
    context.enable_multithreading(False)
    return ir.Module.parse(text, context)


def decide(obs: Observation) -> bool:
    return bool(obs["callee_operations"][0] + obs["loop_depth"][0] >= 0)


def native(module: Any) -> None:
    passpilot.mlir.run_pipeline(module, "builtin.module(inline)")


def advised(engine: str, runner: RunnerLike, module: Any) -> None:
    with MLIR_INLINE.advisor(runner) as advisor:
        passpilot.mlir.run_pipeline(module, f"builtin.module(advised-inline{{engine={engine}}})", [advisor])


KINDS: Final[dict[str, Callable[[Any], None]]] = {
    NATIVE: native,
    "bottom-up, const:1": partial(advised, "bottom-up", "const:1"),
    "bottom-up, Python": partial(advised, "bottom-up", decide),
    "mark-and-run, const:1": partial(advised, "mark-and-run", "const:1"),
    "mark-and-run, Python": partial(advised, "mark-and-run", decide),
}


def inlined(text: str, run: Callable[[Any], None]) -> float:
    """The seconds of inlining all calls of a module."""
    source = parsed(text)
    gc.collect()
    seconds = thread_seconds(partial(run, source))
    assert "call @" not in str(source)
    return seconds


@command
def main() -> None:
    worst: dict[tuple[str, str], float] = {}
    for case in cases():
        runs = {name: partial(inlined, case.text, run) for name, run in KINDS.items()}
        fastest = least(in_turns(runs, case.rounds))
        rows = {
            name: {"ms": 1e3 * seconds, "ratio": seconds / fastest[NATIVE]}
            for name, seconds in fastest.items()
        }
        show(f"{case.name}: all calls accepted", "engine, runner", rows)
        for name, row in rows.items():
            worst[case.kind, name] = max(row["ratio"], worst.get((case.kind, name), 0))
    settle(
        *(
            Bar(f"{modules} modules, {kind}", worst[modules, kind], limit, "MLIR's own `inline`")
            for modules, limits in LIMITS.items()
            for kind, limit in limits.items()
        )
    )
