# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads recordings of builds, which `recorder.py` writes."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from passpilot.plugin.errors import InputError
from passpilot.plugin.json_and_toml import read_json, typed_record
from passpilot.training.corpus.recorded.recorder import COMMANDS, FORMAT, MODULES


@dataclass(frozen=True, slots=True, eq=False)
class RecordedUnit:
    """A unit that a command has compiled."""

    source: str
    language: str
    """``c``, ``c++`` or ``rust``."""
    arguments: tuple[str, ...] = ()
    """Those of `clang -cc1`."""
    bitcode: str = ""
    """The file of the bitcode; it may be missing if there is a problem."""
    problem: str = ""
    """Why there is no bitcode; empty if there is."""
    read: tuple[str, ...] = ()
    """The source and the headers, without those of the system."""
    output: str = ""
    """The object; empty if the same command linked it."""
    sha256: str = ""
    """Of the object."""
    code_sha256: str = ""
    """Of the object's machine code."""
    command: tuple[str, ...] = ()
    directory: str = ""
    time: int = 0
    """When it was recorded, in nanoseconds of the epoch."""

    def changed(self) -> str:
        """A file that has changed since it was read, or is gone; empty if there is none."""
        for path in self.read:
            try:
                if os.stat(path).st_mtime_ns <= self.time:
                    continue
            except OSError:
                pass
            return path
        return ""


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
    """Those of an archive."""
    sha256: str = ""
    code_sha256: str = ""
    """The hashes of an object."""


@dataclass(frozen=True, slots=True)
class RecordedLink:
    """A link: its output and items, and of its command the driver, the folder and the units."""

    output: str
    sha256: str = ""
    """Of the output, if it is an object."""
    items: tuple[RecordedItem, ...] = ()
    linker: str = ""
    driver: str = ""
    directory: str = ""
    units: tuple[RecordedUnit, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedCommand:
    format: int
    time: int
    directory: str
    driver: str = ""
    command: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    units: tuple[RecordedUnit, ...] = ()
    link: RecordedLink | None = None

    @classmethod
    def read(cls, folder: Path, name: str) -> RecordedCommand:
        """The command in a file of the recording in `folder`.

        Raises:
            InputError: the file cannot be read, or is of another format.
        """
        path = folder / COMMANDS / name
        found = typed_record(read_json(path), cls, str(path))
        if found.format != FORMAT:
            raise InputError(f"{path}: expected format {FORMAT}, got {found.format} of another passpilot")
        directory = found.directory
        if wrong := next((unit.bitcode for unit in found.units if not _is_module(unit.bitcode)), None):
            raise InputError(f"{path}: units: expected names of recorded modules, got {wrong!r:.80}")
        units = tuple(
            replace(
                unit,
                bitcode=str(folder / MODULES / f"{unit.bitcode}.bc"),
                command=found.command,
                directory=directory,
                time=found.time,
            )
            for unit in found.units
        )
        link = found.link and replace(found.link, driver=found.driver, directory=directory, units=units)
        return replace(found, units=units, link=link)


def _is_module(name: str) -> bool:
    """Whether a name is that of a module in `MODULES`, or empty."""
    return re.fullmatch("[0-9a-f]*", name) is not None


@dataclass(slots=True)
class Recording:
    """All commands of a recording in the order in which they ended, and what could not be read."""

    units: list[RecordedUnit] = field(default_factory=list)
    links: list[RecordedLink] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    """passpilot's options in the build that change the code."""


def read_recording(folder: str) -> Recording:
    """Read a recording; a command that cannot be read is a problem.

    Raises:
        InputError: the folder is none.
    """
    commands = Path(folder) / COMMANDS
    try:
        names = sorted(name for name in os.listdir(commands) if name.endswith(".json"))
    except OSError as error:
        got = "got another folder" if os.path.isdir(folder) else f"got: {error.strerror}"
        hint = "record a build by passpilot build --record"
        raise InputError(f"{folder}: expected a recording, {got}; {hint}") from error
    recording = Recording()
    found: list[RecordedCommand] = []
    for name in names:
        try:
            found.append(RecordedCommand.read(Path(folder), name))
        except InputError as error:
            recording.problems.append(str(error))
    for command in sorted(found, key=lambda command: command.time):
        recording.units += command.units
        recording.links += [command.link] if command.link else []
        recording.advice += command.advice
    return recording
