# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts mistakes into the product, one at a time, and counts those that tests notice.

usage: python -m bench.sweeps.mutants [reach] [python] [native] [--count=N] [--budget=T] [--again] [--tests=T]

Python has 300 mutants, C++ (`native`) 40, unless --count says otherwise. For a mutant of Python, those tests
run that are known to execute it, and modules near to the file, until one fails that passes without the
mutant; `reach` runs the suite once to find out which tests execute which mutants. For one of C++, the core is
built, and the tests of the file's folder run. bench/results/mutants.jsonl has a line for every mutant. The
next call goes on; --again tries those again that survived, with --tests by these tests alone. A result
`equivalent`, with the reason, is written by hand: no test can notice the mutant.

The mistakes are put into this tree. A call that is ended takes its own out; the next call takes out that of
one that was killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import itertools
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

import psutil

from bench.lib import RESULTS, ROOT, command
from bench.sweeps import reach
from bench.sweeps.mutations import NATIVE, Mutant, files, ordered
from bench.sweeps.programs import duration

RECORD: Final = RESULTS / "mutants.jsonl"
SEED: Final = 22
COUNTS: Final = {"python": 300, "native": 40}
FEW: Final = 8
MOST: Final = 60
"""Tests that run first for a mutant, and of those that are known to execute its line."""
LONGEST: Final = 150.0
"""Seconds that a run of tests may take."""
MEMORY: Final = 6 << 30
_ORIGINAL: Final = reach.WORK / "original.json"
_SUBREAPER: Final = 36

NATIVE_TESTS: Final = {
    "allocator": ("tests/passes/allocator", "tests/passes/allocation"),
    "bindings": ("tests/plugin/ir", "tests/plugin", "tests/passes", "tests/features"),
    "c": ("tests/plugin/native/c", "tests/runners/test_c_api.py"),
    "hosted": ("tests/plugin/ir", "tests/passes", "tests/plugin", "tests/cli", "tests/training"),
    "launcher": ("tests/cli/cc", "tests/policies"),
    "llvm": ("tests/passes", "tests/plugin/native/stock", "tests/training/tuning"),
    "loaded": ("tests/plugin/native/stock", "tests/plugin/native/mlir", "tests/plugin/native/c"),
    "mlir": ("tests/plugin/native/mlir", "tests/passes/mlir"),
    "runtime": ("tests/runners", "tests/features/log", "tests/policies", "tests/passes", "tests/training"),
    "stock": ("tests/plugin/native/stock", "tests/policies", "tests/cli/cc"),
}
"""The tests of the folders of plugin/native."""


def main_loop(kind: str, count: int, ends: float, *, again: bool, tests: Sequence[str] = ()) -> None:
    """Try the sample's mutants that have no result, or those that survived."""
    rows = read()
    for mutant in itertools.islice(_sample(kind, rows), count):
        row = rows.get(mutant.key)
        wanted = row is not None and row["result"] == "survived" if again else row is None
        if not wanted or time.monotonic() > ends:
            continue
        began = time.monotonic()
        result, by = _tried(mutant, tests)
        rows[mutant.key] = {
            "key": mutant.key,
            "file": mutant.file,
            "line": mutant.line,
            "before": mutant.before,
            "after": mutant.after,
            "result": result,
            "by": by,
            "date": datetime.now(UTC).date().isoformat(),
        }
        write(rows)
        spent = time.monotonic() - began
        print(f"{result} {mutant.file}:{mutant.line} {mutant.after!r} {by} ({spent:.0f} s)", flush=True)


def _sample(kind: str, rows: dict[str, dict[str, Any]]) -> Iterator[Mutant]:
    """The mutants in the seed's order but those that do not compile; build/mutants keeps the sample."""
    path = reach.WORK / f"{kind}.json"
    tree = hashlib.sha256(b"".join((ROOT / file).read_bytes() for file in files(kind))).hexdigest()
    kept = json.loads(path.read_text()) if path.exists() else {}
    if kept.get("tree") != tree:
        most = COUNTS[kind] * (2 if kind == "native" else 1)  # not every one compiles
        found = [asdict(mutant) for mutant in itertools.islice(ordered(kind, SEED), most)]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(kept := {"tree": tree, "mutants": found}))
    for mutant in (Mutant(**row) for row in kept["mutants"]):
        row = rows.get(mutant.key)
        if row is None or row["result"] != "no code":
            yield mutant


def read() -> dict[str, dict[str, Any]]:
    lines = RECORD.read_text().splitlines() if RECORD.exists() else []
    return {row["key"]: row for row in map(json.loads, lines)}


def write(rows: dict[str, dict[str, Any]]) -> None:
    """Write the record, whole or not at all."""
    partial = RECORD.with_suffix(".partial")
    order = sorted(rows.values(), key=lambda row: (row["file"], row["line"], row["key"]))
    partial.write_text("".join(f"{json.dumps(row)}\n" for row in order))
    partial.replace(RECORD)


def _tried(mutant: Mutant, tests: Sequence[str]) -> tuple[str, str]:
    """`killed`, `survived` or `no code`, and the test that noticed it: it passes without the mutant."""
    native = mutant.file.startswith(NATIVE)
    near = [_native_tests(mutant.file)] if native else _python_tests(mutant)
    for batch in [tests] if tests else near:
        with _put_in(mutant):
            if native and not build():
                return "no code", ""
            failed = run_tests(batch)
        if failed and native:
            build()
        if failed and not run_tests([failed]):
            return "killed", failed.partition("[")[0]
    return "survived", ""


@contextlib.contextmanager
def _put_in(mutant: Mutant) -> Iterator[None]:
    """Have the mistake in the tree within the block."""
    path = ROOT / mutant.file
    status, text = path.stat(), path.read_text()
    _ORIGINAL.parent.mkdir(parents=True, exist_ok=True)
    _ORIGINAL.write_text(json.dumps({"file": mutant.file, "text": text}))
    try:
        path.write_text(mutant.text())
        if not mutant.file.startswith(NATIVE):
            # A time of its own: bytecode is taken for that of a file with the same time and size.
            os.utime(path, (status.st_atime, int(mutant.key[:7], 16)))
        yield
    finally:
        path.write_text(text)
        if not mutant.file.startswith(NATIVE):
            os.utime(path, (status.st_atime, status.st_mtime))
        _ORIGINAL.unlink()


def _python_tests(mutant: Mutant) -> Iterator[list[str]]:
    """The quick tests that are known to execute the line, near modules that nothing is known of, and more."""
    found = reach.reaching(mutant)
    # A process that was started with an empty environment has not noted what it executed.
    near = reach.near(mutant.file)
    yield from filter(None, (found[:FEW], near[:2], near[2:6], found[FEW:MOST], near[6:12], near[12:]))


def _native_tests(file: str) -> list[str]:
    """The tests of a file's folder, those first whose names share words with its name."""
    folder, stem = file.split("/")[2:4]
    names = set(stem.removesuffix(".cpp").split("_"))
    places = [place for tests in NATIVE_TESTS[folder] for place in reach.modules() if place.startswith(tests)]
    return sorted(dict.fromkeys(places), key=lambda module: -len(names & set(re.split(r"\W|_", module))))


def build() -> bool:
    """Build the core and put it where Python finds it; whether it compiles."""
    tool, folder = str(ROOT / ".venv/bin/cmake"), str(ROOT / "build/cmake")
    library = subprocess.check_output(
        [sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"], text=True
    ).strip()
    steps = (
        [tool, "--build", folder],
        [tool, "--install", folder, "--prefix", library, "--component", "Unspecified"],
    )
    if any(subprocess.run(step, capture_output=True, check=False).returncode for step in steps):
        return False
    launcher = ROOT / ".venv/bin/passpilot"
    if launcher.read_bytes() != (ROOT / "build/cmake/passpilot").read_bytes():
        launcher.unlink()
        launcher.write_bytes((ROOT / "build/cmake/passpilot").read_bytes())
        launcher.chmod(0o755)
    return True


def run_tests(nodes: Sequence[str]) -> str:
    """Run tests until one fails; returns its name, or nothing if none does within `LONGEST`."""
    lit = [node for node in nodes if node.startswith(reach.LIT)]
    rest = [node for node in nodes if node not in lit]
    if rest and (failed := _run([*reach.PYTEST, "-x", "-rfE", "--timeout=60", *rest])):
        return failed
    return _run([*reach.LIT_COMMAND, "--max-failures=1", *lit]) if lit else ""


def _run(command: Sequence[str]) -> str:
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True, preexec_fn=_limited,
    ) as child:  # fmt: skip
        try:
            out, _ = child.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            out = ""
        finally:
            _end_children()
    failed = re.search(r"^(?:FAILED|ERROR|FAIL:) (?:passpilot :: )?(.+?)(?: - | \(\d|$)", out, re.MULTILINE)
    if failed or not out or child.returncode in (0, 5):
        return failed[1] if failed else ""
    return command[-1]  # pytest itself has ended; this test tells whether it does so without the mutant


def _limited() -> None:
    """A mutant may not take the machine's memory."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def _end_children() -> None:
    """End the processes that tests have started and left, which belong to this one now."""
    for child in psutil.Process().children(recursive=True):
        child.kill()
    while True:
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        time.sleep(0.01)


def _take_out() -> None:
    """Take out the mistake of a call that was killed."""
    if _ORIGINAL.exists():
        original = json.loads(_ORIGINAL.read_text())
        (ROOT / original["file"]).write_text(original["text"])
        _ORIGINAL.unlink()


@command
def main(*kinds: str, count: int = 0, budget: str = "90m", again: bool = False, tests: str = "") -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # the first is ignored in a shell's background
        signal.signal(number, signal.default_int_handler)
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    _take_out()
    ends = time.monotonic() + duration(budget)
    for kind in kinds or COUNTS:
        if kind == "reach":
            reach.explore(list(itertools.islice(_sample("python", read()), COUNTS["python"])))
            continue
        main_loop(kind, count or COUNTS[kind], ends, again=again, tests=tests.split())
        if kind == "native":
            build()
