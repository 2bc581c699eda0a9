# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs to search: modules of their own, or the linked programs of a corpus."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from passpilot.passes.unasked import UNOPTIMIZED, cause, how_made
from passpilot.plugin.errors import InputError, UsageError
from passpilot.plugin.module import Module
from passpilot.plugin.origin import warn_user
from passpilot.plugin.version import MAJOR
from passpilot.training.corpus.layout import Corpus, CorpusProgram, ProgramRun
from passpilot.training.corpus.link_files import link_folder
from passpilot.training.tuning.reward import RewardText
from passpilot.training.tuning.sizes import LinkedSizes, SizeMeasure, SizeOf, object_sizes, start_time
from passpilot.training.tuning.unit import Unit

Word = TypeVar("Word")


@dataclass(frozen=True, slots=True)
class TunedProgram:
    """Units that are searched together, and the size that counts."""

    name: str
    how: str
    """How the program is compiled, for the head of the decision file."""
    units: Sequence[Unit]
    measure: SizeMeasure
    """What is made small."""
    sizes: SizeOf
    """Measures one of `FILE_SIZES`."""
    linked: LinkedSizes | None = None
    """Links the program; None for a module of its own."""
    runs: Sequence[ProgramRun] = ()
    link: Sequence[str] = ()
    """The flags with which it is linked, and which the build's own link does not have."""


def single_module(source: str | os.PathLike[str] | Module, pipeline: str, reward: RewardText) -> TunedProgram:
    """A module of its own, whose size is that of its object.

    Raises:
        InputError: it cannot be read.
        UsageError: the reward is the time of a run, which a module does not have.
    """
    if reward.run is not None:
        hint = "give --corpus=DIR, or -- and the command of a build"
        raise UsageError(f"tune: --reward: expected a program for {reward.text!r}, got a module; {hint}")
    module = source if isinstance(source, Module) else Module.read(source)
    units = [Unit(module, pipeline, rewards=reward.parts)]
    name = module.source_file if isinstance(source, Module) else os.fspath(source)
    if how_made(module) == UNOPTIMIZED:
        raise InputError(
            f"tune: {name}: expected a module that may be optimized, got another: {cause(module)}"
        )
    if why := cause(module):
        warn_user(f"tune: {name}: expected a module that is not optimized yet, got another: {why}")
    measure = reward.measure(units, object_sizes)
    return TunedProgram(name, f"{pipeline} and llc -O2", units, measure, object_sizes)


def linked_program(corpus: Corpus, program: CorpusProgram, pipeline: str, reward: RewardText) -> TunedProgram:
    """A program of a corpus, whose size is that of the executable; a unit keeps its level without `pipeline`.

    Raises:
        InputError: a unit cannot be read, or is not optimized.
    """
    units: list[Unit] = []
    numbers: dict[str, int] = {}

    def number(name: str) -> int:
        if name not in numbers:
            if name not in corpus.units:
                known = f"a unit of {corpus.folder}"
                raise InputError(f"tune: expected {known} in program {program.name}, got {name}")
            entry = corpus.units[name]
            numbers[name] = len(units)
            if entry.level == "O0" and not pipeline:
                expected = f"tune: expected optimized units in {program.name}, got -O0 for {name}"
                raise InputError(f"{expected}; build with an optimization level, such as -Oz")
            units.append(
                Unit(
                    Module.read(entry.bitcode),
                    pipeline or f"default<{entry.level}>",
                    entry.relocation_model,
                    entry.function_sections,
                    reward.parts,
                    not pipeline,
                )
            )
        return numbers[name]

    linker = linker_words(program)
    command = [link_driver(program), *link_words(program, small_link(program.arguments), number)]
    if "-fuse-ld=lld" not in linker and file_kind(program.arguments) == "elf":
        driver, *words = (word for word in command if word != ALONE)
        command = [driver, "-Wl,--start-group", *words, "-Wl,--end-group"]  # GNU ld needs the build's groups
    linked = LinkedSizes(command, link_folder(program, str(corpus.folder)), linker)
    return linked_units(program, units, linked, reward)


def linked_units(
    program: CorpusProgram,
    units: Sequence[Unit],
    linked: LinkedSizes,
    reward: RewardText,
) -> TunedProgram:
    """The units of a program that `linked` links."""
    measure = start_time if reward.run is not None else reward.measure(units, linked)
    small = ",".join(flag[4:] for flag in small_link(program.arguments))
    is_build = program.is_library or is_lld(program.linker)
    lld = ["-fuse-ld=lld"] * ("-fuse-ld=lld" in linked.linker and not is_build)
    more = [*lld, *[f"-Wl,{small}"] * bool(small)]
    how = f"linked by lld {small.replace(',', ' ')}".rstrip()
    if has_own_layout(program.arguments):
        how = "linked as the build does it"
    return TunedProgram(program.name, how, units, measure, linked, linked, program.runs, more)


def link_driver(program: CorpusProgram) -> str:
    """The compiler that links a program."""
    return f"clang++-{MAJOR}" if program.language == "c++" else f"clang-{MAJOR}"


def has_own_layout(arguments: Sequence[str]) -> bool:
    """Whether a link has a script, or none of the system's start files and libraries, as firmware has it."""
    return any(
        word in ("-nostdlib", "-nostartfiles") or word.startswith(("-T", "-Wl,-T", "-Wl,--script"))
        for word in arguments
    )


def is_lld(linker: str) -> bool:
    """Whether the name of a linker is one of lld's."""
    return linker.startswith("ld.lld")


def linker_words(program: CorpusProgram) -> Sequence[str]:
    """The arguments that choose the linker: lld, but the build's own linker for a layout of its own."""
    if not has_own_layout(program.arguments) or program.is_library or is_lld(program.linker):
        return ("-fuse-ld=lld",)
    path = shutil.which(program.linker) if program.linker else None
    return (f"--ld-path={path}",) if path else ()


def with_kept(corpus: Corpus, program: CorpusProgram, symbols: Sequence[str]) -> CorpusProgram:
    """The program whose link keeps these symbols; in a library, they replace all that others can call.

    Raises:
        UsageError: no unit of the program defines one of them.
    """
    if not symbols:
        return program
    defined: set[str] = set()
    for name in program.modules:
        module = Module.read(corpus.units[name].bitcode)
        values = (*module.functions, *module.globals)
        defined.update(each.name for each in values if not each.is_declaration)
    if unknown := [symbol for symbol in symbols if symbol not in defined]:
        known = f"a function or variable of {program.name}"
        raise UsageError(f"tune: --keep: expected {known}, got {unknown[0]!r}")
    kept = ["-Wl,--gc-sections" if word == "-Wl,--no-gc-sections" else word for word in program.arguments]
    arguments = kept if program.is_library else program.arguments
    return replace(program, arguments=(*arguments, *(f"-Wl,--undefined={symbol}" for symbol in symbols)))


_KINDS: Final = {"wasm": "wasm", "darwin": "macho", "macos": "macho", "apple": "macho", "msvc": "coff"}
"""The kinds of files by parts of triples; others are ELF, or have its linker's flags."""

_SMALL: Final = {
    "elf": {"gc-sections": "--gc-sections", "icf": "--icf=safe"},
    "wasm": {"gc-sections": "--gc-sections"},
    "macho": {"dead_strip": "-dead_strip", "icf": "--icf=safe"},
    "coff": {"opt:ref": "/opt:ref", "opt:": "/opt:safeicf"},
}
"""By kind of file: what the build's own flag has in it, and ours."""


def file_kind(arguments: Sequence[str]) -> str:
    """The kind of file that a link makes, by its target."""
    target = next((word for word in arguments if word.startswith(("--target=", "-target="))), "")
    if "-target" in arguments[:-1]:
        target = arguments[arguments.index("-target") + 1]
    return next((kind for part, kind in _KINDS.items() if part in target), "elf")


def small_link(arguments: Sequence[str]) -> list[str]:
    """The linker's flags that drop what is not used, and fold functions that are the same.

    Those that the build itself names are the build's own. A program with a layout of its own gets none.
    """
    if has_own_layout(arguments):
        return []
    return [
        f"-Wl,{flag}"
        for part, flag in _SMALL[file_kind(arguments)].items()
        if not any(part in word for word in arguments if word.startswith("-Wl,"))
    ]


ALONE: Final = "-Wl,--no-dependent-libraries"
"""An option of lld alone."""


def link_words(program: CorpusProgram, more: Sequence[str], place: Callable[[str], Word]) -> list[str | Word]:
    """The arguments that link a program; `place` gives the object of a unit.

    Raises:
        InputError: it names files outside of its corpus.
    """
    if program.refused:
        raise InputError(program.refused)
    words: list[str | Word] = [place(name) for name in program.objects]
    for library in program.libraries:
        words += ["-Wl,--start-lib", *map(place, library), "-Wl,--end-lib"]
    # no other file than those of the command: objects for ELF may name libraries
    alone = [ALONE] if file_kind(program.arguments) == "elf" else []
    return [*words, *program.foreign, *program.arguments, *alone, *more]
