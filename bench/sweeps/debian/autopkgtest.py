# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Autopkgtests`: runs the tests of debian/tests against what a build installs, where the build has none."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bench.sweeps.debian.tests import TestRun
from passpilot.training.corpus.debian.package import NAME, SOURCE, DebianBuild, DebianPackage
from passpilot.training.corpus.layout import INNER

TESTBED: Final = "testbed"
"""The layer with the archive's packages, and with what the tests need."""

CONTROL: Final = "build/source/debian/control"
ADMITTED: Final = frozenset(
    (
        "allow-stderr",
        "breaks-testbed",
        "build-needed",
        "needs-recommends",
        "rw-build-tree",
        "skip-foreign-architecture",
        "skip-not-installable",
        "skippable",
        "superficial",
    )
)
"""Restrictions under which a test runs here; one with another, such as needs-root, is left out."""

TEST_DEADLINE: Final = 120
"""Seconds for one of the tests."""

INSTALL: Final = """
export DEBIAN_FRONTEND=noninteractive
printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
apt-get -y -q satisfy {needs}
"""

PLACE: Final = """
cd /build/source/debian
for name in {names}; do
  if [ -d "$name" ] && dpkg-query -W "$name" >/dev/null 2>&1; then
    tar -C "$name" --exclude=./DEBIAN --owner=root --group=root -cf - . |
      tar -C / --keep-directory-symlink -xf -
  fi
done
ldconfig
"""
"""Puts the files of a build over those of the archive's packages that are installed."""

RUN: Final = """
bad=0
run() {{ # NAME MAY_WRITE_ERRORS MAY_SKIP COMMAND
  export AUTOPKGTEST_TMP="$(mktemp -d)" AUTOPKGTEST_ARTIFACTS="$(mktemp -d)"
  export ADTTMP="$AUTOPKGTEST_TMP"
  cd /build/source
  code=0
  timeout -k 5 {deadline} sh -c "$4" 2>"$AUTOPKGTEST_ARTIFACTS.errors" || code=$?
  cat "$AUTOPKGTEST_ARTIFACTS.errors"
  echo
  if [ "$code" = 77 ] && [ "$3" = yes ]; then echo "skipped: $1"
  elif [ "$code" != 0 ] || {{ [ "$2" = no ] && [ -s "$AUTOPKGTEST_ARTIFACTS.errors" ]; }}; then
    echo "not ok 1 - debian/tests: $1"
    bad=1
  else echo "ok 1 - debian/tests: $1"
  fi
}}
{calls}
exit $bad
"""
"""Runs the tests one behind the other; a test that exits with 0 and writes no errors passes."""


@dataclass(frozen=True, slots=True)
class InstalledTest:
    """A test of debian/tests/control."""

    name: str
    command: str
    needs: tuple[str, ...]
    """What must be installed, as `apt-get satisfy` reads it; ``@`` is all that the source makes."""
    restrictions: frozenset[str]

    @property
    def call(self) -> str:
        """The line of the script `RUN`."""
        flags = ["yes" if word in self.restrictions else "no" for word in ("allow-stderr", "skippable")]
        return shlex.join(["run", self.name, *flags, self.command])


def paragraphs(text: str) -> Iterator[dict[str, str]]:
    """The paragraphs of a control file, without comments; lines that go on are joined."""
    text = re.sub(r"^#.*\n?", "", text, flags=re.MULTILINE)
    for block in re.split(r"\n[ \t]*\n", re.sub(r"\n[ \t]+(?=\S)", " ", text)):
        found = {key.strip().lower(): value.strip() for key, _, value in _fields(block)}
        if found:
            yield found


def _fields(block: str) -> Iterator[tuple[str, str, str]]:
    return (line.partition(":") for line in block.splitlines() if ":" in line)


def read_tests(text: str) -> list[InstalledTest]:
    """The tests that can run here: as an ordinary user, without a network, on a machine that is shared."""
    found = []
    for number, row in enumerate(paragraphs(text), 1):
        restrictions = frozenset(re.split(r"[\s,]+", row.get("restrictions", "").strip()))
        needs = tuple(part.strip() for part in row.get("depends", "@").split(",") if part.strip())
        if restrictions - ADMITTED - {""}:
            continue
        if command := row.get("test-command"):
            feature = re.search(r"test-name=(\S+)", row.get("features", ""))
            name = feature[1].rstrip(",") if feature else f"command{number}"
            found.append(InstalledTest(name, command, needs, restrictions))
        folder = row.get("tests-directory", "debian/tests")
        for name in re.split(r"[\s,]+", row.get("tests", "")):
            if name:
                path = shlex.quote(f"./{folder}/{name}")
                found.append(InstalledTest(name, f"chmod +x {path}; exec {path}", needs, restrictions))
    return found


def made_packages(text: str) -> list[str]:
    """The binary packages that a source makes, by its control file."""
    names = (row.get("package", "") for row in paragraphs(text))
    return [name for name in names if NAME.fullmatch(name) and not name.endswith(("-udeb", "-dbg"))]


def needed(tests: list[InstalledTest], made: list[str]) -> str:
    """What all tests need, as `apt-get satisfy` reads it; what the build needs is there."""
    words = dict.fromkeys(need for test in tests for need in test.needs if need != "@builddeps@")
    words = {re.sub(r"\([^)]*\$\{[^)]*\)|<[^>]*>", "", word).strip(): None for word in words}
    return ", ".join(dict.fromkeys(name for word in words for name in (made if word == "@" else [word])))


@dataclass(frozen=True, slots=True)
class Autopkgtests:
    """The tests of a package, with a layer in which the archive's packages are installed.

    Attributes:
        package: whose they are.
        tests: those that run.
        made: the binary packages of the source.
    """

    package: DebianPackage
    tests: list[InstalledTest]
    made: list[str]

    @classmethod
    def prepared(cls, package: DebianPackage) -> Autopkgtests | None:
        """The tests; None if there is none, or if what they need cannot be installed."""
        control = package.folder / SOURCE / CONTROL
        listed = control.parent / "tests/control"
        if listed.is_symlink() or not (listed.is_file() and control.is_file()):
            return None
        tests = read_tests(listed.read_text(errors="replace"))
        made = made_packages(control.read_text(errors="replace"))
        if not tests:
            return None
        layers = [package.folder / SOURCE, package.folder / TESTBED]
        script = INSTALL.format(needs=shlex.quote(needed(tests, made)))
        done = package.run(TESTBED, script, layers, is_root=True)
        return None if done.code or done.is_late else cls(package, tests, made)

    def run(self, build: DebianBuild, name: str = "test") -> TestRun:
        """Run the tests against what a build has put into its packages' folders; it must be installed there.

        Nothing of the run stays in the layer of the build.
        """
        step = f"{build.variant}-autopkg{name}"
        try:
            place = self._place(build, step)
            if place is None:
                return TestRun.read(b"", is_good=False)
            script = RUN.format(deadline=TEST_DEADLINE, calls="\n".join(test.call for test in self.tests))
            done = self.package.run(step, script, place)
        finally:
            self.package.remove_layers(SOURCE, TESTBED, INNER, build.variant)
        output = self.package.log(step).read_bytes()
        found = TestRun.read(output, is_good=not done.code and not done.is_late)
        return found if found.passed else replace(found, count=0)  # all of them were skipped

    def _place(self, build: DebianBuild, step: str) -> list[Path] | None:
        folder = self.package.folder
        layers = [folder / SOURCE, folder / TESTBED, build.layer, folder / step]
        script = PLACE.format(names=shlex.join(self.made))
        log = f"{step}-place"
        self.package.log(log).unlink(missing_ok=True)
        done = self.package.system.run(
            script, layers, self.package.log(log), self.package.deadline, user="root"
        )
        return None if done.code or done.is_late else layers
