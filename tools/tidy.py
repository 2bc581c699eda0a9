# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs clang-tidy on the files of plugin/native that changed since they were clean.

usage: tools/tidy.py [FILE.cpp ...]

tools/tidy.clean is the record: a line for each clean file with a hash of its text without comments and
spaces. So `make lint` on a fresh checkout runs clang-tidy on nothing, and after an edit on the edited files.
A header is checked with one source file that includes it. A run that finds a file clean updates the record:
commit it. After a change of .clang-tidy delete the record. JOBS is the number of parallel processes.
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
        header = next((path.resolve() for path in near if path.is_file()), None)
        if header is not None and header.is_relative_to(NATIVE):
            found |= closure(header)
    return frozenset(found)


def state(file: Path) -> str:
    """A hash of the file without comments and spaces."""
    text = "".join(COMMENT.sub(r"\1", file.read_text()).split())
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def checked_by(file: Path, sources: list[Path]) -> Path:
    """The source file whose check covers the file: itself, or for a header one that includes it."""
    if file.suffix == ".cpp":
        return file
    own = file.with_suffix(".cpp")
    return own if own in sources else next(source for source in sources if file in closure(source))


def complaints(file: Path) -> str:
    done = subprocess.run(
        [TIDY, "-p", BUILD, "--quiet", file], capture_output=True, text=True, check=False, cwd=ROOT
    )
    return (done.stdout or done.stderr) if done.returncode else ""


def recorded() -> dict[str, str]:
    if not RECORD.exists():
        return {}
    pairs = (line.split() for line in RECORD.read_text().splitlines())
    return {name: clean for clean, name in pairs}


def write(record: dict[str, str]) -> None:
    new = RECORD.with_suffix(".new")
    new.write_text("".join(f"{clean} {name}\n" for name, clean in sorted(record.items())))
    new.replace(RECORD)


def main(names: list[str]) -> int:
    """Check the named files, or all of plugin/native; return 1 if there are complaints."""
    sources = sorted(NATIVE.rglob("*.cpp"))
    headers = sorted(set().union(*map(closure, sources)) - set(sources))
    states = {str(file.relative_to(ROOT)): state(file) for file in (*sources, *headers)}
    record = {name: clean for name, clean in recorded().items() if name in states}
    wanted = {str(Path(name).resolve().relative_to(ROOT)) for name in names} or set(states)
    covered: dict[Path, list[str]] = {}
    for name in sorted(wanted):
        if record.get(name) != states[name]:
            covered.setdefault(checked_by(ROOT / name, sources), []).append(name)
    failed = False
    with ThreadPoolExecutor(int(os.environ.get("JOBS") or os.cpu_count() or 1)) as pool:
        for changed, text in zip(covered.values(), pool.map(complaints, covered), strict=True):
            print(text, end="", flush=True)
            failed |= bool(text)
            if not text:
                record.update({name: states[name] for name in changed})
                write(record)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
