# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which tests execute which mutants: the suite runs once with a probe in front of every mutant.

build/mutants/reach.json keeps the tests by mutant. A child process notes the test that started it, because
pytest puts its name into the environment.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from bench.lib import ROOT
from bench.sweeps.mutations import Mutant

WORK: Final = ROOT / "build/mutants"
LEFT_OUT: Final = ("bench", "corpus", "docs", "install", "newcomer", "outside", "tools", "test_")
"""What stands behind `tests/` in tests that look at the tree, or at other projects."""
NEAREST: Final = 6
NEIGHBOURS: Final = 12
EXAMPLES: Final = 3
"""Examples of one parametrized test that run before the other tests have run."""
PYTEST: Final = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=300")
LIT: Final = "lit_tests/"
_LIT_FILES: Final = (f"{LIT}*.ll", f"{LIT}*.test", f":!{LIT}*Inputs*")
LIT_COMMAND: Final = (str(ROOT / ".venv/bin/lit"), "-q", "-j1", "--timeout=300")
_KEPT: Final = WORK / "reach.json"
_NOTES: Final = WORK / "notes"
_PROBE: Final = f"""\
import os

SEEN = set()


def note(key):
    seen = (key, os.environ.get("PYTEST_CURRENT_TEST", ""))
    if seen not in SEEN:
        SEEN.add(seen)
        try:
            file = os.open({str(_NOTES)!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(file, ("\\t".join(seen) + "\\n").encode())
            os.close(file)
        except OSError:
            pass
"""


@cache
def modules() -> list[str]:
    """The test modules, and lit's tests, that may notice a mutant."""
    listed = subprocess.check_output(["git", "ls-files", "tests/*.py"], cwd=ROOT, text=True).split()
    kept = (file for file in listed if "/test_" in file)
    return [
        *(file for file in kept if not file.removeprefix("tests/").startswith(LEFT_OUT)),
        *subprocess.check_output(["git", "ls-files", *_LIT_FILES], cwd=ROOT, text=True).split(),
    ]


def explore(mutants: Sequence[Mutant]) -> None:
    """Run the tests with probes and keep which of them execute which mutants."""
    WORK.mkdir(parents=True, exist_ok=True)
    _NOTES.write_text("")
    with _probes(mutants):
        tests = [module for module in modules() if not module.startswith(LIT)]
        command = [*PYTEST, "-n", str(len(os.sched_getaffinity(0))), "--dist=worksteal", *tests]
        subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False)
        for test in set(modules()) - set(tests):
            environment = os.environ | {"PYTEST_CURRENT_TEST": f"{test} (call)"}
            subprocess.run([*LIT_COMMAND, test], cwd=ROOT, env=environment, check=False)
    found: dict[str, set[str]] = {mutant.key: set() for mutant in mutants}
    for line in _NOTES.read_text().splitlines():
        key, _, test = line.partition("\t")
        name, _, phase = test.rpartition(" ")
        if name:  # a fixture may be that of all tests of the module
            found[key].add(name.partition("::")[0] if phase == "(setup)" else name)
    _KEPT.write_text(json.dumps({key: sorted(names) for key, names in found.items()}))
    _read.cache_clear()


@contextlib.contextmanager
def _probes(mutants: Iterable[Mutant]) -> Iterator[None]:
    """Have a probe in front of the statement of every mutant within the block."""
    by_file = defaultdict(list)
    for mutant in mutants:
        by_file[mutant.file].append(mutant)
    library = subprocess.check_output(
        [sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"], text=True
    )
    probe = Path(library.strip()) / "_mutants_probe.py"
    old = {file: (ROOT / file).read_text() for file in by_file}
    try:
        probe.write_text(_PROBE)
        for file, inside in by_file.items():
            (ROOT / file).write_text(probed(old[file], [(mutant.line, mutant.key) for mutant in inside]))
        yield
    finally:
        for file, text in old.items():
            (ROOT / file).write_text(text)
        probe.unlink()


def probed(text: str, wanted: Iterable[tuple[int, str]]) -> str:
    """The text with a line in front of the statements at these lines, which notes their keys."""
    first: dict[int, int] = {}  # the line of the innermost statement that can stand behind another
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):  # outer ones come first
        if isinstance(node, ast.stmt):
            begin = min([node.lineno, *(mark.lineno for mark in getattr(node, "decorator_list", ()))])
            if not lines[node.lineno - 1].lstrip().startswith("elif"):
                first |= dict.fromkeys(range(begin, (node.end_lineno or begin) + 1), begin)
    for line, key in sorted(wanted, reverse=True):
        begin = first[line] - 1
        indent = re.match(r"\s*", lines[begin])
        assert indent
        lines[begin] = f'{indent[0]}__import__("_mutants_probe").note("{key}")\n{lines[begin]}'
    return "".join(lines)


@cache
def _read() -> dict[str, list[str]]:
    kept: dict[str, list[str]] = json.loads(_KEPT.read_text()) if _KEPT.exists() else {}
    return kept


def near(file: str) -> list[str]:
    """The modules that are nearest to a file, and more of the folder that mirrors its own."""
    found = sorted(modules(), key=lambda module: -_nearness(file, module))
    mirror = f"tests/{os.path.dirname(file)}"
    return [
        *found[:NEAREST],
        *[module for module in found[NEAREST:] if os.path.dirname(module) == mirror][:NEIGHBOURS],
    ]


def reaching(mutant: Mutant) -> list[str]:
    """The tests that are known to execute a mutant, the nearest first, and most examples of one test last."""
    tests = sorted(
        _read().get(mutant.key, ()), key=lambda test: -_nearness(mutant.file, test.partition("::")[0])
    )
    seen: Counter[str] = Counter()
    late: dict[str, bool] = {}
    for test in tests:
        name = test.partition("[")[0]
        seen[name] += 1
        late[test] = seen[name] > EXAMPLES
    return sorted(tests, key=late.__getitem__)


@cache
def _nearness(file: str, module: str) -> int:
    """Whether a test module imports or names the file, and how many words the two paths share."""
    path = file.removesuffix(".py")
    words = set(re.split(r"\W|_", file)) & set(re.split(r"\W|_", module))
    imports = path.replace("/", ".") in (ROOT / module).read_text("utf-8", "replace")
    return 20 * imports + 10 * (path.rpartition("/")[2] in module) + len(words)
