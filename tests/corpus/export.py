# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write programs of the corpus as a folder in the layout of `passpilot corpus`.

    python -m tests.corpus.export DIR                      all programs at Oz
    python -m tests.corpus.export DIR --level O2 lua zstd  two of them
    python -m tests.corpus.export DIR --reference=R2 lua   as a build for link-time optimization has them

A program's own units are a library, and those of its driver are objects; a program without a driver has
objects alone.
"""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path

from passpilot.plugin.errors import Error
from passpilot.plugin.module import Module
from passpilot.plugin.version import MAJOR
from passpilot.training.corpus.builder import CorpusDraft, UnitDraft, build_corpus
from passpilot.training.corpus.front_end import FrontEnd
from passpilot.training.corpus.layout import CorpusProgram, ProgramRun, UnitOrigin
from tests.corpus.build import FIXED_CLOCK, bindir, build
from tests.corpus.programs import LEVELS, Program, all_programs, programs

SECTIONS = ("-ffunction-sections", "-fdata-sections")
NO_TABLES = "-fno-asynchronous-unwind-tables"
REFERENCES = {
    "": ((), ()),
    "R1": (SECTIONS, ()),
    "R2": ((*SECTIONS, NO_TABLES), ("-Wl,-z,pack-relative-relocs",)),
}
"""The flags of docs/evaluation.md for compilations and for links."""


def export(folder: Path, names: list[str], level: str, *, reference: str = "") -> list[str]:
    """Write a corpus with the flags of one of `REFERENCES`; returns the problems met.

    Raises:
        Error: the folder is there already, or cannot be written.
    """
    problems = build(names)
    chosen = [all_programs()[name] for name in names]
    flags, linking = REFERENCES[reference]
    units = [_unit(each, source, level, flags) for each in chosen for source in each.sources()]
    draft = CorpusDraft(units, [_program(each, linking) for each in chosen])
    return [*problems, *build_corpus(str(folder), draft).problems]


def _unit(program: Program, source: str, level: str, flags: tuple[str, ...]) -> UnitDraft:
    command = (
        f"clang-{MAJOR}",
        f"-{level}",
        *flags,
        "-w",
        *FIXED_CLOCK,
        *program.flags(source),
        "-c",
        source,
    )
    front_end = FrontEnd(str(bindir() / "clang"), str(program.source), os.environ)
    (job,) = front_end.jobs(command)
    origin = UnitOrigin(
        "",
        "c++" if job.is_cxx else "c",
        source=str(program.source / source),
        command=command,
        directory=str(program.source),
    )
    bitcode = program.unit(source, level)
    read = partial(_without_tables, bitcode) if NO_TABLES in flags else bitcode.read_bytes
    return UnitDraft(f"{program.name}/{source}", read, lambda _: job.recorded, origin)


def _without_tables(bitcode: Path) -> bytes:
    """The module as clang's front end makes it with `NO_TABLES`."""
    module = Module.read(bitcode)
    for function in module.functions:
        if "uwtable" in function.attributes:
            function.remove_attribute("uwtable")
    return module.bitcode()


def _program(program: Program, linking: tuple[str, ...]) -> CorpusProgram:
    drivers = {f"_driver/{source}" for source in program.driver.sources}
    own = [f"{program.name}/{each}" for each in program.sources() if each not in drivers]
    driving = [f"{program.name}/{each}" for each in program.sources() if each in drivers]
    arguments = tuple(each.replace("{drv}", str(program.source / "_driver")) for each in program.driver.args)
    return CorpusProgram(
        program.name,
        program.lang,
        "c++" if program.lang == "c++" else "cc",
        tuple(driving or own),
        (tuple(own),) if driving else (),
        arguments=(*program.libs, *linking),
        runs=(ProgramRun(arguments, str(program.source), program.driver.stdout_sha256),),
        directory=str(program.source),
    )


def main() -> int:
    """Entry point of the command."""
    parser = argparse.ArgumentParser(description="Write programs of the corpus in MLGO's layout.")
    parser.add_argument("folder", type=Path, help="the folder to make")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="among " + ", ".join(all_programs()))
    parser.add_argument("--level", choices=LEVELS, default="Oz")
    parser.add_argument("--reference", choices=REFERENCES, default="", help="flags of docs/evaluation.md")
    args = parser.parse_intermixed_args()
    if unknown := [name for name in args.programs if name not in all_programs()]:
        parser.error(f"unknown program {unknown[0]!r}")
    try:
        problems = export(
            args.folder, args.programs or list(programs()), args.level, reference=args.reference
        )
    except Error as error:
        problems = [str(error)]
    for problem in problems:
        print(f"corpus: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
