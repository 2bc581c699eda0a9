# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the time of one question to a runner inside a compilation: C function, Python, ONNX.

All runners answer "no" to the same decisions of a real module, by turns. The time is from the advisor's own
clock: the runner and the check of the answer, without LLVM. Targets, for the least of the rounds divided by
`slowness`: a C function 0.2 µs, Python with numpy views 2 µs. An ONNX MLP 38-64-64-2 may take 1.3 times as
long as the same model in onnxruntime's C API alone, on the same decisions.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from bench.lib import Bar, command, in_turns, least, medians, ratio, settle, show, slowness, starts
from bench.lib.corpus import built
from bench.lib.models import refusing
from bench.lib.native import Floor, c_function
from passpilot import InlineAdvisor, Module, name_columns, optimize
from passpilot.features.llvm.inline import DECISION, FEATURES
from passpilot.runners.native import function_runner
from passpilot.runners.python import Observation
from passpilot.runners.spec import RunnerLike
from tests.runners.aot.models import mlp

ROUNDS: Final = 7
PROGRAM: Final = "lz4"
C_FUNCTION: Final = "C function"
VIEW: Final = "Python, numpy view"
ONNX: Final = "ONNX MLP 38-64-64-2"
FLOOR: Final = "onnxruntime's C API alone"
BODY: Final = "*(int64_t *)output = *(const int64_t *)inputs[29] < -1000000;"


def view(obs: Observation) -> object:
    """Reads one feature through its numpy view."""
    return obs["cost_estimate"].item() < -(10**6)


def comparison(obs: Observation) -> object:
    """Compares in numpy, which costs numpy's own microseconds."""
    return obs["cost_estimate"] < -(10**6)


def constant(obs: Observation) -> bool:  # noqa: ARG001
    """Reads nothing: the cost of the call alone."""
    return False


def makers(folder: Path) -> dict[str, Callable[[], RunnerLike]]:
    specs = [row.spec for row in FEATURES]
    model, path = refusing(mlp()), folder / "mlp.onnx"
    name_columns(model, [spec.name for spec in specs])
    path.write_bytes(model.SerializeToString())
    floor = Floor(folder / "floor.so", path)
    function = c_function(folder / "decide.so", BODY)
    return {
        C_FUNCTION: lambda: function_runner(function, specs, DECISION),
        "const:0": lambda: "const:0",
        "Python, reads nothing": lambda: constant,
        VIEW: lambda: view,
        "Python, numpy comparison": lambda: comparison,
        ONNX: lambda: f"onnx:{path}?map=x:*",
        FLOOR: lambda: function_runner(floor.function, specs, DECISION, context=floor.context),
    }


def microseconds(path: Path, make: Callable[[], RunnerLike]) -> float:
    """The mean time of a question over one compilation of the module."""
    with InlineAdvisor(make(), size_budget=0) as advisor:
        optimize(Module.read(path), "default<Oz>", [advisor])
        return advisor.stats.microseconds_per_decision


@command
def main() -> None:
    path = built([PROGRAM])[0].whole("Oz")
    with tempfile.TemporaryDirectory() as folder:
        runners: dict[str, Callable[[], float]] = {
            name: partial(microseconds, path, make) for name, make in makers(Path(folder)).items()
        }
        times = in_turns({**runners, **starts()}, ROUNDS)
    slower = slowness(times)
    middle, fastest = medians(times), least(times, slower)
    rows = {name: {"µs": middle[name], f"least / {slower:.2f}": fastest[name]} for name in runners}
    show(f"microseconds per decision, {PROGRAM} at Oz, median of {ROUNDS}", "runner", rows)
    settle(
        Bar("a C function, µs per decision", fastest[C_FUNCTION], 0.2),
        Bar("a Python policy with a numpy view, µs per decision", fastest[VIEW], 2),
        Bar("`onnx:`, a perceptron", ratio(times[ONNX], times[FLOOR]), 1.3, FLOOR),
    )
