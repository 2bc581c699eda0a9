# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which tests execute which lines of Python: test modules run once under coverage.py.

build/mutants/reach keeps the lines by test, one file for each test module, until the test module changes.
A child process records the test that started it, because pytest puts its name into the environment.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from bench.lib import ROOT
from bench.sweeps.mutations import PYTHON_ROOMS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORK: Final = ROOT / "build/mutants"
LEFT_OUT: Final = ("bench", "corpus", "docs", "install", "newcomer", "outside", "tools", "test_")
"""What stands behind `tests/` in tests that look at the tree, or at other projects."""
_SHORT: Final = 10.0
NEAREST: Final = 6
NEIGHBOURS: Final = 12
PYTEST: Final = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=300")
LIT: Final = "lit_tests/"
_LIT_FILES: Final = (f"{LIT}*.ll", f"{LIT}*.test", f":!{LIT}*Inputs*")
LIT_COMMAND: Final = (str(ROOT / ".venv/bin/lit"), "-q", "-j1", "--timeout=300")
_SETTINGS: Final = """\
[run]
source = passpilot,{rooms}
data_file = {folder}/data
parallel = true
patch = _exit, fork
dynamic_context = test_function
context = ${{PYTEST_CURRENT_TEST-}}
disable_warnings = couldnt-parse, module-not-imported, module-not-measured, no-data-collected
"""


@dataclass(frozen=True, slots=True)
class Reaching:
    """A test, or a whole module, that executes a line."""

    module: str
    node: str
    """What pytest calls it."""
    seconds: float


@cache
def modules() -> list[str]:
    """The test modules, and lit's tests, that may notice a mutant."""
    listed = subprocess.check_output(["git", "ls-files", "tests/*.py"], cwd=ROOT, text=True).split()
    kept = (file for file in listed if "/test_" in file)
    return [
        *(file for file in kept if not file.removeprefix("tests/").startswith(LEFT_OUT)),
        *subprocess.check_output(["git", "ls-files", *_LIT_FILES], cwd=ROOT, text=True).split(),
    ]


def digest(file: str) -> str:
    """A hash of a file."""
    return hashlib.sha256((ROOT / file).read_bytes()).hexdigest()[:12]


def known(module: str) -> dict[str, Any] | None:
    """What was found out about a test module, if that is still there."""
    path = _path(module)
    found: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
    return found if found and found["digest"] == digest(module) else None


def _path(module: str) -> Path:
    return WORK / "reach" / f"{module.removesuffix('.py').replace('/', '.')}.json"


def explore(module: str) -> dict[str, Any]:
    """Run a test module under coverage.py and keep what its tests execute."""
    folder = WORK / f"data-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    settings = folder / "settings"
    settings.write_text(_SETTINGS.format(rooms=",".join(PYTHON_ROOMS), folder=folder))
    began = time.monotonic()
    ran = subprocess.run(
        [*LIT_COMMAND, module]
        if module.startswith(LIT)
        else [*PYTEST, "-rf", "--durations=0", "--durations-min=0", module],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"COVERAGE_PROCESS_START": str(settings)},
    )
    durations: dict[str, float] = {}
    for seconds, test in re.findall(r"^([\d.]+)s \w+ +\S+?\.py::(\w+(?:::\w+)*)", ran.stdout, re.MULTILINE):
        durations[test] = round(durations.get(test, 0) + float(seconds), 2)
    lines = _lines(folder)
    found = {
        "digest": digest(module),
        "seconds": round(time.monotonic() - began, 1),
        "failed": sorted({_function(line) for line in re.findall(r"^FAILED (.*)", ran.stdout, re.MULTILINE)}),
        "durations": durations,
        "digests": {file: digest(file) for file in lines},
        "lines": lines,
    }
    _path(module).parent.mkdir(parents=True, exist_ok=True)
    _path(module).write_text(json.dumps(found))
    shutil.rmtree(folder)
    return found


def _lines(folder: Path) -> dict[str, dict[str, list[str]]]:
    """The tests by file and line; an empty name for what runs outside of any."""
    from coverage import CoverageData
    from coverage.exceptions import CoverageException

    found: dict[str, dict[str, set[str]]] = {}
    for path in folder.glob("data*"):
        data = CoverageData(basename=str(path))
        try:
            data.read()
        except CoverageException:
            continue  # a process was killed while it wrote
        for measured in data.measured_files():
            file = os.path.relpath(os.path.realpath(measured), ROOT)
            if file.split("/")[0] not in PYTHON_ROOMS:
                continue
            bodies = _bodies(file)
            for line, contexts in data.contexts_by_lineno(measured).items():
                if line in bodies:
                    tests = found.setdefault(file, {}).setdefault(str(line), set())
                    tests.update(_function(context) for context in contexts)
    return {
        file: {line: sorted(tests) for line, tests in sorted(rows.items())} for file, rows in found.items()
    }


def _bodies(file: str) -> set[int]:
    tree = ast.parse((ROOT / file).read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, kinds)
        for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1)
    }


def _function(context: str) -> str:
    """The test function that a context of coverage.py, or pytest's name of a test, names."""
    if "::" in context:
        return re.split(r"[\[ ]", re.sub(r"^.*?\.py::", "", context.split("|")[0]))[0]
    return context.rpartition(".")[2]


def explore_all(ends: float) -> None:
    """Run all modules that have changed since they ran, until the clock says `ends`."""
    for module in modules():
        if not known(module) and time.monotonic() < ends:
            print(f"{module}: {explore(module)['seconds']} s", flush=True)


def near(file: str) -> list[str]:
    """The modules that are nearest to a file, and more of the folder that mirrors its own."""
    found = sorted(modules(), key=lambda module: -_nearness(file, module))
    mirror = f"tests/{os.path.dirname(file)}"
    return [
        *found[:NEAREST],
        *[module for module in found[NEAREST:] if os.path.dirname(module) == mirror][:NEIGHBOURS],
    ]


def reaching(file: str, line: int) -> list[Reaching]:
    """The tests that are known to execute a line, the nearest and quickest first."""
    return sorted(_reaching(file, line), key=lambda test: (-_nearness(file, test.module), test.seconds))


def _reaching(file: str, line: int) -> Iterator[Reaching]:
    for module in modules():
        seen = known(module)
        if not seen or file not in seen["lines"]:
            continue
        rows: dict[str, list[str]] = seen["lines"][file]
        same = seen["digests"][file] == digest(file)
        tests = set(rows.get(str(line), ())) if same else {test for row in rows.values() for test in row}
        durations: dict[str, float] = seen["durations"]
        if "" in tests and not seen["failed"] and seen["seconds"] < _SHORT:
            yield Reaching(module, module, seen["seconds"])
            continue
        if "" in tests:  # a fixture executes the line
            tests |= set(durations)
        for test in tests - {"", *seen["failed"]}:
            yield Reaching(module, f"{module}::{test}", durations.get(test, 0.02) + 0.1)


@cache
def _nearness(file: str, module: str) -> int:
    """Whether a test module imports or names the file, and how many words the two paths share."""
    path = file.removesuffix(".py")
    words = set(re.split(r"\W|_", file)) & set(re.split(r"\W|_", module))
    imports = path.replace("/", ".") in (ROOT / module).read_text("utf-8", "replace")
    return 20 * imports + 10 * (path.rpartition("/")[2] in module) + len(words)
