# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All commands of passpilot, and stock tools with the plugin, as somebody uses them in one folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from passpilot.features.point import find_point
from passpilot.plugin.toolchain import llvm_plugin
from tests.command import OPT, PASSPILOT

_TRIED: Final = 'modules = ["once.bc"]\nvalidation = ["main.bc"]\n'
FILES: Final = {
    "main.c": "int once(int); int main(int n, char **v) { return once(n) + once(n + 1) - 2 * n - 1; }\n",
    "once.c": "static int same(int x) { return x; }\nint once(int x) { return same(x); }\n",
    "calls.mlir": "func.func private @f(%x: i64) -> i64 { return %x : i64 }\n"
    "func.func @g(%x: i64) -> i64 {\n  %y = call @f(%x) : (i64) -> i64\n  return %y : i64\n}\n",
    "imitate.toml": 'policy = "trees"\n[data]\ntrain = ["data/train"]\nvalidation = ["data/train"]\n'
    "[trees]\nrounds = 2\n",
    "evolve.toml": f"{_TRIED}iterations = 1\npopulation = 4\n",
    "ppo.toml": f"{_TRIED}steps = 64\nenvironments = 1\n",
    "dqn.toml": f"{_TRIED}steps = 64\nenvironments = 1\n",
}
_NAMES: Final = ",".join(feature.name for feature in find_point("inline").features[:38])
ONNX: Final = f"onnx:model.onnx?map=x:{_NAMES}&output=action"
"""A runner for `model.onnx`."""
FAST: Final = 4
"""The first commands of `advised`, of which the last two ask."""
MODEL: Final = Path(__file__).parents[1] / "runners/models/actor-13.onnx"


def prepare(folder: Path) -> None:
    """Write what the commands read."""
    for name, text in FILES.items():
        folder.joinpath(name).write_text(text)
    shutil.copy(MODEL, folder / "model.onnx")


def advised(folder: Path, spec: str) -> Iterator[list[str]]:
    """The commands that ask a runner at `inline`, by its spec; some read what others have written."""
    ours, stock = str(PASSPILOT), str(OPT.parent)
    passes = "-passes=default<O2>"  # which stock opt has in every version
    for name in ("once", "main"):
        flags = ("-O2", "-Xclang", "-disable-llvm-passes", "-c", "-emit-llvm")
        yield [f"{stock}/clang", *flags, f"{name}.c", "-o", f"{name}.bc"]
    yield [ours, "opt", "once.bc", passes, f"--inline={spec}", "--stats", "--log=opt.log", "-o", "opt.bc"]
    yield [ours, "cc", f"--inline={spec}", "--stats", "--log=cc.log", "-Oz", "-c", "once.c", "-o", "cc.o"]
    yield [ours, "c++", f"--inline={spec}", "-Oz", "-xc++", "-c", "once.c", "-o", "cxx.o"]
    yield [
        ours,
        "mlir-opt",
        "calls.mlir",
        f"--inline={spec}",
        "--stats",
        "--log=m.log",
        "--pass-pipeline=builtin.module(advised-inline)",
    ]
    yield [
        ours,
        "attach",
        f"--inline={spec}",
        "--stats",
        "--",
        f"{stock}/opt",
        passes,
        "once.bc",
        "-o",
        "at.bc",
    ]
    yield [ours, "compare", "--inline=default", f"--inline={spec}", "once.bc"]
    plugin = f"-load-pass-plugin={llvm_plugin()}"
    advice = (f"-passpilot-inline={spec}", "-passpilot-stats", "-passpilot-log=stock.log")
    yield [f"{stock}/opt", plugin, passes, *advice, "once.bc", "-o", "stock.bc"]
    yield [ours, "cc", f"--record={folder}/recording", "-Oz", "main.c", "once.c", "-o", "program"]
    yield [ours, "corpus", "extract", "--recording=recording", "-o", "corpus"]
    outputs = ("-o", "eval.json", "--markdown=eval.md", "--html=eval.html")
    yield [ours, "eval", "--corpus=corpus", "--baselines=-Oz", f"--contender={spec}", "--rounds=0", *outputs]
    yield [ours, "log", "show", "opt.log"]
    yield [ours, "report", "opt.log", "eval.json", "-o", "page.html"]


def other() -> Iterator[list[str]]:
    """The commands that ask no runner."""
    ours, stock = str(PASSPILOT), str(OPT.parent)
    yield [ours, "opt", "once.bc", "-passes=default<Oz>", f"--inline={ONNX}", "-o", "onnx.bc"]
    loaded = (f"-fpass-plugin={llvm_plugin()}", "-Xclang", "-load", "-Xclang", str(llvm_plugin()))
    advice = ("-mllvm", f"-passpilot-inline={ONNX}")
    yield [f"{stock}/clang", *loaded, *advice, "-Oz", "-c", "once.c", "-o", "clang.o"]
    yield [ours, "llc", "opt.bc", "--evict=random:1", "-filetype=obj", "-o", "llc.o"]
    yield [ours, "aot", "model.onnx", "-o", "model.so"]
    yield [ours, "corpus", "verify", "corpus"]
    yield [ours, "tune", "once.bc", "--compiles=3", "-o", "once.decisions", "--result=tune.json"]
    yield [ours, "train", "data", "once.bc", "--teacher=default", "-o", "data"]
    for name in ("policies", "features", "plugin-path", "doctor"):
        yield [ours, name]
    yield [
        f"{stock}/llc",
        f"-load={llvm_plugin()}",
        "-passpilot-evict=random:1",
        "opt.bc",
        "-filetype=obj",
        "-o",
        "l.o",
    ]


def learning() -> Iterator[list[str]]:
    """The commands that take longer."""
    ours = str(PASSPILOT)
    yield [ours, "train", "data", "once.bc", "--teacher=default", "-o", "data"]
    agents = ("ppo", "dqn") if find_spec("torch") else ()
    for name in ("imitate", "evolve", *agents):
        yield [ours, "train", name, f"{name}.toml", "-o", name]


def environment(folder: Path, **more: str) -> dict[str, str]:
    """A shell's variables, with a home, a cache and a temporary folder below `folder`."""
    for name in ("home", "cache", "temporary"):
        folder.joinpath(name).mkdir(exist_ok=True)
    own = {"HOME": folder / "home", "XDG_CACHE_HOME": folder / "cache", "TMPDIR": folder / "temporary"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PASSPILOT", "XDG"))}
    return {**kept, **{name: str(path) for name, path in own.items()}, **more}
