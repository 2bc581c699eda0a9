# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the C API from a C loop: nanoseconds per decision, by runner, next to onnxruntime's C API alone.

A decision writes 38 numbers and evaluates once. The model is a perceptron 38-64-64-2; onnxruntime alone runs
it on one thread with an unchanged input. All run in turns. Targets: 250 ns for a constant; 1.15 times
onnxruntime alone for `onnx:`; 5 µs in Python.
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from bench.lib import Bar, command, in_turns, least, medians, ratio, settle, show
from bench.lib.models import ahead_of_time
from bench.lib.native import Floor, c_library
from passpilot.plugin.toolchain import c_library as passpilot_c
from tests.plugin.native.c.client import CRunner
from tests.runners.aot.models import mlp

ROUNDS: Final = 9
CALLS: Final = 20_000
FEATURES: Final = {"x": ("float32", (1, 38))}
ALONE: Final = "onnxruntime's C API alone"
VIEW: Final = "python:, reads a view"

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


def timers(folder: Path) -> dict[str, Callable[[int], float]]:
    """The functions that measure a runner over a number of calls, by its name."""
    (folder / "policy.py").write_text(POLICY)
    model, library = folder / "m.onnx", passpilot_c()
    model.write_bytes(mlp().SerializeToString())
    paths = (f"-I{library.parent / 'include'}", f"-Wl,-rpath,{library.parent}")
    loop = c_library(folder / "loop.so", LOOP, *paths, library)
    pointer, number = ctypes.c_void_p, ctypes.c_int
    loop.per_decision.restype = loop.per_run.restype = ctypes.c_double
    loop.per_decision.argtypes, loop.per_run.argtypes = [pointer, number], [pointer, pointer, pointer, number]
    specs = {
        "default": "default",
        "const:0": "const:0",
        "random:7": "random:7",
        "aot:": f"aot:{ahead_of_time(model)}?as=logits",
        "onnx:": f"onnx:{model}?as=logits",
        "python:, a constant": f"python:{folder / 'policy.py'}:constant",
        VIEW: f"python:{folder / 'policy.py'}:view",
    }
    floor = Floor(folder / "floor.so", model)

    def timer(spec: str) -> Callable[[int], float]:
        runner = CRunner(spec, FEATURES)
        return lambda calls: float(loop.per_decision(runner.address, calls))

    alone = partial(loop.per_run, floor.function, floor.context, floor.input)
    return {**{name: timer(spec) for name, spec in specs.items()}, ALONE: alone}


@command
def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        loops = timers(Path(folder))
        in_turns({name: partial(timer, 100) for name, timer in loops.items()}, 1)
        times = in_turns({name: partial(timer, CALLS) for name, timer in loops.items()}, ROUNDS)
    middle, fastest = medians(times), least(times)
    assert min(fastest.values()) >= 0, "each decision was answered"
    rows = {name: {"median": middle[name], "least": fastest[name]} for name in loops}
    show(f"nanoseconds per decision from C, {ROUNDS} rounds of {CALLS}", "runner", rows)
    settle(
        Bar("a constant from C, ns", middle["const:0"], 250),
        Bar("`onnx:` from C", ratio(times["onnx:"], times[ALONE]), 1.15, "onnxruntime's C API"),
        Bar("a Python policy from C, µs", middle[VIEW] / 1e3, 5),
    )
