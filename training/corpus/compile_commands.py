# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Corpora of a `compile_commands.json`, as CMake, ninja and bear write it.

An object with embedded bitcode is taken as it is; otherwise clang's front end compiles the source again.
Sources and their includes may be anywhere; objects and response files are in the folder of the database, or
in one that the user names. Commands load no code.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from passpilot.plugin.errors import CompilationError, InputError
from passpilot.plugin.files import is_below, read_regular, write_file
from passpilot.plugin.json_and_toml import read_json, typed_record
from passpilot.plugin.version import MAJOR
from passpilot.training.corpus.arguments import value_of
from passpilot.training.corpus.builder import CorpusDraft, UnitDraft
from passpilot.training.corpus.embedded import draft_embedded, inside
from passpilot.training.corpus.front_end import FrontEnd
from passpilot.training.corpus.layout import UnitOrigin
from passpilot.training.corpus.recorded.response_files import expanded

COMPILERS: Final = ("clang", "clang++", "cc", "c++", "gcc", "g++")
"""How compilers' names end, without their versions."""

LOADING: Final = ("-load", "-fpass-plugin=", "-plugin", "-add-plugin")
"""How the arguments of `clang -cc1` begin that load or run code."""


@dataclass(frozen=True, slots=True)
class CompileCommand:
    """An entry: where it runs, its words, the source, and the object; empty if it names none."""

    directory: str
    words: tuple[str, ...]
    source: str
    output: str

    @property
    def arguments(self) -> tuple[str, ...]:
        """The words behind the compiler, whose name may say a target; launchers stand before it."""
        for number, word in enumerate(self.words):
            if _plain(word) in COMPILERS:
                rest = self.words[number + 1 :]
                target = os.path.basename(word).rpartition(f"-{_plain(word)}")[0]
                is_said = any(said.startswith(("--target", "-target")) for said in rest)
                return (f"--target={target}", *rest) if "-" in target and not is_said else rest
        return self.words[1:]

    @property
    def is_ours(self) -> bool:
        """Whether the compiler is `passpilot cc` or `passpilot c++`."""
        return any(os.path.basename(word) == "passpilot" for word in self.words[:2])

    @property
    def is_cxx(self) -> bool:
        """Whether the compiler is one of C++."""
        return any(_plain(word).endswith("++") for word in self.words[:3])


def read_commands(file: str) -> list[CompileCommand]:
    """The entries of a file that compile something; their relative folders are in the file's folder.

    Raises:
        InputError: the file cannot be read, or is wrong.
    """
    value = read_json(file)
    if not isinstance(value, list):
        raise InputError(f"{file}: expected a JSON array of commands, got another value")
    folder = os.path.dirname(os.path.abspath(file))
    return [_command(entry, f"{file}: [{number}]", folder) for number, entry in enumerate(value)]


@dataclass(frozen=True, slots=True)
class _Entry:
    """The members of an entry; it has `arguments` or `command`."""

    directory: str
    file: str
    command: str = ""
    arguments: tuple[str, ...] = ()
    output: str = ""


def _command(value: object, where: str, folder: str) -> CompileCommand:
    entry = typed_record(value, _Entry, where)
    try:
        words = entry.arguments or tuple(shlex.split(entry.command))
    except ValueError as error:
        raise InputError(f"{where}: command: expected words as of a shell, got {entry.command!r}") from error
    if not words:
        raise InputError(f"{where}: expected command or arguments, got none")
    output = value_of(words, "-o") or entry.output
    directory = os.path.join(folder, entry.directory)
    return CompileCommand(
        directory,
        words,
        os.path.join(directory, entry.file),
        os.path.join(directory, output) if output else "",
    )


def draft_commands(
    file: str, scratch: Path, jobs: int, options: Sequence[str] = (), root: str = ""
) -> CorpusDraft:
    """A draft of all sources that the commands compile, named by objects; `scratch` is for their bitcode.

    `options` are those of `passpilot cc`, which clang does not know. Response files may be below `root`, too.

    Raises:
        InputError: the file is wrong, or there is no clang.
    """
    commands = read_commands(file)
    roots = [os.path.dirname(os.path.abspath(file)), os.path.dirname(os.path.realpath(file)), root]
    kept = {command.output or command.source: command for command in commands}
    base = os.path.commonpath([command.directory for command in commands]) if commands else "/"
    names = [inside(os.path.relpath(place, base)) for place in kept]
    with ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0))) as pool:
        places = (scratch / str(number) for number in range(len(kept)))
        drafts = list(pool.map(partial(_draft, options=options, roots=roots), places, names, kept.values()))
    units = {unit.name: unit for draft in drafts for unit in draft.units}
    return CorpusDraft(list(units.values()), problems=[line for draft in drafts for line in draft.problems])


def _draft(
    scratch: Path, name: str, command: CompileCommand, options: Sequence[str], roots: Sequence[str]
) -> CorpusDraft:
    inner = all(_is_inside(path, roots) for path in (command.directory, command.output))
    if inner and _has_bitcode(command.output):
        return draft_embedded([(name, Path(command.output))], command.directory)
    try:
        return CorpusDraft(_units(scratch, name, command, options, roots))
    except CompilationError as error:
        return CorpusDraft([], problems=[f"{name}: {error}"])


def _is_inside(path: str, roots: Sequence[str]) -> bool:
    return any(is_below(path, root) for root in roots if root)


def _has_bitcode(output: str) -> bool:
    try:
        return b".llvmbc\0" in read_regular(output) if output else False
    except OSError:
        return False


def _units(
    scratch: Path, name: str, command: CompileCommand, options: Sequence[str], roots: Sequence[str]
) -> list[UnitDraft]:
    clang = f"clang++-{MAJOR}" if command.is_cxx else f"clang-{MAJOR}"
    compiler = shutil.which(clang)
    if compiler is None:
        raise InputError(f"corpus: {clang} is not on the PATH; sudo apt-get install clang-{MAJOR}")
    front_end = FrontEnd(compiler, command.directory, os.environ)
    ours = tuple(f"--{name}" for name in options) if command.is_ours else ()
    arguments = [word for word in _expanded(command, roots) if word.partition("=")[0] not in ours]
    units = []
    for number, job in enumerate(front_end.jobs([clang, *arguments])):
        if code := next((word for word in job.arguments if word.startswith(LOADING)), ""):
            raise CompilationError(f"expected a command that loads no code, got {code}")
        path = scratch.with_suffix(f".{number}.bc")
        write_file(str(path), front_end.bitcode(job))
        origin = UnitOrigin(
            "",
            "c++" if job.is_cxx else "c",
            "",
            command.source,
            command.words,
            command.directory,
            command.output,
        )
        recorded = job.recorded
        units.append(
            UnitDraft(
                f"{name}.{number + 1}" if number else name,
                partial(read_regular, path),
                lambda _, recorded=recorded: recorded,  # type: ignore[misc]
                origin,
            )
        )
    return units


def _expanded(command: CompileCommand, roots: Sequence[str]) -> list[str]:
    """The arguments with those in response files."""

    def permitted(path: str) -> bool:
        if os.path.exists(path) and not _is_inside(path, roots):
            place = os.path.dirname(os.path.realpath(path))
            msg = f"expected response files below {roots[0]}, got {path}; give --base={place} to permit it"
            raise CompilationError(msg)
        return os.path.isfile(path)

    arguments = expanded(command.arguments, command.directory, permitted)
    if config := next((word for word in arguments if word.startswith("--config")), ""):
        raise CompilationError(f"expected a command without a configuration file of clang, got {config}")
    return arguments


def _plain(word: str) -> str:
    """The name of a compiler without path, version and target."""
    name = os.path.basename(word).rstrip("0123456789.").rstrip("-")
    return name.rsplit("-", 1)[-1]
