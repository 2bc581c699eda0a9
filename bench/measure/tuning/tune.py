# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what `passpilot tune` gains on the programs of the corpus: linked, summed over objects, and run.

usage: tuning.tune [--budget=SECONDS | --compiles=N] [--keep=DIR] [--objects] [PROGRAM ...]

Every program is built with clang-22 -Oz, with -Oz and the machine outliner, and with `passpilot cc -Oz` and
the decisions of a search of SECONDS (60), or of N compilations, per unit; all three are linked by lld with
--gc-sections. Then it is built for link-time optimization, by clang and with the decisions of `tune --lto`
and the same effort. Its objects are summed with the decisions of `tune --reward=object`; with --objects this
is all that is measured, of programs that are there. The outputs of the drivers must be what is recorded.
Prints a table, and writes bench/results/tune.json after each program. Programs that are there with the same
effort, or after more compilations, are not measured again, so that the whole corpus can be measured in
parts. DIR keeps the decision files.
Fails if a program is larger, or if a geometric mean is above its limit: LIMIT for linked programs relative
to -Oz, OUTLINED relative to -Oz with the outliner, OBJECTS for the sums of objects.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from bench.lib.records import ROOT
from passpilot.training.corpus.layout import Corpus, CorpusProgram
from passpilot.training.rewards import code_bytes
from tests.corpus.build import build
from tests.corpus.export import export
from tests.corpus.programs import all_programs

LIMIT: Final = 0.94
OUTLINED: Final = 0.96
OBJECTS: Final = 0.92
MEANS: Final = ("tuned/-Oz", "/outliner", "objects", "LTO")
RESULTS: Final = ROOT / "bench/results/tune.json"
PASSPILOT: Final = str(Path(sys.executable).with_name("passpilot"))
OUTLINER: Final = ("-mllvm", "-enable-machine-outliner=always")

Row = dict[str, float]


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser()
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--budget", type=int, default=60)
    group.add_argument("--compiles", type=int)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--objects", action="store_true")
    parser.add_argument("programs", nargs="*", default=list(all_programs()))
    options = parser.parse_args()
    effort = ("compiles", options.compiles) if options.compiles else ("budget", options.budget)
    rows: dict[str, Row] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.programs:
            done = rows.get(name, {}).get(f"object_{effort[0]}" if options.objects else effort[0], 0)
            if done >= effort[1] or (options.objects and name not in rows):
                continue
            if problems := build([name]):
                print(f"bench_tune: {name} is left out: {problems[0]}", file=sys.stderr)
                continue
            place = Path(folder) / name
            place.mkdir()
            rows[name] = (
                rows[name] | measured_objects(exported(name, place), effort, place)
                if options.objects
                else measured(name, effort, place)
            )
            RESULTS.write_text(json.dumps(dict(sorted(rows.items())), indent=1) + "\n")
            if options.keep:
                keep(place, options.keep)
            shutil.rmtree(place)
            print(f"{name}: linked {rows[name]['tuned'] / rows[name]['oz']:.4f}", flush=True)
    show(rows)


def keep(made: Path, folder: Path) -> None:
    """Copy the decision files of a program."""
    for search in ("search", "search-lto", "search-object"):
        (folder / search).mkdir(parents=True, exist_ok=True)
        for path in (made / search).glob("*.decisions"):
            shutil.copy(path, folder / search)


def show(found: dict[str, Row]) -> None:
    """Print the table of the programs that are complete; exits if a limit is passed."""
    rows = {name: row for name, row in found.items() if "small_objects" in row}
    table = Table(title="passpilot tune --size; .text in bytes")
    for column in (
        "program",
        "units",
        "-Oz",
        "outliner",
        "tuned",
        "tuned/-Oz",
        "/outliner",
        "objects",
        "LTO",
    ):
        table.add_column(column, justify="left" if column == "program" else "right")
    ratios = {
        "tuned/-Oz": [row["tuned"] / row["oz"] for row in rows.values()],
        "/outliner": [row["tuned"] / row["outliner"] for row in rows.values()],
        "objects": [row["small_objects"] / row["oz_objects"] for row in rows.values()],
        "LTO": [row["lto_tuned"] / row["lto"] for row in rows.values()],
    }
    for number, (name, row) in enumerate(rows.items()):
        sizes = (f"{row[key]:.0f}" for key in ("units", "oz", "outliner", "tuned"))
        table.add_row(name, *sizes, *(f"{each[number]:.4f}" for each in ratios.values()))
    means = {key: math.exp(sum(map(math.log, each)) / len(each)) for key, each in ratios.items()}
    table.add_row("geometric mean", "", "", "", "", *(f"{mean:.4f}" for mean in means.values()))
    Console(width=110).print(table)
    limits = {"tuned/-Oz": LIMIT, "/outliner": OUTLINED, "objects": OBJECTS}
    missed = [f"{key} {means[key]:.4f} > {limit}" for key, limit in limits.items() if means[key] > limit]
    if left := found.keys() - rows.keys():
        print(f"bench_tune: not complete: {', '.join(sorted(left))}", file=sys.stderr)
    missed += [f"{name} is larger" for name, row in rows.items() if row["tuned"] > row["oz"]]
    missed += [f"{name} is larger with LTO" for name, row in rows.items() if row["lto_tuned"] > row["lto"]]
    if missed:
        sys.exit(f"bench_tune: expected less: {', '.join(missed)}")


def exported(name: str, folder: Path) -> Corpus:
    """A corpus of one program."""
    problems = export(folder / "corpus", [name], "Oz", sections=True)
    if problems:
        sys.exit(f"bench_tune: {problems[0]}")
    return Corpus.read(folder / "corpus")


def tune(corpus: Corpus, effort: tuple[str, int], *words: str | Path) -> None:
    """Search."""
    command = [PASSPILOT, "tune", f"--corpus={corpus.folder}", f"--{effort[0]}={effort[1]}"]
    subprocess.run([*command, *words], check=True)


def measured(name: str, effort: tuple[str, int], folder: Path) -> Row:
    """Search one program, and build it in all ways."""
    corpus = exported(name, folder)
    (program,) = corpus.programs
    tune(corpus, effort, "-o", folder / "search")
    tune(corpus, effort, "--lto", "-o", folder / "search-lto")
    decisions = [f"--decisions={folder / each / f'{name}.decisions'}" for each in ("search", "search-lto")]
    row: Row = {"units": len(program.modules), effort[0]: effort[1]}
    for key, compiler in (
        ("oz", ["clang-22"]),
        ("outliner", ["clang-22", *OUTLINER]),
        ("tuned", [PASSPILOT, "cc", decisions[0]]),
        ("lto", ["clang-22", "-flto"]),
        ("lto_tuned", [PASSPILOT, "cc", "-flto", decisions[1]]),
    ):
        image, row[f"{key}_objects"] = built(corpus, program, compiler, folder / key)
        row[key] = code_bytes(image.read_bytes())
        check_output(program, image)
    return row | measured_objects(corpus, effort, folder)


def measured_objects(corpus: Corpus, effort: tuple[str, int], folder: Path) -> Row:
    """Search small objects of one program, and build them."""
    (program,) = corpus.programs
    tune(corpus, effort, "--reward=object", "-o", folder / "search-object")
    decisions = f"--decisions={folder / 'search-object' / f'{program.name}.decisions'}"
    image, size = built(corpus, program, [PASSPILOT, "cc", decisions], folder / "object")
    check_output(program, image)
    return {f"object_{effort[0]}": effort[1], "small_objects": size}


def built(corpus: Corpus, program: CorpusProgram, compiler: list[str], folder: Path) -> tuple[Path, float]:
    """The linked program, and the machine code of its objects."""
    folder.mkdir()
    objects = {name: folder / f"{number}.o" for number, name in enumerate(program.modules)}
    flags = ("-Oz", "-c", "-ffunction-sections", "-fdata-sections", "-w", "-x", "ir")

    def compiled(name: str) -> int:
        unit = corpus.units[name]
        model = ("-fPIE",) if unit.relocation_model == "pic" else ("-fno-pie",)
        command: list[str | Path] = [*compiler, *flags, *model, unit.bitcode, "-o", objects[name]]
        subprocess.run(command, check=True)
        data = objects[name].read_bytes()
        return code_bytes(data) if data.startswith(b"\x7fELF") else 0

    with ThreadPoolExecutor(2) as pool:
        sizes = list(pool.map(compiled, program.modules))
    drivers = {"clang-22": "clang++-22", "cc": "c++"} if program.language == "c++" else {}
    linker = [drivers.get(each, each) for each in (compiler if "-flto" in compiler else ["clang-22"])]
    words: list[str | Path] = [*linker, "-Oz", "-fuse-ld=lld", "-Wl,--gc-sections"]
    words += [objects[name] for name in program.objects]
    for library in program.libraries:
        words += ["-Wl,--start-lib", *(objects[name] for name in library), "-Wl,--end-lib"]
    image = folder / "image"
    words += [*program.foreign, *program.arguments, "-o", image]
    subprocess.run(words, check=True, cwd=program.directory or None)
    return image, sum(sizes)


def check_output(program: CorpusProgram, image: Path) -> None:
    """Make sure that the drivers print what is recorded."""
    for run in program.runs:
        done = subprocess.run([image, *run.arguments], cwd=run.directory, check=True, capture_output=True)
        if hashlib.sha256(done.stdout).hexdigest() != run.stdout_sha256:
            sys.exit(f"bench_tune: {image}: expected the recorded output of {program.name}, got another one")


if __name__ == "__main__":
    main()
