# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the cost of a decision in a Python pass, by `ask`, and by `ask_all` with 32 decisions at once.

The point has 3 or 24 numbers and a choice of four; the runners are a constant, a Python policy that reads
nothing, and an ONNX perceptron with two hidden layers of 64. The time is the thread's processor time from a
dict of values to the answer; rounds alternate, the figures are medians. Target: with ONNX, `ask_all` takes a
third of the time of `ask` or less. Writes bench/results/points.json.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.table import Table

import passpilot
from passpilot import Choice, DecisionPoint, TensorSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from passpilot.runners.python import Observation
    from passpilot.runners.spec import RunnerLike

    Rows = Sequence[Mapping[str, int]]

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from bench.bars import Bar, settle  # noqa: E402

ROUNDS: Final = 200
TOGETHER: Final = 32
COLUMNS: Final = 4
WIDTHS: Final = (3, 24)

_WORK: list[Callable[[], None]] = []


@passpilot.llvm.module_pass("bench-ask")
@dataclass(frozen=True)
class Asker:
    """Runs the measured questions."""

    def run(self, module: passpilot.Module) -> bool:  # noqa: ARG002
        """Change nothing."""
        for work in _WORK:
            work()
        return False


def constant(obs: Observation) -> int:  # noqa: ARG001
    """Reads nothing: the cost of the call alone."""
    return 1


def declared(width: int) -> DecisionPoint[int]:
    """A point of `width` numbers."""
    return DecisionPoint[int](
        f"bench-{width}",
        features=[TensorSpec(f"feature_{number}", "int64", (1,)) for number in range(width)],
        advice=TensorSpec("column", "int64", (1,)),
        domain=Choice(COLUMNS),
        default=lambda _: 0,
    )


def measured(point: DecisionPoint[int], rows: Rows, runner: RunnerLike) -> dict[str, float]:
    """Microseconds per decision, by `ask` and by `ask_all`."""
    taken: dict[str, list[float]] = {"ask": [], "ask_all": []}

    def timed(name: str, ask: Callable[[], list[int]]) -> list[int]:
        began = time.thread_time()
        answers = ask()
        taken[name].append(1e6 * (time.thread_time() - began) / len(rows))
        return answers

    def work() -> None:
        for _ in range(ROUNDS):
            alone = timed("ask", lambda: [point.ask(values) for values in rows])
            assert timed("ask_all", lambda: point.ask_all(rows)) == alone

    _WORK[:] = [work]
    module = passpilot.Module.read(b"define void @f() {\n  ret void\n}\n", name="bench.ll")
    with point.advisor(runner) as advisor:
        passpilot.optimize(module, "bench-ask", [advisor])
    return {name: statistics.median(values) for name, values in taken.items()}


def bars(results: list[dict[str, Any]]) -> list[Bar]:
    """What the figures may be."""
    return [
        Bar(
            f"`ask_all`, ONNX, {row['features']} features, times as fast",
            row["ratio"],
            3,
            "`ask`",
            least=True,
        )
        for row in results
        if row["runner"] == "ONNX"
    ]


def main() -> None:
    """Measure, print, and write the figures."""
    import onnx

    from tests.runners.aot.models import mlp

    table = Table("features", "runner", "ask, µs", "ask_all, µs", "ratio", title=f"{TOGETHER} decisions")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for width in WIDTHS:
            point, path = declared(width), f"{folder}/{width}.onnx"
            names = [each.spec.name for each in point.values[:width]]
            rows = [dict.fromkeys(names, row % 7) for row in range(TOGETHER)]
            onnx.save(mlp((width, 64, 64, COLUMNS)), path)
            kinds: dict[str, RunnerLike] = {
                "const:1": "const:1",
                "Python, reads nothing": constant,
                "ONNX": f"onnx:{path}?map=x:{','.join(names)}",
            }
            for name, runner in kinds.items():
                costs = measured(point, rows, runner)
                ratio = costs["ask"] / costs["ask_all"]
                results.append({"features": width, "runner": name, **costs, "ratio": ratio})
                table.add_row(
                    str(width), name, f"{costs['ask']:.2f}", f"{costs['ask_all']:.2f}", f"{ratio:.1f}"
                )
    Console().print(table)
    folder_of_results = ROOT / "bench" / "results"
    folder_of_results.mkdir(exist_ok=True)
    (folder_of_results / "points.json").write_text(json.dumps(results, indent=1))
    settle("points", *bars(results))


if __name__ == "__main__":
    main()
