# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what one inlining decision adds to LLVM's own work, by runner, in turns over one real module.

Prints a table and writes bench/results/decision.json. The time is from the advisor's own clock: the runner
and the check of the answer, without LLVM. Targets, for the least of the rounds divided by `slowness`: a C
function 0.2 µs, Python with numpy views 2 µs. An ONNX MLP 38-64-64-2 may take 1.3 times as long as the same
model in onnxruntime's C API alone, on the same decisions.
"""

from __future__ import annotations

import ctypes
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

from passpilot import InlineAdvisor, Module, name_columns, optimize
from passpilot.features.llvm.inline import DECISION, FEATURES
from passpilot.runners.native import function_runner, onnx_library

if TYPE_CHECKING:
    from collections.abc import Callable

    from passpilot.runners.base import Runner
    from passpilot.runners.python import Observation

    Make = Callable[[], str | Runner | Callable[..., object]]

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from bench.bars import Bar, settle  # noqa: E402
from bench.turns import slowness, time_starts  # noqa: E402
from tests.corpus.programs import cache_home  # noqa: E402

ROUNDS: Final = 7
PROGRAM: Final = "lz4"
ONNX: Final = "ONNX MLP 38-64-64-2"
FLOOR: Final = "onnxruntime's C API alone"

C_FUNCTION: Final = """
#include <stdint.h>
int decide(void *context, const void *const *inputs, void *output) {
  (void)context;
  *(int64_t *)output = *(const int64_t *)inputs[29] < -1000000;
  return 0;
}
"""


def view(obs: Observation) -> object:
    """Reads one feature through its numpy view."""
    return obs["cost_estimate"].item() < -(10**6)


def comparison(obs: Observation) -> object:
    """Compares in numpy, which costs numpy's own microseconds."""
    return obs["cost_estimate"] < -(10**6)


def constant(obs: Observation) -> bool:  # noqa: ARG001
    """Reads nothing: the cost of the call alone."""
    return False


def mlp(path: Path) -> None:
    """Write a 38-64-64-2 perceptron with pseudo-random weights, biased to say no."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(1)
    nodes, weights, last = [], [], "x"
    for layer, (rows, columns) in enumerate([(38, 64), (64, 64), (64, 2)]):
        scale = rows**-0.5
        weights += [
            numpy_helper.from_array(random.normal(0, scale, (rows, columns)).astype("f4"), f"w{layer}"),
            numpy_helper.from_array(np.array([1e9, 0] if layer == 2 else [0.0] * columns, "f4"), f"b{layer}"),
        ]
        out = f"h{layer}" if layer < 2 else "logits"
        nodes.append(
            helper.make_node("Gemm", [last, f"w{layer}", f"b{layer}"], [out if layer == 2 else f"g{layer}"])
        )
        if layer < 2:
            nodes.append(helper.make_node("Relu", [f"g{layer}"], [out]))
        last = out
    graph = helper.make_graph(
        nodes,
        "mlp",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 38])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 2])],
        weights,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    name_columns(path, [row.spec.name for row in FEATURES])


def shared_library(folder: Path, name: str, command: list[str | Path]) -> ctypes.CDLL:
    """Compile and load a shared library."""
    out = folder / f"{name}.so"
    subprocess.run([*command, "-O2", "-shared", "-fPIC", "-o", out, "-ldl"], check=True)
    return ctypes.CDLL(str(out))


def address(function: object) -> int:
    """The address of a ctypes function."""
    found = ctypes.cast(function, ctypes.c_void_p).value  # type: ignore[arg-type]
    assert found is not None
    return found


def build(folder: Path) -> dict[str, Make]:
    """The functions that make the runners, by name."""
    (folder / "decide.c").write_text(C_FUNCTION)
    decide = shared_library(folder, "decide", ["cc", folder / "decide.c"]).decide
    model = folder / "mlp.onnx"
    mlp(model)
    runtime = ROOT / "plugin/native/runtime"
    sources = [ROOT / "bench/onnx_floor.cpp", runtime / "onnx_api.cpp"]
    floor = shared_library(folder, "floor", ["c++", "-std=c++17", f"-I{runtime}", *sources])
    floor.floor_open.restype = ctypes.c_void_p
    context = floor.floor_open(onnx_library().encode(), str(model).encode(), 38, 2)
    assert context, "the model opens"
    specs = [row.spec for row in FEATURES]
    return {
        "C function": lambda: function_runner(address(decide), specs, DECISION),
        "const:0": lambda: "const:0",
        "Python, reads nothing": lambda: constant,
        "Python, numpy view": lambda: view,
        "Python, numpy comparison": lambda: comparison,
        ONNX: lambda: f"onnx:{model}?map=x:*",
        FLOOR: lambda: function_runner(address(floor.floor_decide), specs, DECISION, context=context),
    }


def microseconds(path: Path, make: Make) -> float:
    """The mean time of a question over one compilation of the module."""
    with InlineAdvisor(make(), size_budget=0) as advisor:
        optimize(Module.read(path), "default<Oz>", [advisor])
        return advisor.stats.microseconds_per_decision


def bars(least: dict[str, float], ratio: float) -> list[Bar]:
    """What the figures may be."""
    return [
        Bar("a C function, µs per decision", least["C function"], 0.2),
        Bar("a Python policy with a numpy view, µs per decision", least["Python, numpy view"], 2),
        Bar("`onnx:`, a perceptron", ratio, 1.3, FLOOR),
    ]


def main() -> None:
    """Measure in turns, print the medians."""
    path = cache_home() / f"dev/bc/{PROGRAM}/Oz/whole.bc"
    with tempfile.TemporaryDirectory() as folder:
        runners = build(Path(folder))
        times: dict[str, list[float]] = {name: [] for name in runners}
        starts: dict[str, list[float]] = {}
        for _ in range(ROUNDS):
            time_starts(starts)
            for name, make in runners.items():
                times[name].append(microseconds(path, make))
    slower = slowness(starts)
    medians = {name: statistics.median(values) for name, values in times.items()}
    least = {name: min(values) / slower for name, values in times.items()}
    ratio = statistics.median(ours / floor for ours, floor in zip(times[ONNX], times[FLOOR], strict=True))
    table = Table(title=f"microseconds per decision, {PROGRAM} at Oz, median of {ROUNDS}")
    table.add_column("runner")
    table.add_column("µs", justify="right")
    table.add_column(f"least / {slower:.2f}", justify="right")
    for name, median in medians.items():
        table.add_row(name, f"{median:.3f}", f"{least[name]:.3f}")
    console = Console()
    console.print(table)
    console.print(f"ONNX against the C API alone, median of the rounds' ratios: {ratio:.2f}")
    results = ROOT / "bench/results"
    results.mkdir(exist_ok=True)
    data = {"us": medians, "slowness": slower, "onnx_ratio": ratio}
    (results / "decision.json").write_text(json.dumps(data, indent=1) + "\n")
    settle("decision", *bars(least, ratio))


if __name__ == "__main__":
    main()
