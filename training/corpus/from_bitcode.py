# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Corpora of plain bitcode files, and of the files that lld keeps of a ThinLTO link in one process.

`ld.lld --save-temps=import --thinlto-emit-index-files` writes for x.o the module with imported functions,
x.o.3.import.bc, and its index, x.o.thinlto.bc.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from passpilot.plugin.files import MOST_TEXT, files_below, read_regular
from passpilot.plugin.json_and_toml import read_input
from passpilot.training.corpus.builder import CorpusDraft, UnitDraft
from passpilot.training.corpus.inspection import ModuleFacts
from passpilot.training.corpus.layout import UnitOrigin, command_arguments

IMPORTED: Final = ".3.import.bc"
INDEX: Final = ".thinlto.bc"


def draft_bitcode(folder: str, override: tuple[str, ...] | None) -> CorpusDraft:
    """A draft of all `*.bc` below a folder, named by their paths without `.bc`.

    The arguments are `override`, those in a file `NAME.cmd`, or else `derived`.

    Raises:
        InputError: the folder cannot be read.
    """
    files = [path for path in files_below(folder, ".bc") if not path.name.endswith(INDEX)]
    return CorpusDraft([_plain(path, folder) for path in files], override=override)


def _plain(path: Path, folder: str) -> UnitDraft:
    stem = str(path.relative_to(folder)).removesuffix(".bc")
    command, index = path.with_name(f"{path.stem}.cmd"), path.with_name(f"{path.stem}{INDEX}")
    known = command_arguments(read_input(command, "arguments", MOST_TEXT)) if command.is_file() else ()
    thinlto = partial(read_regular, index) if index.is_file() else None
    return UnitDraft(
        stem, partial(read_regular, path), lambda facts: known or derived(facts), thinlto=thinlto
    )


def draft_thinlto(folder: str, override: tuple[str, ...] | None) -> CorpusDraft:
    """A draft of what lld has kept below a folder, named by objects; a module without index is a problem.

    Raises:
        InputError: the folder cannot be read.
    """
    units: list[UnitDraft] = []
    problems: list[str] = []
    for path in files_below(folder, IMPORTED):
        name = str(path.relative_to(folder)).removesuffix(IMPORTED)
        index = path.with_name(path.name.removesuffix(IMPORTED) + INDEX)
        if index.is_file():
            read, thinlto = partial(read_regular, path), partial(read_regular, index)
            units.append(UnitDraft(name, read, derived, UnitOrigin(""), thinlto))
        else:
            hint = "link with -Wl,--thinlto-emit-index-files"
            problems.append(f"{name}: expected its index, {index.name}, beside {path.name}, got none; {hint}")
    return CorpusDraft(units, problems=problems, override=override)


def derived(facts: ModuleFacts) -> tuple[str, ...]:
    """Arguments that suit a module: its target, the level that its functions ask for (else -O2), and pic."""
    level = "-Oz" if facts.minsize else "-Os" if facts.optsize else "-O2"
    model = "pic" if facts.is_pic else "static"
    return ("-cc1", "-triple", facts.triple, level, "-emit-obj", "-mrelocation-model", model)
