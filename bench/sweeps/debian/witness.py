# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`witness`: builds a package in four ways, and compares its tests and the sizes of what it installs."""

from __future__ import annotations

import datetime
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

from bench.sweeps.debian.autopkgtest import Autopkgtests
from bench.sweeps.debian.tests import TestRun, differences, flaky, run_tests
from passpilot.plugin.errors import Error
from passpilot.training.corpus.debian.gather import RECORD, advised, record
from passpilot.training.corpus.debian.package import (
    LENIENT,
    SOURCE,
    STOCK,
    Compiler,
    DebianBuild,
    DebianPackage,
    in_source,
)
from passpilot.training.corpus.layout import INNER
from passpilot.training.file_sizes import FileSizes, file_sizes

LEVEL: Final = "-Oz"
FLAGS: Final = (
    "-ffunction-sections",
    "-fdata-sections",
    "-fuse-ld=lld",
    "-Wl,--gc-sections,--icf=safe",
    "-Qunused-arguments",
    *LENIENT,
)
R1: Final = (LEVEL, *FLAGS)
"""The reference of docs/evaluation.md; all builds whose tests run have these words."""
POINTS: Final = (
    *(f"--{point}=random:7" for point in ("inline", "evict", "priority")),
    "--at=optimizer-last=advised-pipeline{budget=4}",
    "--advise=advised-pipeline=random:7",
)
ADVISED: Final[Mapping[str, Compiler]] = {
    "random": advised(*POINTS, last=R1),
    "@oz": advised("--policy=@oz", last=R1),
}
REFERENCE: Final = Compiler(STOCK.c, STOCK.cxx, R1)
OTHERS: Final[Mapping[str, Compiler]] = {
    **{level: Compiler(STOCK.c, STOCK.cxx, (level, *FLAGS)) for level in ("-Os", "-O2")},
    "unwind=faults": advised("--unwind=faults", last=("-O2", *FLAGS)),
}
"""What else is measured, without tests; `unwind=faults` at -O2."""

INSTALL: Final = in_source(
    "export DPKG_GENSYMBOLS_CHECK_LEVEL=0\nfakeroot debian/rules install-arch", "nocheck nostrip"
)
"""Puts what the packages will contain into their folders, not stripped; debhelper also looks for symbols."""

CACHE: Final = "build/config.cache"
SITE: Final = "usr/share/config.site"
"""Where autoconf looks: the build that is recorded probes the compiler, the others take its answers."""


@dataclass(frozen=True, slots=True)
class Witnessed:
    """What came of a package; a line of bench/results/debian.jsonl."""

    package: str
    part: str
    language: str
    domain: str
    is_fetched: bool = True
    """Whether the mirror had its source, and what its build needs; what it had not is tried again."""
    units: int = 0
    programs: int = 0
    verified: int = 0
    broken: int = 0
    suite: str = "none"
    """With clang-22: passed, failed, or none."""
    kind: str = ""
    """Which tests those are: build for what debian/rules runs, autopkgtest for debian/tests."""
    tests: int = 0
    """How many tests passed with clang-22."""
    flaky: int = 0
    """How many of them differ between two runs with clang-22."""
    differences: dict[str, list[str]] = field(default_factory=dict)
    """By variant, what passes with clang-22 twice, and not with advice."""
    sizes: dict[str, dict[str, int]] = field(default_factory=dict)
    """The sum of all programs and libraries that every build installs, by build."""
    files: int = 0
    """How many programs and libraries those are."""
    problem: str = ""
    """Why something is missing."""
    is_ours: bool = False
    """Whether clang-22 alone builds what passpilot does not."""
    seconds: float = 0.0
    date: str = ""


def installed(build: DebianBuild) -> dict[str, FileSizes]:
    """The sizes of the programs and libraries that a build installs, by their paths.

    Raises:
        CompilationError: they cannot be installed.
    """
    done = build.step("install", INSTALL)
    found = {name: file_sizes(str(path)) for name, path in _linked(build)}
    if not found:  # what fails behind the installation does not matter
        log = build.package.log(f"{build.variant}-install")
        done.check(f"{build.package.name}: {log}: expected its packages", build.package.deadline)
    return found


def _linked(build: DebianBuild) -> Iterator[tuple[str, Path]]:
    control = build.layer / "build/source/debian/control"
    if not control.exists():  # the build has not written it
        control = build.package.folder / SOURCE / "build/source/debian/control"
    for name in re.findall(r"^Package: *(\S+) *$", control.read_text(errors="replace"), re.MULTILINE):
        folder = build.layer / "build/source/debian" / name
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink():
                with path.open("rb") as file:
                    head = file.read(18)
                if head[:4] == b"\x7fELF" and head[16:18] in (b"\2\0", b"\3\0"):
                    yield f"{name}/{path.relative_to(folder)}", path


def in_all(builds: Mapping[str, Mapping[str, FileSizes]]) -> set[str]:
    """The names of the files that all builds have."""
    return set.intersection(*(set(files) for files in builds.values())) if builds else set()


def summed(builds: Mapping[str, Mapping[str, FileSizes]]) -> dict[str, dict[str, int]]:
    """The sums of the files that all builds have."""
    common = in_all(builds)
    if not common:
        return {}
    sums = {
        name: FileSizes(*map(sum, zip(*(files[path] for path in common), strict=True)))
        for name, files in builds.items()
    }
    return {name: sizes._asdict() for name, sizes in sums.items()}


def witness(package: DebianPackage, row: Witnessed) -> Witnessed:
    """Record a package, and build and try it with clang-22, with random advice, and with `@oz`."""
    package.remove_layers()
    try:
        package.prepare()
    except Error as error:
        package.remove_layers()
        return replace(row, is_fetched=False, problem=str(error))
    try:
        row = _with_corpus(package, row)
        return _with_tests(package, row)
    except Error as error:
        return replace(row, problem=str(error))
    finally:
        package.remove_layers(INNER)


def _with_corpus(package: DebianPackage, row: Witnessed) -> Witnessed:
    site = package.folder / SOURCE / SITE
    site.parent.mkdir(parents=True, exist_ok=True)
    site.write_text(f"cache_file=/{CACHE}\n")
    try:
        found = record(package, LEVEL)
    except Error as first:
        if package.is_late(first):
            raise
        site.unlink()
        shutil.rmtree(package.folder / RECORD, ignore_errors=True)
        plain = package.build(
            "plain", Compiler(STOCK.c, STOCK.cxx, (*LENIENT, LEVEL))
        )  # raises if clang cannot, either
        shutil.rmtree(plain.layer)
        try:
            found = record(package, LEVEL)
        except Error as error:
            return replace(row, problem=str(error), is_ours=not package.is_late(error))
    cache = package.folder / RECORD / CACHE
    if site.exists() and cache.exists():
        shutil.copy(cache, package.folder / SOURCE / CACHE)
    counts = {name: getattr(found, name) for name in ("units", "programs", "verified", "broken")}
    return replace(row, **counts)


def _with_tests(package: DebianPackage, row: Witnessed) -> Witnessed:
    if row.problem:
        return row
    files = {LEVEL: installed(DebianBuild(package, RECORD))}
    shutil.rmtree(package.folder / RECORD)
    try:
        build = package.build("stock", REFERENCE)
    except Error as error:
        return replace(row, problem=str(error))
    files["R1"], suite = _stock(package, build)
    shutil.rmtree(build.layer)
    if suite:
        good = suite.stock.is_good and suite.again.is_good
        tests = min(suite.stock.count, suite.again.count)
        row = replace(row, suite="passed" if good else "failed", kind=suite.kind, tests=tests)
        row = replace(row, flaky=flaky(suite.stock, suite.again))
    for name, compiler in ADVISED.items():
        row = _advised(package, row, name, compiler, suite, files)
    return replace(row, sizes=summed(files), files=len(in_all(files)))


@dataclass(frozen=True, slots=True)
class Suite:
    """The tests of a package, which passed at least one with clang-22, twice."""

    stock: TestRun
    again: TestRun
    installed: Autopkgtests | None = None
    """Those of debian/tests; None for those of the build."""

    @property
    def kind(self) -> str:
        return "autopkgtest" if self.installed else "build"


def _stock(package: DebianPackage, build: DebianBuild) -> tuple[dict[str, FileSizes], Suite | None]:
    """What the build with clang-22 installs, and the tests of the build, or else of debian/tests."""
    stock = run_tests(build)
    again = run_tests(build, "again") if stock and stock.count else None
    files = installed(build)
    if stock and again and again.count:
        return files, Suite(stock, again)
    tests = Autopkgtests.prepared(package)
    if not tests:
        return files, None
    stock = tests.run(build)
    again = tests.run(build, "again") if stock.count else None
    return files, Suite(stock, again, tests) if again and again.count else None


def _advised(
    package: DebianPackage,
    row: Witnessed,
    name: str,
    compiler: Compiler,
    suite: Suite | None,
    files: dict[str, dict[str, FileSizes]],
) -> Witnessed:
    if name == "random" and not suite:
        return row  # nothing would run what it builds
    variant = name.removeprefix("@")
    try:
        build = package.build(variant, compiler)
    except Error as error:
        if package.is_late(error):
            return replace(row, problem=str(error))
        failed = {**row.differences, name: [str(error)]}
        return replace(row, problem=str(error), is_ours=True, differences=failed)
    ours = run_tests(build) if suite and not suite.installed else None
    if name != "random" or (suite and suite.installed):
        files[name] = installed(build)
    if suite:
        ours = suite.installed.run(build) if suite.installed else ours
        assert ours, "the same rules run the same tests"
        if found := differences(suite.stock, suite.again, ours):
            row = replace(row, differences={**row.differences, name: found})
    if name == "random":
        files.pop(name, None)
    shutil.rmtree(build.layer)
    return row


def levels(package: DebianPackage) -> dict[str, dict[str, int]]:
    """The sizes of what a package installs by its builds `OTHERS`, with the number of files as ``files``.

    Raises:
        Error: it cannot be fetched, built or installed.
    """
    package.remove_layers(INNER)
    files: dict[str, dict[str, FileSizes]] = {}
    try:
        package.prepare()
        for name, compiler in OTHERS.items():
            build = package.build(name.strip("-").replace("=", "-"), compiler)
            files[name] = installed(build)
            shutil.rmtree(build.layer)
    finally:
        package.remove_layers(INNER)
    return {name: {**sizes, "files": len(in_all(files))} for name, sizes in summed(files).items()}


def line(row: Witnessed) -> dict[str, object]:
    """A row with the day on which it was made."""
    return asdict(replace(row, date=datetime.datetime.now(datetime.UTC).date().isoformat()))
