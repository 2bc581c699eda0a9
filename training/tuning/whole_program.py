# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program as lld's full link-time optimization sees it: one module, whose decisions are searched."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from typing import Final

from passpilot.plugin.errors import InputError, UsageError
from passpilot.plugin.module import Module
from passpilot.plugin.version import MAJOR
from passpilot.training.corpus.layout import Corpus, CorpusProgram, CorpusUnit
from passpilot.training.corpus.link_files import link_folder
from passpilot.training.corpus.recorded.link_command import LD
from passpilot.training.timing.commands import CommandPool, Commands
from passpilot.training.tuning.reward import RewardText
from passpilot.training.tuning.sizes import LinkedSizes, run_compiler
from passpilot.training.tuning.tuned_program import (
    TunedProgram,
    file_kind,
    is_lld,
    link_driver,
    link_words,
    linked_units,
    small_link,
)
from passpilot.training.tuning.unit import Unit

STAGE: Final = "internalize"
"""Of lld's `--save-temps`: the module in front of its optimization."""


def merged_program(corpus: Corpus, program: CorpusProgram, reward: RewardText, jobs: int) -> TunedProgram:
    """The module that lld makes of a program of a corpus, before it optimizes it.

    Raises:
        InputError: the program has no units, or units of several levels, or one that is not optimized.
        CompilationError: a unit cannot be compiled, or the program does not link.
    """
    if program.is_library:
        why = "what of it can be inlined is known where a program is linked"
        raise UsageError(f"tune: --lto: expected a linked program, got {program.name}, a library; {why}")
    if program.compiler == LD or (program.linker and not is_lld(program.linker)):
        expected = f"tune: --lto: expected clang -fuse-ld=lld to link {program.name}"
        raise UsageError(f"{expected}, got {program.linker}, which the build calls")
    units = [corpus.units[name] for name in program.modules]
    levels = {unit.level for unit in units}
    if len(levels) != 1 or "O0" in levels:
        got = ", ".join(f"-{level}" for level in sorted(levels)).replace("-O0", "no -O, or -O0")
        hint = "build with one optimization level, such as -Oz"
        raise InputError(f"tune: expected one level in {program.name}, got {got}; {hint}")
    folder = link_folder(program, str(corpus.folder))
    with tempfile.TemporaryDirectory(prefix="passpilot-lto-") as scratch:
        paths = {unit.name: os.path.join(scratch, f"{number}.o") for number, unit in enumerate(units)}
        commands = Commands()  # which end with the pool's block if it fails, or at Ctrl-C
        with CommandPool(jobs, commands) as pool:
            list(pool.map(lambda unit: _prepare(unit, paths[unit.name], commands), units))
        image = os.path.join(scratch, "image")
        words = link_words(program, [], lambda name: paths[name])
        link = [link_driver(program), "-fuse-ld=lld", "-flto", f"-{levels.pop()}", *words]
        stages = f"--save-temps={STAGE}" if file_kind(program.arguments) == "elf" else "--save-temps"
        run_compiler([*link, f"-Wl,{stages}", "-o", image], folder, "the program to link")
        merged = f"{image}.0.2.{STAGE}.bc"
        if not os.path.exists(merged):
            raise InputError(f"tune: expected a module of lld's for {program.name}, got none; it has no code")
        module = Module.read(merged)
    model = "pic" if any(unit.relocation_model == "pic" for unit in units) else "static"
    # clang gives lld no level, and lld's is O2; functions have the attributes of theirs.
    unit = Unit(module, "lto<O2>", model, sections=True, rewards=reward.parts)
    small = small_link(program.arguments)
    merged_link = link_words(replace(program, objects=(STAGE,), libraries=()), small, lambda _: 0)
    command: list[str | int] = [link_driver(program), *merged_link]
    return linked_units(program, [unit], LinkedSizes(command, folder), reward)


def _prepare(unit: CorpusUnit, output: str, commands: Commands) -> None:
    """Compile a unit for link-time optimization."""
    position = "-fPIE" if unit.relocation_model == "pic" else "-fno-pie"
    sections = ("-ffunction-sections", "-fdata-sections")
    flags = (f"-{unit.level}", "-flto", position, *sections, "-w", "-c", "-x", "ir")
    target = [f"--target={unit.triple}"] if unit.triple else []
    words = [f"clang-{MAJOR}", *target, *flags, str(unit.bitcode), "-o", output]
    run_compiler(words, None, f"{unit.name} to compile", commands)
