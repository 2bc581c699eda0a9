# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`DebianPackage`: fetches a source package, and builds it with a compiler of choice."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from passpilot.plugin.errors import Error
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
cd /build
setpriv --reuid {user} --regid {user} --init-groups apt-get -q source --only-source {name}
apt-get -y -q build-dep --only-source {name}
mv -T "$(find . -mindepth 1 -maxdepth 1 -type d)" source
"""

NO_TESTS: Final = "nocheck"


def in_source(script: str, option: str = NO_TESTS) -> str:
    """A script in the folder of the source, with the variables that debian/rules reads."""
    return f"""
cd /build/source
export DEB_BUILD_OPTIONS='noautodbgsym parallel=1 {option}' DEB_BUILD_PROFILES='nodoc'
export DEB_CFLAGS_STRIP=-g DEB_CXXFLAGS_STRIP=-g
{script}
"""


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
        """What a program of a compiler's name does.

        Words for the linker are not added to a mere `-v`, by which libtool asks for C++: it would link.
        """
        words = self.cxx if name.endswith("++") else self.c
        call = f"exec {shlex.join(words)}"
        last = "".join(" " + shlex.quote(word) for word in self.last)
        return f'#!/bin/sh\n[ "$*" != -v ] || {call} -v\n{call} "$@"{last}\n'


LENIENT: Final = (
    "-Wno-error",
    *(
        f"-Wno-error={name}"
        for name in (
            "implicit-function-declaration",
            "implicit-int",
            "int-conversion",
            "incompatible-function-pointer-types",
            "incompatible-pointer-types",
            "return-type",
            "return-mismatch",
            "register",
            "c++11-narrowing",
            "reserved-user-defined-literal",
            "format-security",
        )
    ),
)
"""Diagnostics that are errors for clang, or by a package's own `-Werror`, and warnings for Debian's gcc."""

STOCK: Final = Compiler((f"clang-{MAJOR}",), (f"clang++-{MAJOR}",), LENIENT)


@dataclass(frozen=True, slots=True)
class DebianPackage:
    """A source package, with a folder for its layers and logs.

    Attributes:
        name: of the source package.
        system: in which it is built.
        folder: where its layers and logs are.
        deadline: seconds for each step.
    """

    name: str
    system: DebianSystem
    folder: Path
    deadline: float

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

    def build(self, variant: str, compiler: Compiler) -> DebianBuild:
        """Build the package in a layer of its own.

        Raises:
            CompilationError: the build fails.
        """
        layer = self.folder / variant
        programs = layer / "usr/bin"
        programs.mkdir(parents=True)
        for name in self._compilers():
            (programs / name).write_text(compiler.script(re.sub(r"-\d+$", "", name)))
            (programs / name).chmod(0o755)
        step = f"{variant}-build"
        done = self.run(step, in_source("debian/rules build-arch"), [self._source, layer])
        done.check(f"{self.name}: {self.log(step)}: expected it to build", self.deadline)
        return DebianBuild(self, variant)

    def is_late(self, error: Error) -> bool:
        """Whether a step has failed at its deadline, which says nothing about the compiler."""
        return f" within {self.deadline:g} s" in str(error)

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

    @property
    def layer(self) -> Path:
        """The folder with all that the build has written."""
        return self.package.folder / self.variant

    def step(self, name: str, script: str) -> CommandResult:
        """Run a script where the package was built; its log has the names of the variant and of the step."""
        layers = [self.package.folder / SOURCE, self.layer]
        return self.package.run(f"{self.variant}-{name}", script, layers)
