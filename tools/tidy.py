# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs clang-tidy on plugin/native, each file once per content.

usage: tools/tidy.py [FILE.cpp ...]

A file that was clean is left alone until it changes, or a header of ours that it includes, or its compile
command, or .clang-tidy: build/tidy/ has an empty file for each clean state. JOBS says how many run at a time.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
NATIVE: Final = ROOT / "plugin" / "native"
BUILD: Final = ROOT / "build" / "cmake"
CLEAN: Final = ROOT / "build" / "tidy"
TIDY: Final = Path(sys.executable).parent / "clang-tidy"


@cache
def closure(file: Path) -> frozenset[Path]:
    """The file and all of ours that it includes, themselves or through others."""
    names = re.findall(r'^#include "([^"]+)"', file.read_text(), re.MULTILINE)
    found = {(file.parent / name).resolve() for name in names}
    ours = {each for each in found if each.is_relative_to(NATIVE) and each.is_file()}
    return frozenset({file}.union(*(closure(each) for each in ours)))


def state(file: Path, command: str) -> str:
    """A name for all that the verdict on a file depends on."""
    digest = hashlib.sha256(f"{command}\n{(ROOT / '.clang-tidy').read_text()}".encode())
    for each in sorted(closure(file)):
        digest.update(each.read_bytes())
    return digest.hexdigest()[:32]


def check(file: Path, command: str) -> str:
    """What clang-tidy complains about; empty for a clean file."""
    stamp = CLEAN / state(file, command)
    if stamp.exists():
        return ""
    done = subprocess.run(
        [TIDY, "-p", BUILD, "--quiet", file], capture_output=True, text=True, check=False, cwd=ROOT
    )
    if done.returncode:
        return done.stdout or done.stderr
    stamp.touch()
    return ""


def main(names: list[str]) -> int:
    """Check the named files, or all; 1 if there are complaints."""
    CLEAN.mkdir(parents=True, exist_ok=True)
    commands = {
        Path(each["file"]): each["command"]
        for each in json.loads((BUILD / "compile_commands.json").read_text())
    }
    wanted = {Path(name).resolve() for name in names}
    files = sorted(
        file for file in commands if file.is_relative_to(NATIVE) and (not wanted or file in wanted)
    )
    jobs = int(os.environ.get("JOBS") or os.cpu_count() or 1)
    with ThreadPoolExecutor(jobs) as pool:
        complaints = [text for text in pool.map(lambda file: check(file, commands[file]), files) if text]
    print(*complaints, sep="", end="")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
