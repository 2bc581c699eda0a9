# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`run_tests`: a package's own tests, as Debian's build runs them, and `TestRun`, what they said."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

from passpilot.training.corpus.debian.package import DebianBuild, in_source

PLANNED: Final = re.compile(
    rb'^(?:dh: command-omitted: The call to "|   )((?:debian/rules override_)?dh_auto_test[^"\n]*)',
    re.MULTILINE,
)
"""What dh prints where it would run the tests; the build leaves them out."""

SCRIPT: Final = r"printf 'include debian/rules\nrun-the-tests:\n\t%s\n' '{command}' | make -f - run-the-tests"
"""Within debian/rules, whose variables the tests may need."""

PASSED: Final = re.compile(
    rb"^(?:PASS: .+|ok +\d+.*| *\d+/\d+ +\S.* (?:Passed|OK) .*|\[ +OK \] .+|test .+ \.\.\. ok)$", re.MULTILINE
)
"""A line about a test that passes, by automake, TAP, ctest, meson, googletest or unittest."""

COUNTED: Final = (
    re.compile(rb"tests passed, \d+ tests failed out of (\d+)$", re.MULTILINE),  # ctest
    re.compile(rb"^# (?:PASS|XFAIL): +(\d+)$", re.MULTILINE),  # automake
    re.compile(rb"^(?:Ok|OK): +(\d+) *$", re.MULTILINE),  # meson
    re.compile(rb"^Files=\d+, Tests=(\d+),", re.MULTILINE),  # prove
    re.compile(rb"^# of expected passes\s+(\d+)$", re.MULTILINE),  # dejagnu
    re.compile(rb"^(?:100%|\d+%): Checks: (\d+), ", re.MULTILINE),  # check
    re.compile(rb"^=+ (\d+) passed", re.MULTILINE),  # pytest
    re.compile(rb"^Ran (\d+) tests? in", re.MULTILINE),  # unittest
    re.compile(rb"^OK \((\d+)(?: tests?)?\)", re.MULTILINE),  # cppunit
    re.compile(rb"\btest cases: +(\d+) ", re.MULTILINE),  # catch2, doctest
    re.compile(rb"\b[Aa]ll (\d+) tests passed", re.MULTILINE),
)
"""How runners that name no tests count them; the first that matches counts."""

_TIME: Final = re.compile(rb"\(?\b\d+(?:\.\d+)? ?(?:ms|s|sec|seconds)\b\)?")
_OF_THE_BUILD: Final = re.compile(
    rb"\s|make|dh|ninja|No tests|Test project|echo |printf |libtool|if |for |"
    rb"\[ *\d+%|(?:\S+/)?(?:cc|gcc|[cg]\+\+|ar|rm|cd|mkdir) "
)
"""How lines begin that make, cmake, meson and dh print."""


@dataclass(frozen=True, slots=True)
class TestRun:
    """What a run of the tests said.

    Attributes:
        is_good: whether it ended as if all is well.
        passed: tests that passed, by their lines without times.
        count: how many passed; 1 if a suite printed something that names and counts none.
    """

    __test__ = False

    is_good: bool
    passed: Counter[str]
    count: int

    @classmethod
    def read(cls, output: bytes, *, is_good: bool) -> TestRun:
        """What the output of a suite says."""
        lines = [b" ".join(_TIME.sub(b"", line).split()) for line in PASSED.findall(output)]
        passed = Counter(line.decode(errors="replace") for line in lines)
        count = passed.total() or next(
            (sum(map(int, found)) for pattern in COUNTED if (found := pattern.findall(output))), 0
        )
        if not count and is_good:
            count = int(any(line and not _OF_THE_BUILD.match(line) for line in output.splitlines()))
        return cls(is_good, passed, count)


def differences(stock: TestRun, again: TestRun, ours: TestRun) -> list[str]:
    """What both runs with clang-22 pass, and the advised one does not."""
    missing = (stock.passed & again.passed) - ours.passed
    found = sorted(missing)
    if stock.is_good and again.is_good and not ours.is_good:
        found.append("the suite fails")
    elif not missing and ours.count < min(stock.count, again.count):
        found.append(f"{ours.count} tests pass instead of {stock.count}")
    return found


def flaky(stock: TestRun, again: TestRun) -> int:
    """How many tests differ between two runs of one build."""
    one_sided = (stock.passed - again.passed) | (again.passed - stock.passed)
    return one_sided.total() or int((stock.is_good, stock.count) != (again.is_good, again.count))


def run_tests(build: DebianBuild, name: str = "test") -> TestRun | None:
    """Run the tests of what was built; None if its rules run none."""
    package = build.package
    found = PLANNED.search(package.log(f"{build.variant}-build").read_bytes())
    if not found:
        return None
    command = found[1].decode().replace("debian/rules ", "$(MAKE) -f debian/rules ")
    done = build.step(name, in_source(SCRIPT.format(command=command), option=""))
    output = package.log(f"{build.variant}-{name}").read_bytes()
    return TestRun.read(output, is_good=not done.code and not done.is_late)
