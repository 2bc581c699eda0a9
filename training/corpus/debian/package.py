# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`DebianPackage`: fetches a source package, builds it with a compiler of choice, and runs its tests."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from passpilot.plugin.version import MAJOR
from passpilot.training.corpus.debian.system import USER, DebianSystem
from passpilot.training.timing.commands import CommandResult

SOURCE: Final = "source"
"""The layer with the unpacked source, and all that the build needs."""

NAME: Final = re.compile(r"[a-z0-9][a-z0-9+.-]+")
"""The names of Debian's source packages."""

COMPILERS: Final = re.compile(r"(?:.+-linux-gnu-)?(cc|c\+\+|gcc|g\+\+|clang|clang\+\+|c89|c99)(-\d+)?")
"""The names by which builds call compilers; the chosen one stands in for all but clang-22 itself."""

_PREPARE: Final = """
apt-get -y -q build-dep --only-source {name}
cd /build
setpriv --reuid {user} --regid {user} --init-groups apt-get -q source --only-source {name}
mv -T "$(find . -mindepth 1 -maxdepth 1 -type d)" source
"""

_BUILD: Final = """
cd /build/source
export DEB_BUILD_OPTIONS='noautodbgsym parallel={jobs} {check}' DEB_BUILD_PROFILES='nodoc'
debian/rules build-arch
"""

_TESTING: Final = re.compile(rb"^   (debian/rules )?(override_)?dh_auto_test", re.MULTILINE)
"""What `dh` prints before it runs the tests: all is built then."""

_INSTALL: Final = """
cd /build/source
export DEB_BUILD_OPTIONS='nocheck noautodbgsym parallel={jobs}' DEB_BUILD_PROFILES='nodoc'
fakeroot debian/rules install-arch
"""
"""Puts what the packages will contain into their folders; nothing is stripped or packed."""

_COUNTS: Final = (
    re.compile(rb"^# (?:PASS|XFAIL): +(\d+)$", re.MULTILINE),  # automake
    re.compile(rb"tests passed, \d+ tests failed out of (\d+)$", re.MULTILINE),  # ctest
    re.compile(rb"^(?:Ok|OK): +(\d+) *$", re.MULTILINE),  # meson
    re.compile(rb"^\[  PASSED  \] (\d+) tests?\.", re.MULTILINE),  # googletest
    re.compile(rb"^Files=\d+, Tests=(\d+),", re.MULTILINE),  # prove
    re.compile(rb"^=+ (\d+) passed", re.MULTILINE),  # pytest
    re.compile(rb"^Ran (\d+) tests? in", re.MULTILINE),  # unittest
    re.compile(rb"^All (\d+) tests passed", re.MULTILINE),
    re.compile(rb"^PASS: ()", re.MULTILINE),
)
"""How test runners count what passes; the first that matches counts, and an empty group counts as one."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """What stands in for the compilers of a build.

    Attributes:
        c: the words of the C compiler; the arguments of the build follow.
        cxx: those of the C++ compiler.
        last: words behind the arguments of the build, such as ``-Oz``.
    """

    c: Sequence[str]
    cxx: Sequence[str]
    last: Sequence[str] = ()

    def script(self, name: str) -> str:
        """What a program of a compiler's name does."""
        words = self.cxx if name.endswith("++") else self.c
        last = "".join(" " + shlex.quote(word) for word in self.last)
        return f'#!/bin/sh\nexec {shlex.join(words)} "$@"{last}\n'


STOCK: Final = Compiler((f"clang-{MAJOR}",), (f"clang++-{MAJOR}",))


@dataclass(frozen=True, slots=True)
class DebianPackage:
    """A source package, with a folder for its layers and logs.

    Attributes:
        name: of the source package.
        system: in which it is built.
        folder: where its layers and logs are.
        deadline: seconds for each step.
        jobs: parallel jobs of its build.
    """

    name: str
    system: DebianSystem
    folder: Path
    deadline: float
    jobs: int = 1

    @property
    def _source(self) -> Path:
        return self.folder / SOURCE

    def log(self, step: str) -> Path:
        """What a step has printed."""
        return self.folder / f"{step}.log"

    def run(self, step: str, script: str, layers: Sequence[Path], *, is_root: bool = False) -> CommandResult:
        """Run a shell script in the last of the layers; only root has a network."""
        self.log(step).unlink(missing_ok=True)
        user = "root" if is_root else USER
        return self.system.run(script, layers, self.log(step), self.deadline, user=user, network=is_root)

    def prepare(self) -> None:
        """Install what the build needs, and unpack the source, in a layer that all builds share.

        Raises:
            CompilationError: it cannot be done, as its log says.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        script = _PREPARE.format(name=self.name, user=USER)
        self.run("prepare", script, [self._source], is_root=True).check(
            f"{self.name}: {self.log('prepare')}: expected its source and what it needs", self.deadline
        )

    def build(self, variant: str, compiler: Compiler, *, tests: bool = False) -> DebianBuild:
        """Build the package in a layer of its own, and run its own tests.

        Raises:
            CompilationError: the build fails.
        """
        layer = self.folder / variant
        programs = layer / "usr/bin"
        programs.mkdir(parents=True)
        for name in self._compilers():
            (programs / name).write_text(compiler.script(re.sub(r"-\d+$", "", name)))
            (programs / name).chmod(0o755)
        script = _BUILD.format(jobs=self.jobs, check="" if tests else "nocheck")
        log = self.log(f"{variant}-build")
        done = self.run(f"{variant}-build", script, [self._source, layer])
        output = log.read_bytes()
        if not (tests and _TESTING.search(output)):
            done.check(f"{self.name}: {log}: expected it to build", self.deadline)
        outcome = TestOutcome(not done.code and not done.is_late, passed_tests(output)) if tests else None
        return DebianBuild(self, variant, outcome)

    def _compilers(self) -> set[str]:
        ours = {f"clang-{MAJOR}", f"clang++-{MAJOR}"}
        folders = (self.system.root / "usr/bin", self._source / "usr/bin")
        names = {path.name for folder in folders if folder.is_dir() for path in folder.iterdir()}
        return {name for name in names if COMPILERS.fullmatch(name)} - ours

    def remove_layers(self, *kept: str) -> None:
        """Remove what was built, but not the folders `kept`; the logs stay."""
        for path in self.folder.iterdir() if self.folder.exists() else ():
            if path.is_dir() and path.name not in kept:
                shutil.rmtree(path, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class DebianBuild:
    """A package that was built by one compiler."""

    package: DebianPackage
    variant: str
    tests: TestOutcome | None

    @property
    def layer(self) -> Path:
        """The folder with all that the build has written."""
        return self.package.folder / self.variant

    def step(self, name: str, script: str) -> CommandResult:
        """Run a script where the package was built; its log has the names of the variant and of the step."""
        layers = [self.package.folder / SOURCE, self.layer]
        return self.package.run(f"{self.variant}-{name}", script, layers)

    def installed(self) -> Mapping[str, Path]:
        """The programs and libraries of the packages that it makes, by their paths in the system.

        Raises:
            CompilationError: they cannot be made.
        """
        log = self.package.log(f"{self.variant}-install")
        script = _INSTALL.format(jobs=self.package.jobs)
        self.step("install", script).check(
            f"{self.package.name}: {log}: expected its packages", self.package.deadline
        )
        return dict(self._binaries())

    def _binaries(self) -> Iterator[tuple[str, Path]]:
        control = self.layer / "build/source/debian/control"
        if not control.exists():  # the build has not written it: the source layer has it
            control = self.package.folder / SOURCE / "build/source/debian/control"
        for name in re.findall(r"^Package: *(\S+) *$", control.read_text(errors="replace"), re.MULTILINE):
            folder = self.layer / "build/source/debian" / name
            for path in sorted(folder.rglob("*")):
                if path.is_file() and not path.is_symlink() and is_linked(path):
                    yield f"/{path.relative_to(folder)}", path


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """What came of a package's tests: whether all passed, and how many ran."""

    has_passed: bool
    count: int


def passed_tests(output: bytes) -> int:
    """How many tests have passed, by what the runner has printed; 0 if nothing says so."""
    for pattern in _COUNTS:
        if found := pattern.findall(output):
            return sum(int(count or 1) for count in found)
    return 0


def is_linked(path: Path) -> bool:
    """Whether a file is an ELF program or shared library."""
    with path.open("rb") as file:
        head = file.read(18)
    return head[:4] == b"\x7fELF" and head[16:18] in (b"\x02\0", b"\x03\0")
