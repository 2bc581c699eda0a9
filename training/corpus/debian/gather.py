# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`gather`: builds Debian packages with `passpilot cc --record`, and makes a corpus of every one."""

from __future__ import annotations

import json
import os
import shutil
import sysconfig
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from passpilot.plugin.errors import Error, InputError, UsageError
from passpilot.plugin.files import read_regular, write_file
from passpilot.runners.plurals import counted
from passpilot.training.corpus.debian.package import (
    LENIENT,
    NAME,
    STOCK,
    Compiler,
    DebianPackage,
)
from passpilot.training.corpus.debian.system import DebianSystem
from passpilot.training.corpus.layout import INNER, Corpus
from passpilot.training.corpus.verification import verify
from passpilot.training.timing.commands import CommandPool

RESULT: Final = "result.json"
RECORD: Final = "record"
PROGRAM: Final = os.path.join(sysconfig.get_path("scripts"), "passpilot")
_RECORDING: Final = "/build/recording"


@dataclass(frozen=True, slots=True)
class GatheredPackage:
    """What came of a package."""

    package: str
    units: int = 0
    """Modules in its corpus."""
    programs: int = 0
    """Programs and shared libraries in it."""
    verified: int = 0
    """Modules that make the machine code of the build."""
    broken: int = 0
    """Modules that do not compile, or make other code; the rest has no object of its own in the build."""
    seconds: float = 0.0
    problem: str = ""
    """Why there is no corpus; empty if there is one."""
    is_fetched: bool = True
    """Whether the mirror had its source, and what its build needs."""
    is_late: bool = False
    """Whether a step has not ended before its deadline."""
    is_ours: bool = False
    """Whether clang alone builds the package."""
    level: str = ""
    """The level of all compilations; empty for the package's own."""

    @classmethod
    def read(cls, file: Path, level: str) -> GatheredPackage | None:
        """What came of it earlier; None if that is unknown, or of another level."""
        try:
            found = cls(**json.loads(file.read_bytes()))
        except (OSError, ValueError, TypeError):
            return None
        return found if found.level == level else None

    def line(self) -> str:
        """A line for people."""
        if self.problem:
            is_theirs = self.is_fetched and not self.is_late and not self.is_ours
            return self.problem + "; clang alone does not build it, either" * is_theirs
        return (
            f"{self.package}: {counted(self.units, 'unit')}, {counted(self.programs, 'linked file')}, "
            f"{self.verified} make the code of the build, {self.broken} broken, {self.seconds:.0f} s"
        )


def listed_packages(names: Sequence[str], file: str = "") -> list[str]:
    """The names of source packages, of arguments and of a file with a name per line, in order, each once.

    Raises:
        InputError: the file cannot be read, or a name is none; UsageError if there is no name.
    """
    try:
        lines = read_regular(file).decode(errors="replace").splitlines() if file else []
    except OSError as error:
        raise InputError(
            f"corpus debian: {file}: expected names of packages, got: {error.strerror}"
        ) from error
    words = [*names, *(word for line in lines for word in line.partition("#")[0].split()[:1])]
    found = list(dict.fromkeys(words))
    for name in found:
        if not NAME.fullmatch(name):
            raise InputError(f"corpus debian: expected the name of a source package, got {name!r}")
    if not found:
        raise UsageError("corpus debian: expected names of packages, or --packages=LIST.txt, got none")
    return found


def gather(
    system: DebianSystem, names: Sequence[str], output: Path, level: str, deadline: float, jobs: int
) -> Iterator[GatheredPackage]:
    """Make corpora of packages in `output`; those that are there are not made again."""
    with CommandPool(jobs, system.commands) as pool:
        futures = [
            pool.submit(_gathered, DebianPackage(name, system, output / name, deadline), level)
            for name in names
        ]
        for future in futures:
            yield future.result()


def _gathered(package: DebianPackage, level: str) -> GatheredPackage:
    file = package.folder / RESULT
    if earlier := GatheredPackage.read(file, level):
        return earlier
    package.remove_layers()
    start = time.monotonic()
    try:
        package.prepare()
    except Error as error:  # a later call tries again
        package.remove_layers()
        return GatheredPackage(package.name, problem=str(error), is_fetched=False, level=level)
    try:
        found = record(package, level)
    except Error as error:
        late = package.is_late(error)
        is_ours = not late and _builds_with_clang(package)
        found = GatheredPackage(package.name, problem=str(error), is_late=late, is_ours=is_ours)
    finally:
        package.remove_layers(INNER)
    result = replace(found, seconds=round(time.monotonic() - start, 1), level=level)
    write_file(str(file), json.dumps(asdict(result)) + "\n")
    return result


def advised(*options: str, last: Sequence[str] = ()) -> Compiler:
    """`passpilot cc` and `passpilot c++` with these options."""
    return Compiler((PROGRAM, "cc", *options), (PROGRAM, "c++", *options), last)


def record(package: DebianPackage, level: str) -> GatheredPackage:
    """Build a package that is prepared in the layer `RECORD`, and make its corpus.

    Raises:
        Error: it does not build, or its corpus cannot be read.
    """
    compiler = advised(f"--record={_RECORDING}", last=(*LENIENT, *([level] if level else [])))
    build = package.build(RECORD, compiler)
    script = f"cd /build\n{PROGRAM} corpus extract --recording={_RECORDING} -o /build/{INNER}"
    done = build.step("extract", script)
    done.check(f"{package.name}: {package.log('record-extract')}: expected a corpus", package.deadline)
    folder = package.folder / INNER
    made = build.layer / "build" / INNER
    if made.is_symlink():
        raise InputError(f"{package.name}: expected a corpus in {made}, got a symbolic link")
    shutil.copytree(made, folder, dirs_exist_ok=True, ignore=_not_plain)
    corpus = Corpus.read(str(folder))
    verdicts = list(verify(corpus, 1))
    good = sum(verdict.compared and not verdict.problem for verdict in verdicts)
    broken = sum(bool(verdict.problem) for verdict in verdicts)
    return GatheredPackage(package.name, len(corpus.units), len(corpus.programs), good, broken)


def _not_plain(folder: str, names: Sequence[str]) -> list[str]:
    """What root must not copy from the folder of a build: links may lead out of the system."""
    paths = {name: Path(folder, name) for name in names}
    return [n for n, path in paths.items() if path.is_symlink() or not (path.is_file() or path.is_dir())]


def _builds_with_clang(package: DebianPackage) -> bool:
    try:
        package.build("stock", STOCK)
    except Error:
        return False
    return True
