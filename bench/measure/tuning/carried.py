# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what decision files and a model that LLVM 22 made are worth with another LLVM.

    python -m bench.measure.tuning.carried build/carried            with LLVM 22: makes them, and measures
    .venv-23/bin/python -m bench.measure.tuning.carried build/carried   with LLVM 23: measures the same files

The folder gets two decision files for each of PROGRAMS, by `passpilot tune` with --compiles compilations per
unit and by `passpilot tune --search=inline` with three times as many, and a model that imitates the second
file in the programs of TAUGHT. Each LLVM compiles the sources with its own clang at -Oz, links the programs
(R1 of docs/evaluation.md), and runs them: they must print what the corpus says. Writes
bench/results/versions/MAJOR-carried.json, of which bench.pages.carried makes a table.
"""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, Final

import passpilot
from bench.lib import command, show, write
from passpilot.plugin.version import MAJOR
from passpilot.training.corpus.layout import Corpus
from tests.command import PASSPILOT
from tests.corpus.export import export
from tests.other_llvm import DEFAULT

TAUGHT: Final = ("lua",)
PROGRAMS: Final = (*TAUGHT, "libyaml", "lz4")
WAYS: Final = ("-Oz", "tuned", "inline", "model")
GONE: Final = re.compile(r": (\d+) of \d+ no longer match a call")
SEARCHES: Final[dict[str, tuple[int, list[str]]]] = {"tuned": (1, []), "inline": (3, ["--search=inline"])}
"""The folders with decision files, how many compilations they take, and what is searched."""
SETTINGS: Final = 'policy = "trees"\n[data]\ntrain = ["data/train"]\n'


def make(folder: Path, corpus: Path, compiles: int) -> None:
    """Search decisions, and teach a model by them."""

    def run(*words: str | Path) -> None:
        subprocess.run([PASSPILOT, *words], check=True, cwd=folder)

    for name, (times, options) in SEARCHES.items():
        if not (folder / name).exists():
            run("tune", *options, f"--corpus={corpus}", f"--compiles={compiles * times}", "-o", name)
    programs = [f"--program={name}" for name in TAUGHT]
    teacher = "--teacher=decisions:inline/{program}.decisions"
    run("train", "data", f"--corpus={corpus}", *programs, teacher, "-o", "data")
    (folder / "model.toml").write_text(SETTINGS)
    run("train", "imitate", "model.toml", "-o", "model")


def matched(corpus: Corpus, decisions: Path) -> tuple[int, int]:
    """How many decisions about inlining have a call in the units of a program, and how many there are."""
    count = sum(line.startswith("inline ") for line in decisions.read_text().splitlines())
    (program,) = (each for each in corpus.programs if each.name == decisions.stem)
    gone = 0
    for name in program.modules:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            module = passpilot.Module.read(corpus.units[name].bitcode)
            passpilot.optimize(module, "default<Oz>", decisions=str(decisions))
        gone += sum(int(found[1]) for each in caught if (found := GONE.search(str(each.message))))
    return count - gone, count


def measured(folder: Path, corpus: Path) -> dict[str, dict[str, Any]]:
    """The loaded bytes of each program by how it is built, and the decisions that match a call."""
    files = [f"decisions:{folder / name}/{{program}}.decisions" for name in SEARCHES]
    contenders = [*files, f"onnx:{folder / 'model/model.onnx'}"]
    result = passpilot.evaluate(corpus, contenders, baselines=["-Oz"], rounds=0)
    rows = {}
    for program in result.programs:
        name, found = program["name"], list(program["results"].values())
        if wrong := [text for row in found for text in row["errors"]] or [
            f"it prints something else as {way}"
            for way, row in zip(WAYS, found, strict=True)
            if row["output"] != "right"
        ]:
            sys.exit(f"{name}: {wrong[0]}")
        sizes = dict(zip(WAYS, (row["allocated"] for row in found), strict=True))
        rows[name] = {**sizes, "matched": matched(Corpus.read(corpus), folder / f"inline/{name}.decisions")}
    return rows


@command
def main(folder: str = "build/carried", compiles: int = 8) -> None:
    here = Path(folder).absolute()
    corpus = here / f"corpus-{MAJOR}"
    if not corpus.exists() and (problems := export(corpus, list(PROGRAMS), "Oz", reference="R1")):
        sys.exit("\n".join(problems))
    if not (here / "model").exists():
        if MAJOR != DEFAULT:
            sys.exit(f"{folder}: expected what LLVM {DEFAULT} has made; run this with it first")
        make(here, corpus, compiles)
    rows = measured(here, corpus)
    write(f"versions/{MAJOR}-carried.json", {"taught": TAUGHT, "programs": rows})
    show(
        f"with LLVM {MAJOR}",
        "program",
        {name: {way: row[way] / row["-Oz"] for way in WAYS[1:]} for name, row in rows.items()},
    )
