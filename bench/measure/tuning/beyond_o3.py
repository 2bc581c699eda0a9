# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what `passpilot tune --reward=run` gains over -O3, -O3 with ThinLTO, and -O3 with a profile.

Eight programs; each has a run that the search sees, and another one with other input. The search counts
instructions of the first (--runs=instructions), with --compiles compilations per module and all levers that
speed has. Then stock clang and `passpilot cc` with the decisions build the program with the same flags, and
lld links it; instructions of both runs are counted, and the other run is timed in turns. `tune` does not
search ThinLTO: there the tuned program has full link-time optimization, and stock full link-time
optimization is counted, too. The profile is of the run that the search sees. Every lever is also built alone.

The record of a program is bench/results/beyond-o3/NAME.json. What is there is not measured again, so that
the command goes on where it ended: names are programs, or all. Fails if a program prints something else.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from bench.lib import ROOT, command, read, show, write
from bench.lib.corpus import built
from passpilot.plugin.version import MAJOR
from passpilot.training.corpus.layout import ProgramRun
from passpilot.training.timing.commands import Commands
from passpilot.training.timing.program_runs import ProgramRuns
from passpilot.training.tuning.decision_file import UnitDecisions, read_decisions, word_kind, write_decisions
from passpilot.training.tuning.recipes import EVICTION, SCHEDULE
from tests.command import PASSPILOT
from tests.corpus.programs import DRIVERS

SPEED: Final = ROOT / "bench/speed"
RUNS: Final = {
    "bzip2": ("text 1", "json 2"),
    "libsvm": ("0 2 300 1", "0 2 340 2"),
    "libyaml": ("json 1", "text 2"),
    "lua": (f"{SPEED}/seen.lua", f"{SPEED}/unseen.lua"),
    "lz4": ("text 1", "json 2"),
    "mujs": (f"{SPEED}/seen.js", f"{SPEED}/unseen.js"),
    "picosat": ("120 420 1", "130 400 2"),
    "zlib": ("text 1", "json 2"),
}
"""Programs, their run that the search sees, and the other one."""
SMALL: Final = ("-ffunction-sections", "-fdata-sections")
LINK: Final = ("-fuse-ld=lld", "-Wl,--gc-sections", "-Wl,--icf=safe")
O3, THIN, PROFILE = KINDS = ("-O3", "-O3 ThinLTO", "-O3 profile")
FULL: Final = "-flto"
LEVERS: Final = ("inline", "pipeline", "unroll", "vectorize", "eviction", "schedule")
PAIRS: Final = 30
"""Runs in turns."""
DEADLINE: Final = 120.0
"""Seconds for a run; the counted one may take sixty times as long."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Sources:
    """A program to be built, in any folder."""

    name: str

    def script(self, flags: Sequence[str]) -> str:
        """The text of a script that compiles and links it with $CC and $CXX."""
        (program,) = built([self.name])
        sources = [program.source / source for source in program.sources() if "_driver" not in source]
        drivers = list(SPEED.glob(f"{self.name}.c*"))
        includes = [f"-I{program.source / flag[2:]}" for flag in program.cflags if flag.startswith("-I")]
        others = [flag for flag in program.cflags if not flag.startswith("-I")]
        lines = ["set -e"]
        objects = []
        for number, source in enumerate((*sources, *drivers)):
            compiler = "$CC" if source.suffix == ".c" else "$CXX"
            objects.append(f"{number}-{source.stem}.o")
            words = [
                *flags,
                *SMALL,
                "-w",
                *others,
                *includes,
                f"-I{DRIVERS}",
                "-c",
                str(source),
                "-o",
                objects[-1],
            ]
            lines.append(f"{compiler} {shlex.join(words)}")
        linker = "$CXX" if program.lang == "c++" else "$CC"
        lines.append(f"{linker} {shlex.join([*flags, *LINK, *objects, *program.libs, '-o', self.name])}")
        return "\n".join(lines) + "\n"

    def run(self, seen: bool) -> tuple[str, ...]:
        return tuple(RUNS[self.name][0 if seen else 1].split())


def build(sources: Sources, flags: Sequence[str], folder: Path, cc: str = f"clang-{MAJOR}") -> Path:
    """The program, built by clang or by `passpilot cc` with options."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "build.sh").write_text(sources.script(flags))
    cxx = cc.replace("clang-", "clang++-") if cc.startswith("clang") else cc.replace(" cc ", " c++ ")
    environment = {**os.environ, "CC": cc, "CXX": cxx}
    subprocess.run(["sh", "build.sh"], cwd=folder, env=environment, check=True, timeout=1800)
    return folder / sources.name


def tuned(sources: Sources, flags: Sequence[str], compiles: int, folder: Path) -> Path | None:
    """The decision file of a search; None if it finds nothing."""
    (folder / "build").mkdir(parents=True)
    (folder / "build/build.sh").write_text(sources.script(flags))
    environment = {**os.environ, "CC": f"clang-{MAJOR}", "CXX": f"clang++-{MAJOR}"}
    words: list[str | Path] = [PASSPILOT, "tune", f"--reward=run: {{}} {shlex.join(sources.run(seen=True))}"]
    words += ["--runs=instructions", f"--search={','.join(LEVERS)}", f"--compiles={compiles}", "--jobs=1"]
    words += ["--lto"] * (FULL in flags) + ["-o", folder / "out", "--", "sh", "build.sh"]
    subprocess.run(words, cwd=folder / "build", env=environment, check=True, timeout=7200)
    found = folder / f"out/{sources.name}.decisions"
    return found if found.exists() else None


def profile(sources: Sources, folder: Path) -> Path:
    """The profile of the run that the search sees."""
    program = build(sources, ["-O3", "-fprofile-instr-generate"], folder / "counting")
    environment = {**os.environ, "LLVM_PROFILE_FILE": str(folder / "raw")}
    run = [str(program), *sources.run(seen=True)]
    subprocess.run(run, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=DEADLINE)
    found = folder / "found.profdata"
    subprocess.run([f"llvm-profdata-{MAJOR}", "merge", folder / "raw", "-o", found], check=True)
    return found


def measured(programs: Mapping[str, Path], arguments: Sequence[str], reference: str, pairs: int) -> Row:
    """The instructions of a run of programs, and their time relative to one of them."""
    paths = {name: str(path) for name, path in programs.items()}
    run = ProgramRun(tuple(arguments), str(ROOT))
    outcomes = ProgramRuns(Commands(), [run], DEADLINE, lambda: None, counts=True).measure(
        paths, reference, pairs
    )
    if wrong := [f"{name}: {text}" for name, outcome in outcomes.items() for text in outcome.errors]:
        sys.exit("; ".join(wrong))
    return {
        name: {"instructions": outcome.instructions, "time": outcome.time if pairs else None}
        for name, outcome in outcomes.items()
    }


def only(unit: UnitDecisions, lever: str) -> UnitDecisions:
    """The decisions of one lever."""
    schedules = {option for options in SCHEDULE for option in options}
    evictions = {option for options in EVICTION for option in options}
    allowed = {"eviction": evictions, "schedule": schedules}.get(lever, set())
    words = {
        name: tuple(word for word in some if word_kind(word) == lever)
        for name, some in unit.functions.items()
    }
    return replace(
        unit,
        inline=unit.inline if lever == "inline" else {},
        pipeline=unit.pipeline if lever == "pipeline" else "",
        options=[option for option in unit.options if option in allowed],
        functions={name: some for name, some in words.items() if some},
        searched=frozenset(),
    )


def is_empty(unit: UnitDecisions) -> bool:
    return not (unit.inline or unit.pipeline or unit.options or unit.functions)


def alone(sources: Sources, flags: Sequence[str], decisions: Path, folder: Path) -> dict[str, Path]:
    """The program with the decisions of each lever that has some."""
    found = {}
    units = read_decisions(str(decisions))
    folder.mkdir()
    for lever in LEVERS:
        kept = [only(unit, lever) for unit in units]
        if not all(is_empty(unit) for unit in kept):
            path = folder / f"{lever}.decisions"
            write_decisions(str(path), kept)
            found[lever] = build(sources, flags, folder / lever, f"{PASSPILOT} cc --decisions={path}")
    return found


def of_kind(sources: Sources, kind: str, compiles: int, folder: Path) -> Row:
    """What a search gains over one kind of build."""
    began = time.monotonic()
    stock = {O3: ["-O3"], THIN: ["-O3", "-flto=thin"]}.get(kind) or [
        "-O3",
        f"-fprofile-instr-use={profile(sources, folder)}",
    ]
    flags = ["-O3", FULL] if kind == THIN else stock
    programs = {"stock": build(sources, stock, folder / "stock")}
    if kind == THIN:
        programs["stock -flto"] = build(sources, flags, folder / "full")
    decisions = tuned(sources, flags, compiles, folder / "search")
    decided: dict[str, Path] = {}
    if decisions:
        compiler = f"{PASSPILOT} cc --decisions={decisions}"
        programs["tuned"] = build(sources, flags, folder / "tuned", compiler)
        decided = alone(sources, flags, decisions, folder / "alone")
    seconds = round(time.monotonic() - began)
    unseen = measured(programs, sources.run(seen=False), "stock", PAIRS)
    seen = measured(programs, sources.run(seen=True), "stock", 0)
    levers = measured(decided, sources.run(seen=False), next(iter(decided)), 0) if decided else {}
    return {
        "compiles": compiles,
        "seconds": seconds,
        "unseen": unseen,
        "seen": {name: row["instructions"] for name, row in seen.items()},
        "levers": {name: row["instructions"] for name, row in levers.items()},
    }


def inputs_digest(name: str) -> str:
    """A hash of what a program's two runs read and are driven by."""
    files = sorted((*SPEED.glob(f"{name}.*"), *SPEED.glob("*seen.*"), SPEED / "input.h"))
    return hashlib.sha256(repr(RUNS[name]).encode() + b"".join(map(Path.read_bytes, files))).hexdigest()[:16]


def record(name: str) -> Row:
    """What is known of a program; nothing if its runs have changed."""
    known: Row = read(f"beyond-o3/{name}.json", {})
    return (
        known if known.get("inputs") == inputs_digest(name) else {"inputs": inputs_digest(name), "kinds": {}}
    )


@command
def main(*names: str, compiles: int = 40, kinds: str = ",".join(KINDS)) -> None:
    for kind in kinds.split(","):
        for name in names or RUNS:
            known = record(name)
            if kind not in known["kinds"]:
                with tempfile.TemporaryDirectory(prefix="passpilot-o3-") as folder:
                    known["kinds"][kind] = of_kind(Sources(name), kind, compiles, Path(folder))
                write(f"beyond-o3/{name}.json", known)
    rows = {}
    for name in names or RUNS:
        for kind, row in record(name)["kinds"].items():
            counts = {who: cell["instructions"] for who, cell in row["unseen"].items()}
            ratio = counts.get("tuned", counts["stock"]) / counts["stock"]
            rows[f"{name}, {kind}"] = {"instructions": ratio, "seconds of the search": row["seconds"]}
    show("the input that the search does not see, tuned relative to stock", "program", rows)
