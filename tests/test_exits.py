# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""User's Python that would end the compiler: every door says where; exit code 1 and no output."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.toolchain import llvm_plugin, mlir_plugin
from tests.command import OPT, PASSPILOT, files_in, run

SOURCE: Final = """
import os, signal, sys
from dataclasses import dataclass
from passpilot import {kind}

def decide(obs):
    {how}

@{kind}.{decorator}
@dataclass(frozen=True)
class Leave:
    def run(self, _):
        {how}
"""
LLVM: Final = """target triple = "x86_64-pc-linux-gnu"
define internal i32 @g(i32 %x) {
  %y = add i32 %x, 1
  ret i32 %y
}
define i32 @f(i32 %x) {
  %y = call i32 @g(i32 %x)
  ret i32 %y
}
"""
MLIR: Final = """func.func private @g() { return }
func.func @f() {
  call @g() : () -> ()
  return
}
"""
C: Final = "static int g(int x) { return x + 1; }\nint f(int x) { return g(x); }\n"
BIN: Final = OPT.parent
DECIDE: Final = "python:user.py:decide"
MLIR_OPT: Final[tuple[str | Path, ...]] = (BIN / "mlir-opt", f"--load-pass-plugin={mlir_plugin()}")
DOORS: Final[dict[str, tuple[str | Path, ...]]] = {
    "opt": (PASSPILOT, "opt", "in.ll", "-O2", f"--inline={DECIDE}"),
    "opt, a pass": (PASSPILOT, "opt", "in.ll", "--load=user.py", "-passes=leave"),
    "stock opt": (OPT, f"-load-pass-plugin={llvm_plugin()}", "in.ll", "-O2", f"-passpilot-inline={DECIDE}"),
    "stock opt, a pass": (OPT, f"-load-pass-plugin={llvm_plugin()}", "in.ll", "-passes=leave"),
    "cc": (PASSPILOT, "cc", "-O2", "-c", "in.c", f"--inline={DECIDE}"),
    "mlir-opt": (PASSPILOT, "mlir-opt", "in.mlir", f"--inline={DECIDE}"),
    "mlir-opt, a pass": (PASSPILOT, "mlir-opt", "in.mlir", "--load=user.py"),
    "stock mlir-opt": (*MLIR_OPT, "in.mlir"),
    "stock mlir-opt, a pass": (*MLIR_OPT, "in.mlir"),
}
PIPELINES: Final = {
    "mlir-opt": "builtin.module(advised-inline)",
    "mlir-opt, a pass": "builtin.module(leave)",
    "stock mlir-opt": f"builtin.module(advised-inline{{runner={DECIDE}}})",
    "stock mlir-opt, a pass": "builtin.module(leave)",
}


CASES: Final = [
    *((door, "os._exit(0)") for door in DOORS),
    *((door, "sys.exit(0)") for door in DOORS if "pass" in door),
    *((door, "raise KeyboardInterrupt") for door in ("opt", "opt, a pass", "mlir-opt, a pass", "stock opt")),
    ("stock opt", "os.execv('/bin/true', ['true'])"),
    *((door, "__import__('posix')._exit(0)") for door in ("opt", "stock opt")),
]


@pytest.mark.parametrize(("door", "how"), CASES)
def test_the_place_is_told(door: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, decorator = ("mlir", 'pass_("leave")') if "mlir" in door else ("llvm", 'function_pass("leave")')
    (tmp_path / "user.py").write_text(SOURCE.format(kind=kind, decorator=decorator, how=how))
    for name, text in (("in.ll", LLVM), ("in.mlir", MLIR), ("in.c", C)):
        (tmp_path / name).write_text(text)
    if "stock" in door and "pass" in door:
        monkeypatch.setenv("PASSPILOT_LOAD", "user.py")
    pipeline = (f"--pass-pipeline={PIPELINES[door]}",) if door in PIPELINES else ()
    done = run(*DOORS[door], *pipeline, "-o", "out", cwd=tmp_path)
    assert (done.code, done.out) == (1, b"")
    line = 12 if "pass" in door else 6
    assert f"user.py:{line + 1})" in done.err
    assert "Traceback" not in done.err
    assert "out" not in files_in(tmp_path)


def test_a_child_of_a_policy_may_end_as_it_likes(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(LLVM)
    how = "child = os.fork()\n    if not child: os._exit(3)\n    return os.waitpid(child, 0)[1] == 3 << 8"
    (tmp_path / "user.py").write_text(f"import os\ndef decide(obs):\n    {how}\n")
    done = run(*DOORS["opt"], "-S", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert b"call" not in done.out


@pytest.mark.parametrize("door", ["opt", "stock opt", "mlir-opt", "stock mlir-opt", "cc"])
@pytest.mark.parametrize("text", ["os.chdir('other')\ndef decide(obs): return 1", "def decide(obs): {}"])
def test_another_folder_is_only_the_policys(door: str, text: str, tmp_path: Path) -> None:
    """A policy may go to the folder of its model when it is loaded or when it decides."""
    changes = "return os.path.exists('other') and os.chdir('other') or 1"
    (tmp_path / "user.py").write_text(f"import os\n{text.format(changes)}\n")
    (tmp_path / "other").mkdir()
    for name, source in (("in.ll", LLVM), ("in.mlir", MLIR), ("in.c", C)):
        (tmp_path / name).write_text(source)
    pipeline = (f"--pass-pipeline={PIPELINES[door]}",) if door in PIPELINES else ()
    logs = {"stock opt": "-passpilot-log=x.log", "cc": "--log=inline=x.log"}
    log = () if door == "stock mlir-opt" else (logs.get(door, "--log=x.log"),)
    done = run(*DOORS[door], *pipeline, *log, "-o", "out", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    made = {"out", *["x.log"][: len(log)]}
    assert set(files_in(tmp_path)) == {"in.c", "in.ll", "in.mlir", "other", "user.py"} | made
