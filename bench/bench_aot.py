# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares compiled models with onnxruntime: microseconds per answer, milliseconds from load to first answer.

Prints a table and writes bench/results/aot.json. One C loop calls onnxruntime's C API, one thread, and the
compiled model in turns, on the same random observations; `aot:` and `onnx:` are the runners in a compilation.
Targets: 0.4 times onnxruntime's time on the MLP 38-64-64-2 and on 100 trees; 5 ms to the first answer.
"""

from __future__ import annotations

import ctypes
import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from passpilot import InlineAdvisor, Module, name_columns, optimize
from passpilot.cli.aot import main as aot
from passpilot.features.llvm.inline import FEATURES as INLINE
from passpilot.plugin.toolchain import include_folder
from passpilot.runners.native import onnx_library

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from bench.bars import Bar, settle  # noqa: E402
from bench.bench_decision import shared_library  # noqa: E402
from tests.corpus.programs import cache_home  # noqa: E402
from tests.runners.aot.models import mlp  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx

ROUNDS: Final = 9
CALLS: Final = 4000
FEATURES: Final = 38
PROGRAM: Final = "lz4"

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
    made: onnx.ModelProto = to_onnx(forest, initial_types=[("x", FloatTensorType([None, FEATURES]))])
    made.graph.node[-1].output[0] = made.graph.output[0].name = "logits"
    return made


MODELS: Final[dict[str, tuple[Callable[[], onnx.ModelProto], int]]] = {
    "MLP 38-64-64-2, ReLU": (lambda: mlp(activation="Relu"), 2),
    "MLP 38-64-64-2, tanh": (lambda: mlp(activation="Tanh"), 2),
    "100 trees of depth 8": (trees, 1),
}


def raw(
    folder: Path, model: Path, outputs: int, c: ctypes.CDLL, floor: ctypes.CDLL
) -> dict[str, list[float]]:
    """Microseconds per round: onnxruntime's C API, the model compiled for any and for this processor."""
    rows = np.random.default_rng(1).normal(0, 1, (256, FEATURES)).astype("f4")
    opened = floor.floor_open(onnx_library().encode(), str(model).encode(), FEATURES, outputs)
    evaluate = ctypes.cast(floor.floor_decide, ctypes.c_void_p).value
    askers = {"onnxruntime": (evaluate, opened, floor.floor_input(opened))}
    own = np.zeros(FEATURES, "f4")
    for cpu in ("generic", "native"):
        path = folder / f"{model.stem}-{cpu}.so"
        aot([str(model), "-o", str(path), "-mcpu", cpu, f"--shape=x:1,{FEATURES}"])
        context = ctypes.c_void_p()
        evaluate = c.opened(str(path).encode(), ctypes.byref(context))
        askers[cpu] = (evaluate, context.value, own.ctypes.data)
    times: dict[str, list[float]] = {name: [] for name in askers}
    for _ in range(ROUNDS):
        for name, (function, context, place) in askers.items():
            seconds = c.per_call(function, context, place, rows.ctypes.data, CALLS)
            assert seconds > 0, "the model answers"
            times[name].append(seconds * 1e6)
    return times


def start_up(folder: Path, model: Path, c: ctypes.CDLL) -> float:
    """Milliseconds from loading a library, for the first time, to its first answer; the median."""
    row = np.ones(FEATURES, "f4")
    times: list[float] = []
    for number in range(ROUNDS):
        fresh = folder / f"fresh{number}.so"
        shutil.copy(folder / f"{model.stem}-native.so", fresh)
        times.append(c.first_answer(str(fresh).encode(), ctypes.c_void_p(row.ctypes.data)))
        fresh.unlink()
    return float(statistics.median(times) * 1e3)


def compiling(folder: Path, made: onnx.ModelProto) -> dict[str, list[float]]:
    """Microseconds per decision of each round, by the advisor's own clock, over one real module.

    The model is biased to say no: a module that grows is another module.
    """
    bias = next(each for each in made.graph.initializer if each.name == "b2")
    bias.raw_data = np.array([1e9, 0], "f4").tobytes()
    model, library = folder / "no.onnx", folder / "no.so"
    name_columns(made, [row.spec.name for row in INLINE])
    model.write_bytes(made.SerializeToString())
    aot([str(model), "-o", str(library), "-mcpu=native"])
    source = cache_home() / f"dev/bc/{PROGRAM}/Oz/whole.bc"
    times: dict[str, list[float]] = {"onnx:": [], "aot:": []}
    for _ in range(3):
        for scheme, path in (("onnx:", model), ("aot:", library)):
            with InlineAdvisor(f"{scheme}{path}?map=x:*&as=logits", size_budget=0) as advisor:
                optimize(Module.read(source), "default<Oz>", [advisor])
                times[scheme].append(advisor.stats.microseconds_per_decision)
    return times


def timers(folder: Path) -> tuple[ctypes.CDLL, ctypes.CDLL]:
    """The C loop, and onnxruntime's C API alone."""
    (folder / "timer.c").write_text(TIMER)
    c = shared_library(folder, "timer", ["cc", f"-I{include_folder()}", folder / "timer.c"])
    for function in (c.per_call, c.first_answer):
        function.restype = ctypes.c_double
    pointer = c.opened.restype = ctypes.c_void_p
    c.per_call.argtypes = [pointer, pointer, pointer, pointer, ctypes.c_int]
    runtime = ROOT / "plugin/native/runtime"
    sources = [ROOT / "bench/onnx_floor.cpp", runtime / "onnx_api.cpp"]
    floor = shared_library(folder, "floor", ["c++", "-std=c++17", f"-I{runtime}", *sources])
    floor.floor_open.restype = floor.floor_input.restype = pointer
    floor.floor_input.argtypes = [pointer]
    return c, floor


def ratio(times: dict[str, list[float]], ours: str, theirs: str) -> float:
    """The median of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(times[ours], times[theirs], strict=True))


def bars(results: dict[str, dict[str, float]]) -> list[Bar]:
    """What the figures of the models may be."""
    made = []
    for title, row in results.items():
        made.append(Bar(f"`aot:`, {title}", row["native_ratio"], 0.4, "onnxruntime's C API"))
        made.append(Bar(f"`aot:`, {title}, ms to the first answer", row["first_answer_ms"], 5))
    return made


def main() -> None:
    """Measure in turns, print the medians."""
    table = Table(title=f"microseconds per answer, median of {ROUNDS} rounds; ratios to onnxruntime's C API")
    columns = ("onnxruntime", "generic", "ratio", "native", "ratio", "first answer, ms", "compile, s")
    table.add_column("model")
    for column in columns:
        table.add_column(column, justify="right")
    results: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        c, floor = timers(folder)
        for number, (title, (make, outputs)) in enumerate(MODELS.items()):
            model = folder / f"model{number}.onnx"
            model.write_bytes(make().SerializeToString())
            began = time.perf_counter()
            aot([str(model), "-o", str(folder / "timed.so"), f"--shape=x:1,{FEATURES}"])
            seconds = time.perf_counter() - began
            times = raw(folder, model, outputs, c, floor)
            row = {key: statistics.median(values) for key, values in times.items()}
            row |= {f"{key}_least": min(values) for key, values in times.items()}
            row |= {f"{cpu}_ratio": ratio(times, cpu, "onnxruntime") for cpu in ("generic", "native")}
            row |= {"first_answer_ms": start_up(folder, model, c), "compile_s": seconds}
            if outputs == 2:
                inside = compiling(folder, make())
                row |= {key: statistics.median(values) for key, values in inside.items()}
                row["runner_ratio"] = ratio(inside, "aot:", "onnx:")
            results[title] = row
            keys = ("onnxruntime", "generic", "generic_ratio", "native", "native_ratio")
            cells = [f"{row[key]:.3f}" for key in (*keys, "first_answer_ms")]
            table.add_row(title, *cells, f"{seconds:.2f}")
    console = Console(width=120)
    console.print(table)
    for title, row in results.items():
        if "runner_ratio" in row:
            console.print(
                f"{title}, in opt on {PROGRAM}: onnx: {row['onnx:']:.2f} µs, aot: {row['aot:']:.2f} µs per "
                f"decision with all advising, ratio {row['runner_ratio']:.2f}"
            )
    (ROOT / "bench/results").mkdir(exist_ok=True)
    (ROOT / "bench/results/aot.json").write_text(json.dumps(results, indent=1) + "\n")
    settle("aot", *bars(results))


if __name__ == "__main__":
    main()
