# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the cost of a decision in a Python pass, by `ask`, and by `ask_all` with 32 decisions at once.

The point has 3 or 24 numbers and a choice of four; the runners are a constant, a Python policy that reads
nothing, and an ONNX perceptron with two hidden layers of 64. The time is the thread's processor time from a
dict of values to the answer; rounds alternate, the figures are medians. Target: with ONNX, `ask_all` takes a
third of the time of `ask` or less.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import onnx

import passpilot
from bench.lib import Bar, command, in_turns, medians, settle, show_rows, thread_seconds
from passpilot import Choice, DecisionPoint, TensorSpec
from passpilot.runners.python import Observation
from passpilot.runners.spec import RunnerLike
from tests.runners.aot.models import mlp

Rows = Sequence[Mapping[str, int]]

ROUNDS: Final = 200
TOGETHER: Final = 32
COLUMNS: Final = 4
WIDTHS: Final = (3, 24)

_WORK: list[Callable[[], None]] = []


@passpilot.llvm.module_pass("bench-ask")
@dataclass(frozen=True)
class Asker:
    def run(self, module: passpilot.Module) -> bool:  # noqa: ARG002
        for work in _WORK:
            work()
        return False


def constant(obs: Observation) -> int:  # noqa: ARG001
    """Reads nothing: the cost of the call alone."""
    return 1


def declared(width: int) -> DecisionPoint[int]:
    return DecisionPoint[int](
        f"bench-{width}",
        features=[TensorSpec(f"feature_{number}", "int64", (1,)) for number in range(width)],
        advice=TensorSpec("column", "int64", (1,)),
        domain=Choice(COLUMNS),
        default=lambda _: 0,
    )


def measured(point: DecisionPoint[int], rows: Rows, runner: RunnerLike) -> dict[str, float]:
    """Microseconds per decision, by `ask` and by `ask_all`."""
    times: dict[str, list[float]] = {}

    def work() -> None:
        assert point.ask_all(rows) == [point.ask(values) for values in rows]
        asks = {
            "ask": lambda: thread_seconds(lambda: [point.ask(values) for values in rows]),
            "ask_all": lambda: thread_seconds(lambda: point.ask_all(rows)),
        }
        times.update(in_turns(asks, ROUNDS))

    _WORK[:] = [work]
    module = passpilot.Module.read(b"define void @f() {\n  ret void\n}\n", name="bench.ll")
    with point.advisor(runner) as advisor:
        passpilot.optimize(module, "bench-ask", [advisor])
    return {name: seconds / len(rows) * 1e6 for name, seconds in medians(times).items()}


@command
def main() -> None:
    cells, bars = [], []
    with tempfile.TemporaryDirectory() as folder:
        for width in WIDTHS:
            point, path = declared(width), f"{folder}/{width}.onnx"
            names = [value.spec.name for value in point.values[:width]]
            rows = [dict.fromkeys(names, row % 7) for row in range(TOGETHER)]
            onnx.save(mlp((width, 64, 64, COLUMNS)), path)
            runners: dict[str, RunnerLike] = {
                "const:1": "const:1",
                "Python, reads nothing": constant,
                "ONNX": f"onnx:{path}?map=x:{','.join(names)}",
            }
            for name, runner in runners.items():
                costs = measured(point, rows, runner)
                ratio = costs["ask"] / costs["ask_all"]
                cells.append((width, name, costs["ask"], costs["ask_all"], ratio))
                if name == "ONNX":
                    what = f"`ask_all`, ONNX, {width} features, times as fast"
                    bars.append(Bar(what, ratio, 3, "`ask`", least=True))
    heads = ("features", "runner", "ask, µs", "ask_all, µs", "ratio")
    show_rows(f"{TOGETHER} decisions", heads, cells)
    settle(*bars)
