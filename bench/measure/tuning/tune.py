# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what `passpilot tune` gains on the programs of the corpus: linked, summed over objects, and run.

Every program is built with clang-22 -Oz, with -Oz and the machine outliner, and with `passpilot cc -Oz` and
the decisions of a search, for which a unit has --budget seconds, or --compiles compilations; all three are
linked by lld with --gc-sections. Then it is built for link-time optimization, by clang and with the decisions
of `tune --lto` and the same effort. Its objects are summed with the decisions of `tune --reward=object`; with
--objects this is all that is measured, of programs that are there. The outputs of the drivers must be what is
recorded. Prints a table, and writes bench/results/tune.json after each program. Programs that are there with
the same effort, or after more compilations, are not measured again, so that the whole corpus can be measured
in parts. --keep names a folder for the decision files. Fails if a program is larger, or if a geometric mean
is above its limit: 0.94 for linked programs relative to -Oz, 0.96 relative to -Oz with the outliner, 0.92 for
the sums of objects.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from bench.lib import Bar, command, geometric_means, read, require, show, write
from bench.lib.corpus import code_size, exported
from passpilot.training.corpus.layout import Corpus, CorpusProgram
from tests.command import PASSPILOT
from tests.corpus.build import build
from tests.corpus.programs import all_programs

LIMITS: Final = {"tuned/-Oz": 0.94, "tuned/outliner": 0.96, "objects": 0.92}
SEARCHES: Final = {"search": (), "search-lto": ("--lto",), "search-object": ("--reward=object",)}
RECORD: Final = "tune.json"

Row = dict[str, float]


def show_and_check(record: dict[str, Row]) -> None:
    """Print the table of the programs that are complete; exits 1 beyond a limit."""
    rows = {}
    for name, row in record.items():
        if "small_objects" not in row:
            print(f"not complete: {name}", file=sys.stderr)
            continue
        rows[name] = {key: row[key] for key in ("units", "oz", "outliner", "tuned")} | {
            "tuned/-Oz": row["tuned"] / row["oz"],
            "tuned/outliner": row["tuned"] / row["outliner"],
            "objects": row["small_objects"] / row["oz_objects"],
            "LTO": row["lto_tuned"] / row["lto"],
        }
    means = geometric_means(rows.values(), (*LIMITS, "LTO"))
    show("passpilot tune; machine code in bytes", "program", rows, means)
    worst = {key: max(row[key] for row in rows.values()) for key in ("tuned/-Oz", "LTO")}
    require(
        *(Bar(f"{key}, mean", means[key], limit) for key, limit in LIMITS.items()),
        *(Bar(f"{key}, the largest", value, 1) for key, value in worst.items()),
    )


def tuned(corpus: Corpus, effort: tuple[str, int], search: str, folder: Path) -> str:
    """Search the program of a corpus; the option with its decisions."""
    command: list[str | Path] = [PASSPILOT, "tune", f"--corpus={corpus.folder}", f"--{effort[0]}={effort[1]}"]
    subprocess.run([*command, *SEARCHES[search], "-o", folder / search], check=True)
    return f"--decisions={folder / search / f'{corpus.programs[0].name}.decisions'}"


def measured(corpus: Corpus, effort: tuple[str, int], folder: Path) -> Row:
    """Search one program, and build it in all ways."""
    (program,) = corpus.programs
    decisions, for_lto = (tuned(corpus, effort, search, folder) for search in ("search", "search-lto"))
    row: Row = {"units": len(program.modules), effort[0]: effort[1]}
    for key, compiler in (
        ("oz", ["clang-22"]),
        ("outliner", ["clang-22", "-mllvm", "-enable-machine-outliner=always"]),
        ("tuned", [str(PASSPILOT), "cc", decisions]),
        ("lto", ["clang-22", "-flto"]),
        ("lto_tuned", [str(PASSPILOT), "cc", "-flto", for_lto]),
    ):
        row[key], row[f"{key}_objects"] = built(corpus, program, compiler, folder / key)
    return row


def measured_objects(corpus: Corpus, effort: tuple[str, int], folder: Path) -> Row:
    (program,) = corpus.programs
    decisions = tuned(corpus, effort, "search-object", folder)
    _, size = built(corpus, program, [str(PASSPILOT), "cc", decisions], folder / "object")
    return {f"object_{effort[0]}": effort[1], "small_objects": size}


def built(corpus: Corpus, program: CorpusProgram, compiler: list[str], folder: Path) -> tuple[int, int]:
    """The machine code of the linked program, and that of its objects; its runs print what is recorded."""
    folder.mkdir()
    objects = {name: folder / f"{number}.o" for number, name in enumerate(program.modules)}
    flags = ("-Oz", "-c", "-ffunction-sections", "-fdata-sections", "-w", "-x", "ir")

    def compiled(name: str) -> int:
        unit = corpus.units[name]
        model = ("-fPIE",) if unit.relocation_model == "pic" else ("-fno-pie",)
        command: list[str | Path] = [*compiler, *flags, *model, unit.bitcode, "-o", objects[name]]
        subprocess.run(command, check=True)
        return 0 if "-flto" in compiler else code_size(objects[name])

    with ThreadPoolExecutor(2) as pool:
        sizes = list(pool.map(compiled, program.modules))
    drivers = {"clang-22": "clang++-22", "cc": "c++"} if program.language == "c++" else {}
    linker = [drivers.get(word, word) for word in (compiler if "-flto" in compiler else ["clang-22"])]
    words: list[str | Path] = [*linker, "-Oz", "-fuse-ld=lld", "-Wl,--gc-sections"]
    words += [objects[name] for name in program.objects]
    for library in program.libraries:
        words += ["-Wl,--start-lib", *(objects[name] for name in library), "-Wl,--end-lib"]
    image = folder / "image"
    words += [*program.foreign, *program.arguments, "-o", image]
    subprocess.run(words, check=True, cwd=program.directory or None)
    for run in program.runs:
        done = subprocess.run([image, *run.arguments], cwd=run.directory, check=True, capture_output=True)
        if hashlib.sha256(done.stdout).hexdigest() != run.stdout_sha256:
            sys.exit(f"{image}: expected the recorded output of {program.name}, got another one")
    return code_size(image), sum(sizes)


@command
def main(*programs: str, budget: int = 60, compiles: int = 0, keep: str = "", objects: bool = False) -> None:
    effort = ("compiles", compiles) if compiles else ("budget", budget)
    rows: dict[str, Row] = read(RECORD, {})
    for name in programs or all_programs():
        done = rows.get(name, {}).get(f"object_{effort[0]}" if objects else effort[0], 0)
        if done >= effort[1] or (objects and name not in rows):
            continue
        if problems := build([name]):
            print(f"{name} is left out: {problems[0]}", file=sys.stderr)
            continue
        with tempfile.TemporaryDirectory() as folder:
            corpus = exported(name, "Oz", Path(folder, "corpus"))
            row = rows[name] if objects else measured(corpus, effort, Path(folder))
            rows[name] = row | measured_objects(corpus, effort, Path(folder))
            write(RECORD, dict(sorted(rows.items())))
            for path in Path(folder).glob("search*/*.decisions") if keep else ():
                kept = Path(keep, path.parent.name)
                kept.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, kept)
        print(f"{name}: linked {rows[name]['tuned'] / rows[name]['oz']:.4f}", flush=True)
    show_and_check(rows)
