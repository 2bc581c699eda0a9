# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`--profile=FILE`: what outlining and -O2 cost and save with a profile, without one, and with an estimate.

usage: python -m bench.measure.policies.profile [PROGRAM...]

Programs run once for the profile; Lua has another script for it than for the counts. All sides
have only the unwind tables that exceptions need, since outlining pays there, and are linked with
--gc-sections --icf=safe. What is measured is kept in bench/results/profile.json, where the next call goes on.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench.lib import Bar, command, read, settle, show, write
from bench.lib.corpus import built
from bench.lib.instructions import executed
from bench.measure.policies.levers import CODE, DEADLINE, FOLDED, libraries
from bench.measure.policies.oz import command_of
from passpilot.training.file_sizes import file_sizes
from tests.command import PASSPILOT
from tests.corpus.programs import Program

RECORD: Final = "profile.json"
PROGRAMS: Final = ("lua", "expat", "muparser", "qhull")
OUTLINED: Final = ("-mllvm", "-enable-machine-outliner=always")
ESTIMATED: Final = (
    "--at=optimizer-last=estimate-profile<limit=8>",
    "-mllvm",
    "-enable-machine-outliner=optimistic-pgo",
)
SIDES: Final[dict[str, tuple[str, ...]]] = {
    "-Oz": ("-Oz",),
    "-Oz, outlined": ("-Oz", *OUTLINED),
    "-Oz, outlined, profile": ("-Oz", *OUTLINED, "--profile={profile}"),
    "-Oz, outlined, estimate": ("-Oz", *ESTIMATED),
    "-O2": ("-O2",),
    "-O2, profile": ("-O2", "--profile={profile}"),
}
"""The options of `passpilot cc`; the first side of a level is what its others are relative to."""
METRICS: Final = ("allocated", "text", "stripped", "xz", "instructions")
SCRIPTS: Final = Path(__file__).parents[2] / "speed"


def image(program: Program, options: Sequence[str], folder: Path) -> Path:
    """A program, made by `passpilot cc`."""
    level = next(option for option in options if option.startswith("-O"))
    objects = []
    for number, source in enumerate(program.sources()):
        objects.append(folder / f"{number}.o")
        unit = program.unit(source, level.removeprefix("-"))
        words: list[str | Path] = [PASSPILOT, "cc", *CODE[1:], *options, "-c", unit, "-o", objects[-1]]
        subprocess.run(words, check=True, timeout=DEADLINE)
    counts = [option for option in options if option == "-fprofile-generate"]
    path = folder / program.name
    link = ("clang-22", "-fuse-ld=lld", "-pie", *(counts or FOLDED), *objects, *libraries(program))
    subprocess.run([*link, "-o", path], check=True, timeout=DEADLINE)
    return path


def run_of(program: Program, path: Path, script: str) -> list[str]:
    if program.name == "lua":
        return [str(path), str(SCRIPTS / script)]
    return command_of(program, str(path))


def profile_of(program: Program, folder: Path) -> Path:
    """A profile of the program at -O2; functions are found by their names at any level."""
    words = run_of(program, image(program, ("-O2", "-fprofile-generate"), folder), "seen.lua")
    environment = {**os.environ, "LLVM_PROFILE_FILE": str(folder / "raw")}
    subprocess.run(
        words,
        cwd=program.source,
        env=environment,
        check=True,
        timeout=DEADLINE,
        stdout=subprocess.DEVNULL,
    )
    path = folder / "program.profdata"
    subprocess.run(["llvm-profdata-22", "merge", folder / "raw", "-o", path], check=True, timeout=DEADLINE)
    return path


def measure(program: Program, folder: Path) -> dict[str, dict[str, Any]]:
    """The sizes and the executed instructions of all sides."""
    profile, found = profile_of(program, folder), {}
    for name, options in SIDES.items():
        words = [option.format(profile=profile) for option in options]
        path = image(program, ["--unwind=exceptions", *words], folder)
        found[name] = file_sizes(str(path))._asdict()
        found[name]["instructions"] = executed(run_of(program, path, "unseen.lua"), program.source)
    return found


def ratios(row: dict[str, dict[str, Any]], name: str) -> dict[str, float]:
    base = row[name.partition(",")[0]]
    return {metric: row[name][metric] / base[metric] for metric in METRICS}


@command
def main(*programs: str) -> None:
    record = read(RECORD, {})
    for program in built(programs or PROGRAMS):
        if program.name not in record:
            with tempfile.TemporaryDirectory() as folder:
                record[program.name] = measure(program, Path(folder))
            write(RECORD, record)
    bars = []
    for name in SIDES:
        if "," in name:
            found = {program: ratios(row, name) for program, row in record.items()}
            show(name, "program", found)
            if "profile" in name:
                most = max(row["instructions"] for row in found.values())
                bars.append(Bar(f"instructions of {name}, the most", most, 1.01))
    settle(*bars)
