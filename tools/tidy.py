# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs clang-tidy on the files of plugin/native that changed since they were clean.

usage: tools/tidy.py [FILE.cpp ...]

tools/tidy.clean is the record: a line with a hash for each clean file. The hash covers the file, those of
our headers that it includes, and .clang-tidy, all without comments and spaces; so `make lint` on a fresh
checkout runs clang-tidy on nothing, and after an edit on what the edit reaches. A run that finds a file clean
updates the record: commit it. JOBS is the number of parallel processes.
"""

from __future__ import annotations

import hashlib
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
RECORD: Final = ROOT / "tools" / "tidy.clean"
TIDY: Final = Path(sys.executable).parent / "clang-tidy"
# A string or character constant is kept; a comment goes.
COMMENT: Final = re.compile(r'("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|//[^\n]*|/\*.*?\*/', re.DOTALL)


@cache
def closure(file: Path) -> frozenset[Path]:
    """The file and all of our headers that it includes, directly or indirectly."""
    found: set[Path] = {file}
    for name in re.findall(r'^#include "([^"]+)"', file.read_text(), re.MULTILINE):
        near = (file.parent / name, NATIVE / name, NATIVE / "include" / name)
        header = next((each.resolve() for each in near if each.is_file()), None)
        if header is not None and header.is_relative_to(NATIVE):
            found |= closure(header)
    return frozenset(found)


@cache
def contents(file: Path) -> bytes:
    """The file without comments and spaces."""
    return "".join(COMMENT.sub(r"\1", file.read_text()).split()).encode()


def state(file: Path) -> str:
    """A hash of everything in this repository that the verdict on a file depends on."""
    rules = "".join(
        line for line in (ROOT / ".clang-tidy").read_text().splitlines() if not line.startswith("#")
    )
    digest = hashlib.sha256(rules.encode())
    for each in sorted(closure(file)):
        digest.update(str(each.relative_to(ROOT)).encode() + b"\0" + contents(each))
    return digest.hexdigest()[:16]


def complaints(file: Path) -> str:
    """What clang-tidy says about the file; empty if it is clean."""
    done = subprocess.run(
        [TIDY, "-p", BUILD, "--quiet", file], capture_output=True, text=True, check=False, cwd=ROOT
    )
    return (done.stdout or done.stderr) if done.returncode else ""


def recorded() -> dict[str, str]:
    """The record: for each clean file its hash."""
    if not RECORD.exists():
        return {}
    pairs = (line.split() for line in RECORD.read_text().splitlines())
    return {name: clean for clean, name in pairs}


def main(names: list[str]) -> int:
    """Check the named files, or all of plugin/native; return 1 if there are complaints."""
    files = sorted(NATIVE.rglob("*.cpp"))
    states = {str(file.relative_to(ROOT)): state(file) for file in files}
    record = {name: clean for name, clean in recorded().items() if name in states}
    wanted = {str(Path(name).resolve().relative_to(ROOT)) for name in names} or set(states)
    changed = sorted(name for name in wanted if record.get(name) != states[name])
    with ThreadPoolExecutor(int(os.environ.get("JOBS") or os.cpu_count() or 1)) as pool:
        for name, text in zip(changed, pool.map(complaints, (ROOT / name for name in changed)), strict=True):
            print(text, end="", flush=True)
            if text:
                record.pop(name, None)
            else:
                record[name] = states[name]
            new = "".join(f"{clean} {name}\n" for name, clean in sorted(record.items()))
            RECORD.with_suffix(".new").write_text(new)
            RECORD.with_suffix(".new").replace(RECORD)
    return int(any(record.get(name) != states[name] for name in wanted))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
