# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The frames that gdb and lldb print of a program at its faults, and of core files written there."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

PATIENCE: Final = 600.0
AT_FAULTS: Final = """
import gdb
def frames(title):
    print("AT", title)
    frame = gdb.newest_frame()
    while frame is not None:
        print("FRAME", gdb.execute("info symbol %d" % frame.pc(), to_string=True).partition(" in section")[0])
        frame = frame.older()
def silent(text):
    gdb.execute(text, to_string=True)
for text in ("set confirm off", "set pagination off", "set debuginfod enabled off", "set width 0"):
    silent(text)
for signal in ("SIGSEGV", "SIGFPE", "SIGILL", "SIGBUS"):
    silent("handle %s stop pass" % signal)
"""
RUN: Final = """
silent("run > /dev/null")
number = 0
while gdb.selected_inferior().pid:
    frames("live")
    if number < 3:
        silent("generate-core-file core.%d" % number)
    number += 1
    silent("continue")
"""
CORES: Final = """
import os
number = 0
while os.path.exists("core.%d" % number):
    silent("core-file core.%d" % number)
    frames("core")
    number += 1
"""
LLDB: Final = ("-b", "-x", "-o", "settings set symbols.enable-external-lookup false")
FORM: Final = "settings set frame-format 'FRAME ${function.name-without-args} ${function.pc-offset}\\n'"


def missing() -> str:
    """What must be installed first, or nothing."""
    library = subprocess.run(["pkg-config", "--exists", "libunwind"], check=False).returncode == 0
    if library and shutil.which("gdb") and shutil.which("lldb-22"):
        return ""
    return "expected gdb, lldb-22 and libunwind; apt-get install gdb lldb-22 libunwind-dev"


def backtraces(program: Path) -> dict[str, list[str]]:
    """All frames of all faults of a program by gdb, and those of gdb and of lldb in core files of three.

    The core files are removed.
    """
    folder = program.parent
    live = _gdb(program, RUN)
    cores = sorted(folder.glob("core.*"), key=lambda path: int(path.suffix[1:]))
    try:
        words = [
            word for core in cores for word in ("-o", f"target create {program.name} --core {core.name}")
        ]
        words = [each for word in words for each in ((word,) if word == "-o" else (word, "-o", "bt"))]
        lldb = _run(["lldb-22", *LLDB, "-o", FORM, *words], folder)
        return {"gdb": live, "gdb, core": _gdb(program, CORES), "lldb, core": _frames(lldb)}
    finally:
        for core in cores:
            core.unlink()


def _gdb(program: Path, script: str) -> list[str]:
    (program.parent / "frames.py").write_text(AT_FAULTS + script)
    return _frames(_run(["gdb", "-nx", "-batch", "-x", "frames.py", program.name], program.parent))


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, (command, done.returncode, done.stderr[-1000:])
    return done.stdout


def _frames(text: str) -> list[str]:
    return re.findall(r"^\s*\*?\s*(?:FRAME|AT) ?(.*)$", text, re.MULTILINE)
