# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the C API from a C loop: nanoseconds per decision, by runner, next to onnxruntime's C API alone.

Prints a table and writes bench/results/c_api.json. A decision writes 38 numbers and evaluates once. The model
is a perceptron 38-64-64-2; onnxruntime alone runs it on one thread with an unchanged input. All run in turns.
Targets: 250 ns for a constant; 1.15 times onnxruntime alone for `onnx:`; 5 µs in Python.
"""

from __future__ import annotations

import ctypes
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

from passpilot.cli.aot import main as aot
from passpilot.plugin.toolchain import c_library
from passpilot.runners.native import onnx_library

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from bench.bars import Bar, settle  # noqa: E402
from bench.bench_decision import shared_library  # noqa: E402
from tests.plugin.native.c.client import CRunner  # noqa: E402
from tests.runners.aot.models import mlp  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS: Final = 9
CALLS: Final = 20_000
FEATURES: Final = {"x": ("float32", (1, 38))}
ALONE: Final = "onnxruntime's C API alone"

LOOP: Final = """
#include <passpilot.h>
#include <time.h>
enum { WIDTH = 38 };
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}
static void fill(float *x, int call) {
  for (int i = 0; i < WIDTH; ++i)
    x[i] = (float)((call + i) % 7);
}
double per_decision(passpilot_runner *r, int calls) {
  float *x = passpilot_runner_input(r, "x");
  passpilot_advice advice;
  double start = now();
  for (int call = 0; call < calls; ++call) {
    fill(x, call);
    if (passpilot_runner_evaluate(r, &advice))
      return -1;
  }
  return (now() - start) / calls;
}
double per_run(passpilot_evaluate run, void *context, float *x, int calls) {
  const void *inputs[1] = {x};
  int64_t out[2];
  double start = now();
  for (int call = 0; call < calls; ++call) {
    fill(x, call);
    if (run(context, inputs, out))
      return -1;
  }
  return (now() - start) / calls;
}
"""
POLICY: Final = """\
def constant(obs):
    return False

def view(obs):
    return obs["x"][0, 0] > 3
"""


def timers(folder: Path, model: Path) -> dict[str, Callable[[int], float]]:
    """The functions that measure a runner over a number of calls, by its name."""
    (folder / "loop.c").write_text(LOOP)
    (folder / "policy.py").write_text(POLICY)
    library = c_library()
    paths = (f"-I{library.parent / 'include'}", f"-Wl,-rpath,{library.parent}")
    command: list[str | Path] = ["cc", *paths, folder / "loop.c", library]
    loop = shared_library(folder, "loop", command)
    loop.per_decision.restype = loop.per_run.restype = ctypes.c_double
    loop.per_decision.argtypes = [ctypes.c_void_p, ctypes.c_int]
    loop.per_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
    aot([str(model), "-o", str(folder / "m.so"), "-mcpu=native"])
    specs = {
        "default": "default",
        "const:0": "const:0",
        "random:7": "random:7",
        "aot:": f"aot:{folder / 'm.so'}?as=logits",
        "onnx:": f"onnx:{model}?as=logits",
        "python:, a constant": f"python:{folder / 'policy.py'}:constant",
        "python:, reads a view": f"python:{folder / 'policy.py'}:view",
    }

    def timer(spec: str) -> Callable[[int], float]:
        made = CRunner(spec, FEATURES)
        return lambda calls: float(loop.per_decision(made.address, calls))

    return {name: timer(spec) for name, spec in specs.items()} | {ALONE: floor(folder, model, loop)}


def floor(folder: Path, model: Path, loop: ctypes.CDLL) -> Callable[[int], float]:
    """The function that measures the model in onnxruntime alone."""
    runtime = ROOT / "plugin/native/runtime"
    sources = [ROOT / "bench/onnx_floor.cpp", runtime / "onnx_api.cpp"]
    alone = shared_library(folder, "floor", ["c++", "-std=c++17", f"-I{runtime}", *sources])
    alone.floor_open.restype = alone.floor_input.restype = ctypes.c_void_p
    alone.floor_input.argtypes = [ctypes.c_void_p]
    context = alone.floor_open(onnx_library().encode(), str(model).encode(), 38, 2)
    assert context, "the model opens"
    x, run = alone.floor_input(context), ctypes.cast(alone.floor_decide, ctypes.c_void_p)
    return lambda calls: float(loop.per_run(run, context, x, calls))


def main() -> None:
    """Measure in turns, print the medians."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        model = folder / "m.onnx"
        model.write_bytes(mlp().SerializeToString())
        made = timers(folder, model)
        measured: dict[str, list[float]] = {name: [] for name in made}
        for calls in (100, *[CALLS] * ROUNDS):
            for name, timer in made.items():
                measured[name].append(timer(calls))
                assert measured[name][-1] >= 0, "each decision was answered"
        measured = {name: times[1:] for name, times in measured.items()}
    ratios = [a / b for a, b in zip(measured["onnx:"], measured[ALONE], strict=True)]
    table = Table(title=f"nanoseconds per decision from C, {ROUNDS} rounds of {CALLS}")
    for column in ("runner", "median", "least"):
        table.add_column(column, justify="left" if column == "runner" else "right")
    for name, times in measured.items():
        table.add_row(name, f"{statistics.median(times):.0f}", f"{min(times):.0f}")
    console = Console(width=100)
    console.print(table)
    console.print(f"onnx: to {ALONE}: {statistics.median(ratios):.3f}")
    results = {name: {"median": statistics.median(t), "least": min(t)} for name, t in measured.items()}
    results["ratio of onnx:"] = {"median": statistics.median(ratios), "least": min(ratios)}
    (ROOT / "bench/results").mkdir(exist_ok=True)
    (ROOT / "bench/results/c_api.json").write_text(json.dumps(results, indent=1) + "\n")
    medians = {name: row["median"] for name, row in results.items()}
    settle(
        "c_api",
        Bar("a constant from C, ns", medians["const:0"], 250),
        Bar("`onnx:` from C", medians["ratio of onnx:"], 1.15, "onnxruntime's C API"),
        Bar("a Python policy from C, µs", medians["python:, reads a view"] / 1e3, 5),
    )


if __name__ == "__main__":
    main()
