# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares compiled models with onnxruntime: microseconds per answer, milliseconds from load to first answer.

One C loop calls onnxruntime's C API, one thread, and the compiled model in turns, on the same random
observations; `aot:` and `onnx:` are the runners in a compilation. Targets: 0.4 times onnxruntime's time on
the MLP 38-64-64-2 and on 100 trees; 5 ms to the first answer.
"""

from __future__ import annotations

import ctypes
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import onnx

from bench.lib import Bar, command, in_turns, medians, ratio, settle, show
from bench.lib.corpus import built
from bench.lib.models import ahead_of_time, refusing
from bench.lib.native import Floor, c_library
from passpilot import InlineAdvisor, Module, name_columns, optimize
from passpilot.features.llvm.inline import FEATURES as INLINE
from passpilot.plugin.toolchain import include_folder
from tests.runners.aot.models import mlp

ROUNDS: Final = 9
CALLS: Final = 4000
FEATURES: Final = 38
PROGRAM: Final = "lz4"
FLOOR: Final = "onnxruntime"

TIMER: Final = """
#include <dlfcn.h>
#include <passpilot_model.h>
#include <string.h>
#include <time.h>
enum { WIDTH = 38, ROWS = 256 };
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}
double per_call(passpilot_evaluate f, void *context, float *input, const float *rows, int calls) {
  double out[16];
  const void *inputs[1] = {input};
  double start = now();
  for (int i = 0; i < calls; ++i) {
    memcpy(input, rows + (i % ROWS) * WIDTH, sizeof(float) * WIDTH);
    if (f(context, inputs, out))
      return -1;
  }
  return (now() - start) / calls;
}
/* The function to call of a compiled model, which stays loaded, and its context. */
void *opened(const char *path, void **context) {
  const passpilot_model *m = dlsym(dlopen(path, RTLD_NOW | RTLD_LOCAL), "passpilot_policy");
  *context = m->create();
  return (void *)m->evaluate;
}
double first_answer(const char *path, float *input) {
  double out[16];
  const void *inputs[1] = {input};
  double start = now();
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const passpilot_model *m = library ? dlsym(library, "passpilot_policy") : 0;
  void *context = m ? m->create() : 0;
  if (!context || m->evaluate(context, inputs, out))
    return -1;
  double seconds = now() - start;
  m->destroy(context);
  dlclose(library);
  return seconds;
}
"""


def trees() -> onnx.ModelProto:
    """A random forest of 100 trees, fitted on noise."""
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType
    from sklearn.ensemble import RandomForestRegressor

    random = np.random.default_rng(0)
    x = random.normal(0, 1, (2000, FEATURES)).astype("f4")
    y = x[:, 0] * x[:, 1] + np.sin(x[:, 2]) + random.normal(0, 0.3, 2000)
    forest = RandomForestRegressor(100, max_depth=8, random_state=0).fit(x, y)
    model: onnx.ModelProto = to_onnx(forest, initial_types=[("x", FloatTensorType([None, FEATURES]))])
    model.graph.node[-1].output[0] = model.graph.output[0].name = "logits"
    return model


MODELS: Final[dict[str, tuple[Callable[[], onnx.ModelProto], int]]] = {
    "MLP 38-64-64-2, ReLU": (lambda: mlp(activation="Relu"), 2),
    "MLP 38-64-64-2, tanh": (lambda: mlp(activation="Tanh"), 2),
    "100 trees of depth 8": (trees, 1),
}


def loops() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        c = c_library(Path(folder, "timer.so"), TIMER, f"-I{include_folder()}")
    c.per_call.restype = c.first_answer.restype = ctypes.c_double
    pointer = c.opened.restype = ctypes.c_void_p
    c.per_call.argtypes = [pointer, pointer, pointer, pointer, ctypes.c_int]
    return c


def alone(model: Path, outputs: int, c: ctypes.CDLL) -> tuple[dict[str, list[float]], float]:
    """Microseconds per round: onnxruntime's C API, the model compiled for any and for this processor.

    And the seconds to compile it for any.
    """
    rows = np.random.default_rng(1).normal(0, 1, (256, FEATURES)).astype("f4")
    floor, own = Floor(model.with_suffix(".floor.so"), model, FEATURES, outputs), np.zeros(FEATURES, "f4")
    askers = {FLOOR: (floor.function, floor.context, floor.input)}
    seconds = []
    for cpu in ("generic", "native"):
        began = time.perf_counter()
        library = ahead_of_time(model, "-mcpu", cpu, f"--shape=x:1,{FEATURES}")
        seconds.append(time.perf_counter() - began)
        context = ctypes.c_void_p()
        evaluate = c.opened(
            str(library.rename(model.with_suffix(f".{cpu}.so"))).encode(), ctypes.byref(context)
        )
        askers[cpu] = (evaluate, context.value or 0, own.ctypes.data)

    def microseconds(function: int, context: int, place: int) -> float:
        taken = c.per_call(function, context, place, rows.ctypes.data, CALLS)
        assert taken > 0, "the model answers"
        return float(taken * 1e6)

    return in_turns({name: partial(microseconds, *asker) for name, asker in askers.items()}, ROUNDS), seconds[
        0
    ]


def first_answer(library: Path, c: ctypes.CDLL) -> float:
    """Milliseconds from loading a library, for the first time, to its first answer; the median."""
    row = np.ones(FEATURES, "f4")
    times: list[float] = []
    for number in range(ROUNDS):
        fresh = Path(shutil.copy(library, library.with_name(f"fresh{number}.so")))
        times.append(c.first_answer(str(fresh).encode(), ctypes.c_void_p(row.ctypes.data)))
        fresh.unlink()
    return statistics.median(times) * 1e3


def in_compilation(folder: Path, model: onnx.ModelProto) -> dict[str, list[float]]:
    """Microseconds per decision of each round, by the advisor's own clock, over one real module.

    The model says no: a module that grows is another module.
    """
    path = folder / "no.onnx"
    name_columns(refusing(model), [row.spec.name for row in INLINE])
    path.write_bytes(model.SerializeToString())
    source = built([PROGRAM])[0].whole("Oz")

    def microseconds(runner: str) -> float:
        with InlineAdvisor(f"{runner}?map=x:*&as=logits", size_budget=0) as advisor:
            optimize(Module.read(source), "default<Oz>", [advisor])
            return advisor.stats.microseconds_per_decision

    specs = {"onnx:": f"onnx:{path}", "aot:": f"aot:{ahead_of_time(path)}"}
    return in_turns({name: partial(microseconds, spec) for name, spec in specs.items()}, 3)


@command
def main() -> None:
    rows: dict[str, dict[str, float]] = {}
    c = loops()
    with tempfile.TemporaryDirectory() as name:
        for number, (title, (make, outputs)) in enumerate(MODELS.items()):
            model = Path(name, f"model{number}.onnx")
            model.write_bytes(make().SerializeToString())
            times, seconds = alone(model, outputs, c)
            row = rows[title] = medians(times)
            row |= {f"{cpu}, ratio": ratio(times[cpu], times[FLOOR]) for cpu in ("generic", "native")}
            row["first answer, ms"] = first_answer(model.with_suffix(".native.so"), c)
            row["compile, s"] = seconds
            if outputs == 2:
                inside = in_compilation(Path(name), make())
                row |= {f"{scheme} in opt": value for scheme, value in medians(inside).items()}
                row["ratio in opt"] = ratio(inside["aot:"], inside["onnx:"])
    show(f"µs per answer, medians of {ROUNDS} rounds; ratios to onnxruntime's C API", "model", rows)
    bars = []
    for title, row in rows.items():
        bars.append(Bar(f"`aot:`, {title}", row["native, ratio"], 0.4, "onnxruntime's C API"))
        bars.append(Bar(f"`aot:`, {title}, ms to the first answer", row["first answer, ms"], 5))
    settle(*bars)
