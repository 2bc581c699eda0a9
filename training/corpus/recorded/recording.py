# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads recordings of builds, which `recorder.py` writes."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from passpilot.plugin.errors import InputError
from passpilot.training.corpus.fields import JsonFields
from passpilot.training.corpus.recorded.recorder import COMMANDS, FORMAT, MODULES

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, eq=False)
class RecordedUnit:
    """A unit that a command has compiled.

    Attributes:
        source: its source file.
        language: ``c`` or ``c++``.
        arguments: those of `clang -cc1`.
        bitcode: the file of its bitcode; it may be missing if there is a problem.
        problem: why there is no bitcode; empty if there is.
        output: the object; empty if the same command linked it.
        sha256: of the object.
        code_sha256: of the object's machine code.
        command: the whole command.
        directory: where the command ran.
    """

    source: str
    language: str
    arguments: tuple[str, ...]
    bitcode: Path
    problem: str
    output: str
    sha256: str
    code_sha256: str
    command: tuple[str, ...]
    directory: str


@dataclass(frozen=True, slots=True)
class RecordedMember:
    """An object, by itself or as a member of an archive."""

    name: str
    sha256: str
    code_sha256: str


@dataclass(frozen=True, slots=True)
class RecordedItem:
    """One part of a link, in the form that `recorder.py` describes."""

    kind: str
    text: str = ""
    path: str = ""
    whole: bool = False
    members: tuple[RecordedMember, ...] = ()
    """Those of an archive; an object itself."""


@dataclass(frozen=True, slots=True)
class RecordedLink:
    """A link: its driver, folder, output and items, and the units of the same command."""

    driver: str
    directory: str
    output: str
    sha256: str
    """Of the output, if it is an object."""
    items: tuple[RecordedItem, ...]
    units: tuple[RecordedUnit, ...]


@dataclass(slots=True)
class Recording:
    """All commands of a recording in the order in which they ended, and what could not be read."""

    units: list[RecordedUnit] = field(default_factory=list)
    links: list[RecordedLink] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read_recording(folder: str) -> Recording:
    """Read a recording; a command that cannot be read is a problem.

    Raises:
        InputError: the folder is none.
    """
    commands = Path(folder) / COMMANDS
    try:
        names = sorted(each for each in os.listdir(commands) if each.endswith(".json"))
    except OSError as error:
        hint = "record a build by passpilot cc --record"
        raise InputError(f"{folder}: expected a recording, got: {error.strerror}; {hint}") from error
    recording = Recording()
    timed: list[tuple[int, list[RecordedUnit], RecordedLink | None]] = []
    for name in names:
        try:
            timed.append(_command(Path(folder), JsonFields.read(commands / name)))
        except InputError as error:
            recording.problems.append(str(error))
    for _, units, link in sorted(timed, key=lambda each: each[0]):
        recording.units += units
        recording.links += [link] if link else []
    return recording


def _command(folder: Path, command: JsonFields) -> tuple[int, list[RecordedUnit], RecordedLink | None]:
    if (version := command.number("format")) != FORMAT:
        raise command.wrong("format", f"{FORMAT} (this one is of another passpilot, {version})")
    words, directory = command.texts("command"), command.text("directory")
    units = [_unit(folder, each, words, directory) for each in command.objects("units")]
    link = None
    if "link" in command:
        value = command.member("link")
        items = tuple(map(_item, value.objects("items")))
        link = RecordedLink(
            command.text("driver"),
            directory,
            value.text("output"),
            value.text("sha256", ""),
            items,
            tuple(units),
        )
    return command.number("time"), units, link


def _unit(folder: Path, unit: JsonFields, words: Sequence[str], directory: str) -> RecordedUnit:
    return RecordedUnit(
        unit.text("source"),
        unit.text("language"),
        unit.texts("arguments"),
        folder / MODULES / f"{unit.text('bitcode', '')}.bc",
        unit.text("problem", ""),
        unit.text("output", ""),
        unit.text("sha256", ""),
        unit.text("code_sha256", ""),
        tuple(words),
        directory,
    )


def _item(item: JsonFields) -> RecordedItem:
    kind, path = item.text("kind"), item.text("path", "")
    members = tuple(
        RecordedMember(each.text("name", path), each.text("sha256"), each.text("code_sha256"))
        for each in ((item,) if kind == "object" else item.objects("members"))
    )
    return RecordedItem(kind, item.text("text", ""), path, item.flag("whole"), members)
