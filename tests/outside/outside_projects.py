# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The projects of projects.toml: how they are fetched, built with a compiler, and tried."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tomllib
import venv
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from passpilot.training.rewards import code_bytes
from tests.corpus.fetch import fetch
from tests.corpus.programs import Origin, cache_home

HERE: Final = Path(__file__).parent
PASSPILOT: Final = str(Path(sys.executable).with_name("passpilot"))
RANDOM: Final = {f"PASSPILOT_{point}": "random:7" for point in ("INLINE", "EVICT", "PRIORITY")}
STOCK: Final = "clang-22"
COMPILERS: Final[dict[str, dict[str, str]]] = {
    STOCK: {"CC": "clang-22", "CXX": "clang++-22"},
    "random": {"CC": f"{PASSPILOT} cc", "CXX": f"{PASSPILOT} c++", **RANDOM},
    "@oz": {"CC": f"{PASSPILOT} cc", "CXX": f"{PASSPILOT} c++", "PASSPILOT_POLICY": "@oz"},
}
"""The environments of the builds."""
DEADLINE: Final = 1800
TOOLS: Final = (
    "setuptools>=78",
    "wheel",
    "cython",
    "scikit-build-core",
    "meson-python",
    "meson",
    "ninja",
    "pytest",
)
PYTEST: Final = re.compile(r"\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed)")
CTEST: Final = re.compile(r"\d+ tests failed out of \d+")
AUTOMAKE: Final = re.compile(r"^# ([A-Z]+: +[1-9]\d*)$", re.MULTILINE)
MESON: Final = re.compile(r"^(?:Ok|Fail|Timeout|Skipped): +[1-9]\d*", re.MULTILINE)


class ProjectError(Exception):
    """A project does not build."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project.

    Attributes:
        name: its name.
        language: "c" or "c++".
        origin: the archive, and where it comes from.
        root: the top folder of the archive.
        build: commands that build it, in a copy of the sources; none for pip's way.
        test: commands that try what was built. `python` has what was built in its path, if pip built it.
        files: what the tests need of the sources, for pip's way; the tests run in a folder with nothing else.
        needs: packages of PyPI that the build or the tests need.
        known: how the project is built, such as "LTO" or "meson".
    """

    name: str
    language: str
    origin: Origin
    root: str
    test: list[list[str]]
    build: list[list[str]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)
    known: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the tests of a project said about a build.

    Attributes:
        code: bytes of machine code of all libraries and programs that were built.
        exit: the first exit code that is not 0, or 0.
        counts: what pytest counted, in its own words without times.
    """

    code: int
    exit: int
    counts: str


def projects() -> dict[str, Project]:
    """All projects by name."""
    data = tomllib.loads((HERE / "projects.toml").read_text())
    rows = [Project(**{**row, "origin": Origin(**row["origin"])}) for row in data["project"]]
    return {row.name: row for row in rows}


def python(needs: list[str]) -> Path:
    """The interpreter of an environment of its own, with tools of builds and what a project needs."""
    home = cache_home() / "outside" / "venv"
    if not (home / "bin" / "python").exists():
        venv.create(home, with_pip=True)
        pip_install(home, [*TOOLS])
    if needs:
        pip_install(home, needs)
    return home / "bin" / "python"


def pip_install(home: Path, packages: list[str]) -> None:
    run([str(home / "bin" / "python"), "-m", "pip", "install", "-q", *packages], home, {})


def run(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    """Run a command that must succeed.

    Raises:
        ProjectError: it fails, or takes longer than DEADLINE seconds; with the end of what it printed.
    """
    code, text = ran(command, folder, environment)
    if code:
        raise ProjectError(
            f"{' '.join(command)[:200]} in {folder}: expected exit code 0, got {code}:\n{text[-3000:]}"
        )


def ran(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """The exit code of a command, 124 after DEADLINE seconds, and what it printed.

    After the deadline everything that the command started is killed, too: the compilers of a build, for
    instance.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        text, _ = process.communicate(timeout=DEADLINE)
    except subprocess.TimeoutExpired as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return 124, str(error)
    return process.returncode, text


def tried(project: Project, compiler: str) -> Outcome:
    """Build a project with a compiler, and run its tests.

    Raises:
        ProjectError: it does not build.
    """
    folder = cache_home() / "outside" / project.name / compiler.strip("@")
    source, interpreter = unpacked(project, folder), python(project.needs)
    environment = {
        **COMPILERS[compiler],
        "CMAKE_BUILD_PARALLEL_LEVEL": "2",
        "PATH": f"{interpreter.parent}:{os.environ['PATH']}",
        "VIRTUAL_ENV": str(interpreter.parents[1]),
    }
    if project.build:
        for command in project.build:
            run(command, source, environment)
        built = place = source
    else:
        built, place = folder / "built", folder / "tests"
        pip = [str(interpreter), "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation"]
        run([*pip, "--target", str(built), str(source)], folder, environment)
        place.mkdir()
        for name in project.files:
            target = place / Path(name).name
            (shutil.copytree if (source / name).is_dir() else shutil.copy)(source / name, target)
        environment = {"PYTHONPATH": str(built), "PATH": environment["PATH"]}
    code = machine_code(built)
    exits, counts = [], []
    for command in project.test:
        code_of_exit, text = ran(command, place, environment)
        exits.append(code_of_exit)
        counts += counted(text)
        if code_of_exit:
            print(text[-3000:], file=sys.stderr)
    return Outcome(code, next(filter(None, exits), 0), ", ".join(counts))


def unpacked(project: Project, folder: Path) -> Path:
    """A copy of a project's sources in an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tarfile.open(fetch(project.origin)) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        archive.extractall(folder)
    return folder / project.root


def counted(text: str) -> list[str]:
    """How many tests passed and failed, in the words of the program that ran them, without times.

    The programs are pytest, whose counts are in the last line that has any, ctest, and automake and meson, of
    whose counts those that are 0 are left out.
    """
    lines = [each for each in map(PYTEST.findall, text.splitlines()) if each]
    counts = lines[-1] if lines else []
    for pattern in (CTEST, AUTOMAKE, MESON):
        counts += [" ".join(each.split()) for each in pattern.findall(text)]
    return counts


def machine_code(folder: Path) -> int:
    """The bytes of machine code of all libraries and programs in a folder."""
    total = 0
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.suffix != ".o":
            data = path.read_bytes()
            if data.startswith(b"\x7fELF"):
                total += code_bytes(data)
    return total
