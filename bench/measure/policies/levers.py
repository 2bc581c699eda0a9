# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What levers of code generation are worth on training programs: sizes relative to the best flags.

usage: python -m bench.measure.policies.levers [PROGRAM...]

R1 is -Oz by unit, with a section for every function and variable, `--gc-sections --icf=safe`; R2 is R1 with
-flto, without asynchronous unwind tables, and with relative relocations. Both sides of a ratio have the same
flags. The optimizer runs once for a pipeline, and code generation once for every lever. What is measured is
kept in bench/results/levers.json, where the next call goes on.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from bench.lib import command, geometric_means, read, show, write
from bench.lib.corpus import built, checked
from passpilot.passes.emit import generate
from passpilot.plugin import _core
from passpilot.plugin.compile import file_type, llvm_options
from passpilot.plugin.isolated import run_isolated_together
from passpilot.plugin.module import Module
from passpilot.training.file_sizes import file_sizes
from passpilot.training.ladder.ladder import SIZES
from passpilot.training.policy_folder import PolicyText, RecipeChoice, write_policy
from passpilot.training.tuning.recipes import PLACED, SMALLEST
from tests.command import PASSPILOT
from tests.corpus.build import FIXED_CLOCK, PREOPT
from tests.corpus.programs import Program, all_programs

RECORD: Final = "levers.json"
PROGRAMS: Final = ("lua", "cmark-gfm", "libsvm", "box2d")
"""Training programs, half C and half C++."""
FOLDED: Final = ("-Wl,--gc-sections,--icf=safe",)
LINKS: Final = {"R1": FOLDED, "R2": (*FOLDED, "-Wl,-z,pack-relative-relocs")}
CODE: Final = ("-Oz", "-ffunction-sections", "-fdata-sections", "-w")
DEADLINE: Final = 1800


class Lever(NamedTuple):
    """A pipeline behind the level's own, and options of LLVM."""

    pipeline: str = ""
    options: Sequence[str] = ()


FAULTS: Final = "unwind=faults"
BASE: Final = (FAULTS, *PLACED)
OUTLINED: Final = "enable-machine-outliner=always"
ON_TOP: Final = "all three, "
LEVERS: Final = {
    "nothing": Lever(),
    "block placement for size": Lever("", PLACED[:1]),
    "no machine LICM": Lever("", PLACED[1:]),
    "both": Lever("", PLACED),
    "tables at stops": Lever("", (FAULTS,)),
    "all three": Lever("", BASE),
    f"{ON_TOP}tables of neighbours shared": Lever("", ("unwind=shared", *PLACED)),
} | {
    f"{ON_TOP}{name}": Lever(pipeline, (*BASE, *options))
    for name, pipeline, options in (
        ("the pipeline of the policy", SMALLEST, ()),
        ("outlining", "", (OUTLINED,)),
        ("outlining what saves 5 instructions", "", (OUTLINED, "outliner-benefit-threshold=5")),
        ("outlining what saves 8 instructions", "", (OUTLINED, "outliner-benefit-threshold=8")),
        (
            "outlining what saves 8 instructions, 3 rounds",
            "",
            (OUTLINED, "outliner-benefit-threshold=8", "machine-outliner-reruns=2"),
        ),
        ("outlining what saves 16 instructions", "", (OUTLINED, "outliner-benefit-threshold=16")),
        ("outlining what saves 32 instructions", "", (OUTLINED, "outliner-benefit-threshold=32")),
        ("functions merged", "mergefunc", ()),
        ("nounwind inferred late", "cgscc(function-attrs),rpo-function-attrs", ()),
        ("pushed constants moved", "", ("move-small-constants",)),
        ("no loop strength reduction", "", ("disable-lsr",)),
        ("tails of two instructions merged", "", ("tail-merge-size=2",)),
        ("more blocks compared for tails", "", ("tail-merge-threshold=2000",)),
        ("jump tables from density 10 %", "", ("optsize-jump-table-density=10",)),
        ("jump tables from density 80 %", "", ("optsize-jump-table-density=80",)),
        ("jump tables from 7 cases", "", ("min-jump-table-entries=7",)),
        ("spills split for size", "", ("split-spill-mode=size",)),
        ("conditional moves stay", "", ("x86-cmov-converter=0",)),
    )
}
"""By what a table calls them."""

Record: TypeAlias = dict[str, dict[str, dict[str, dict[str, int]]]]
"""The sizes by reference, program, lever and kind of size."""


def run(*words: str | Path, folder: Path | None = None) -> None:
    subprocess.run(words, cwd=folder, check=True, timeout=DEADLINE, stderr=subprocess.DEVNULL)


def libraries(program: Program) -> list[str]:
    return [*program.libs, *(["-lstdc++"] if program.lang == "c++" else []), "-lm"]


def front_end(program: Program, reference: str, folder: Path) -> Iterator[Path]:
    """The units before optimization."""
    for source in program.sources():
        if reference == "R1":
            yield program.unit(source, "Oz")
            continue
        path = folder / f"{source.replace('/', '__')}.bc"
        flags = (*PREOPT, *FIXED_CLOCK, *program.flags(source), "-fno-asynchronous-unwind-tables")
        run("clang-22", "-Oz", *flags, source, "-o", path, folder=program.source)
        yield path


def optimized(program: Program, reference: str, pipeline: str, folder: Path) -> list[Path]:
    """The modules before code generation."""
    compiler: list[str | Path] = ["clang-22"]
    if pipeline:
        text = PolicyText(name="tried", description="A pipeline that is tried")
        write_policy(str(folder / "policy"), text, {}, [RecipeChoice(pipeline)])
        compiler = [PASSPILOT, "cc", f"--policy={folder / 'policy'}"]
    before = list(front_end(program, reference, folder))
    paths = [folder / f"{number}.bc" for number in range(len(before))]
    kind = ["-flto"] if reference == "R2" else ["-emit-llvm"]
    for path, unit in zip(paths, before, strict=True):
        run(*compiler, *CODE, *kind, "-c", unit, "-o", path)
    if reference == "R1":
        return paths
    whole = folder / "whole.bc"
    link = ("-flto", "-fuse-ld=lld", *LINKS[reference], "-Wl,--lto-emit-llvm")
    run(*compiler, *CODE, *link, *paths, *libraries(program), "-o", whole)
    return [whole]


def generated(modules: Sequence[Path], options: Sequence[str], folder: str) -> list[str]:
    """Objects, made in this process, which should end afterwards: LLVM's options stay set."""
    flags = ("relocation-model=pic", "function-sections", "data-sections", "addrsig", *options)
    llvm_options([f"-{flag}" for flag in flags])
    paths = []
    for number, path in enumerate(modules):
        wanted = _core.EmitOptions()
        wanted.filetype, wanted.relocation_model = file_type("obj"), "pic"
        paths.append(f"{folder}/{number}.o")
        Path(paths[-1]).write_bytes(generate(Module.read(path), wanted).code)
    return paths


def measured(name: str, reference: str, modules: Sequence[Path], options: Sequence[str]) -> dict[str, int]:
    program = all_programs()[name]
    with tempfile.TemporaryDirectory() as folder:
        objects, image = generated(modules, options, folder), f"{folder}/{name}"
        link = ("clang-22", "-fuse-ld=lld", "-pie", *LINKS[reference], *objects, *libraries(program))
        run(*link, "-o", image)
        return file_sizes(image)._asdict()


def measure(program: Program, reference: str, known: dict[str, dict[str, int]]) -> None:
    """Add what is not known of a program."""
    missing = {name: lever for name, lever in LEVERS.items() if name not in known}
    for pipeline in dict.fromkeys(lever.pipeline for lever in missing.values()):
        with tempfile.TemporaryDirectory() as folder:
            modules = optimized(program, reference, pipeline, Path(folder))
            levers = {name: lever for name, lever in missing.items() if lever.pipeline == pipeline}
            runs = [
                partial(measured, program.name, reference, modules, lever.options)
                for lever in levers.values()
            ]
            known |= zip(levers, checked(run_isolated_together("levers", runs, DEADLINE)), strict=True)


def worth(record: Record, reference: str, name: str, base: str = "nothing") -> list[dict[str, float]]:
    """The ratios of a lever, by program, to another one."""
    sides = [each for each in record[reference].values() if name in each and base in each]
    return [{size: each[name][size] / each[base][size] for size in SIZES} for each in sides]


def measure_all(names: Sequence[str], record: Record, keep: Callable[[], object]) -> None:
    """Add what is not known of programs to a record; `keep` is called after each program."""
    for reference in LINKS:
        for program in built(names):
            measure(program, reference, record.setdefault(reference, {}).setdefault(program.name, {}))
            keep()


@command
def main(*programs: str) -> None:
    record: Record = read(RECORD, {})
    measure_all(programs or PROGRAMS, record, lambda: write(RECORD, record))
    for reference in LINKS:
        rows = {}
        for name in LEVERS:
            ratios = worth(record, reference, name)
            largest = {f"largest {size}": max(row[size] for row in ratios) for size in ("allocated", "xz")}
            rows[name] = {"programs": len(ratios), **geometric_means(ratios, SIZES), **largest}
        show(f"{reference}: relative to the same flags without the lever", "lever", rows)
