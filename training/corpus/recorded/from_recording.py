# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a corpus of a recording: finds the units of every link, and drops what no longer exists.

A unit belongs to the corpus if a program has it, or if its object still exists. An object on a link line, or
in an archive there, is the unit whose object had the same contents, or the same name and machine code.
Programs that no longer exist were probes of configure or CMake; those that CMake and meson keep are dropped
by path.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from passpilot.plugin.files import read_regular
from passpilot.training.corpus.builder import CorpusDraft, UnitDraft
from passpilot.training.corpus.elf import code_hash
from passpilot.training.corpus.layout import CorpusProgram, UnitOrigin
from passpilot.training.corpus.recorded.link_command import LD
from passpilot.training.corpus.recorded.recording import (
    RecordedItem,
    RecordedLink,
    RecordedMember,
    RecordedUnit,
    Recording,
    read_recording,
)

PROBES: Final = re.compile(
    r"/CMakeFiles/([^/]+/)?CompilerId[^/]*/|/CMakeFiles/(CMakeScratch|CMakeTmp)/|/meson-private/|/conftest\b"
)
"""Paths of programs that build systems make to learn about the compiler."""


def draft_recording(folder: str, root: str = "") -> CorpusDraft:
    """A draft of what a build has made. Modules are named by their sources, relative to `root`.

    Raises:
        InputError: the folder is no recording.
    """
    return _RecordingDraft(read_recording(folder), root).draft()


def draft_programs(folder: str) -> CorpusDraft:
    """As `draft_recording`; where a build has linked nothing, its objects are the program ``library``.

    Raises:
        InputError: the folder is no recording.
    """
    return _RecordingDraft(read_recording(folder), "").draft(library=True)


class _RecordingDraft:
    def __init__(self, recording: Recording, root: str) -> None:
        self._recording, self._root = recording, root
        self._problems = list(recording.problems)
        self._by_hash: dict[str, list[RecordedUnit]] = {}
        self._by_code: dict[tuple[str, str], RecordedUnit] = {}
        self._latest: dict[str, RecordedUnit] = {}
        for unit in recording.units:
            if unit.output:
                self._by_hash.setdefault(unit.sha256, []).append(unit)
                self._by_code[os.path.basename(unit.output), unit.code_sha256] = unit
                self._latest[unit.output] = unit
        # The first one of equal ones: an object that is linked (-r) again by itself may stay as it is.
        self._partial = {link.sha256: link for link in reversed(recording.links) if link.sha256}
        links = {link.output: link for link in recording.links if not link.sha256}
        self._links = [link for output, link in links.items() if _is_kept(output)]

    def draft(self, *, library: bool = False) -> CorpusDraft:
        linked = [_ProgramDraft(self, link) for link in self._links]
        programs = [program for program in linked if program.units]
        places = {unit: unit.output or program.link.output for program in programs for unit in program.units}
        places |= {unit: unit.output for unit in self._latest.values() if self._still_exists(unit)}
        order = sorted(
            ((unit.source, place, unit) for unit, place in places.items()), key=lambda row: row[:2]
        )
        found = names_of([(source, place) for source, place, _ in order], self._root)
        names = {unit: name for name, (_, _, unit) in zip(found, order, strict=True)}
        drafts = sorted(
            (_unit_draft(name, unit) for unit, name in names.items()), key=lambda draft: draft.name
        )
        titles = _titles([program.link.output for program in programs])
        made = [program.named(title, names) for program, title in zip(programs, titles, strict=True)]
        return CorpusDraft(
            drafts,
            made or ([_library(names)] if library and names else []),
            self._problems,
        )

    def find(self, member: RecordedMember) -> RecordedUnit | None:
        """The unit of an object; none if it was not recorded, or without bitcode."""
        name = os.path.basename(member.name)
        same = self._by_hash.get(member.sha256, [])
        by_path = [unit for unit in same if unit.output == member.name]
        by_name = [unit for unit in same if os.path.basename(unit.output) == name]
        found = next(iter((*by_path[-1:], *by_name[-1:], *same[-1:])), None)
        if found is None and member.code_sha256:  # stripped, perhaps
            found = self._by_code.get((name, member.code_sha256))
        return self.usable(found)

    def usable(self, unit: RecordedUnit | None) -> RecordedUnit | None:
        """The unit, unless its front end failed: that is a problem, and the object is linked as it is."""
        if unit is None or not unit.problem:
            return unit
        text = f"{unit.source}: {unit.problem}; its object is linked as it is"
        if text not in self._problems:
            self._problems.append(text)
        return None

    def partial(self, member: RecordedMember) -> RecordedLink | None:
        """The link (-r) that has made an object."""
        return self._partial.get(member.sha256)

    def _still_exists(self, unit: RecordedUnit) -> bool:
        """Whether a unit's object exists as it was recorded."""
        if not _is_kept(unit.output):
            return False
        if self.usable(unit) is None:
            return False
        try:
            data = read_regular(unit.output)
        except OSError:
            return False
        if unit.code_sha256 and code_hash(data) != unit.code_sha256:
            got = f"another {unit.output} than the recorded one"
            self._problems.append(f"{unit.source}: expected its object, got {got}; it is left out")
            return False
        return True


class _ProgramDraft:
    """A program while its link is resolved."""

    def __init__(self, draft: _RecordingDraft, link: RecordedLink) -> None:
        self.link = link
        self._draft = draft
        self._objects: list[RecordedUnit] = []
        self._libraries: dict[str, list[RecordedUnit]] = {}
        self._foreign: list[str] = []
        self._arguments: list[str] = []
        self._inner: list[RecordedLink] = []
        items = link.items  # a script is an option's value, or an input that is no object
        self._has_script = any(item.kind == "other" or item.text == "-T" for item in items)
        self._add(link)

    @property
    def units(self) -> list[RecordedUnit]:
        return [*self._objects, *(unit for library in self._libraries.values() for unit in library)]

    def _add(self, link: RecordedLink) -> None:
        for item in link.items:
            if item.kind == "argument":
                self._arguments += [item.text] if link is self.link else []
            elif item.kind == "unit":
                found = [unit for unit in link.units if unit.source == item.path and not unit.problem]
                self._objects += found[:1]
                self._foreign += [] if found else [item.path]
            elif item.kind == "object":
                self._add_object(RecordedMember(item.path, item.sha256, item.code_sha256))
            elif item.kind == "archive":
                self._add_archive(item)
            else:
                self._foreign.append(item.path)

    def _add_object(self, member: RecordedMember) -> None:
        if unit := self._draft.find(member):
            self._objects.append(unit)
        elif (inner := self._draft.partial(member)) and inner not in self._inner:
            self._inner.append(inner)
            self._add(inner)
            self._inner.pop()
        else:
            self._foreign.append(member.name)

    def _add_archive(self, item: RecordedItem) -> None:
        """Add an archive; if the build has made only some members, it stays for the others behind them."""
        if item.path in self._libraries:
            return
        found = [self._draft.find(member) for member in item.members]
        units = [unit for unit in found if unit is not None]
        if units and item.whole and len(units) == len(found):
            self._objects += units
        elif units and not item.whole:
            self._libraries[item.path] = units
        if not units or len(units) < len(found):
            if item.text and not units:
                self._arguments.append(item.text)
            elif item.whole:
                self._arguments.append(f"-Wl,--whole-archive,{item.path},--no-whole-archive")
            else:
                self._foreign.append(item.path)

    def named(self, title: str, names: Mapping[RecordedUnit, str]) -> CorpusProgram:
        """The program with the names of its units."""
        languages = {unit.language for unit in self.units}
        target = [f"--target={_triple(self.units[0])}"] if self.link.driver == LD else []
        return CorpusProgram(
            title,
            "c++" if self.link.driver == "c++" or "c++" in languages else "c",
            self.link.driver,
            tuple(names[unit] for unit in self._objects),
            tuple(tuple(names[unit] for unit in library) for library in self._libraries.values()),
            tuple(dict.fromkeys(self._foreign)),
            tuple(filter(self._is_needed, [*target, *self._arguments])),
            directory=self.link.directory,
            linker=self.link.linker,
        )

    def _is_needed(self, argument: str) -> bool:
        """Whether an argument matters: a folder does for a library in it, and for what a script includes."""
        if not argument.startswith("-L") or self._has_script:
            return True
        names = [word[2:] for word in self._arguments if word.startswith("-l")]
        files = [[name[1:]] if name.startswith(":") else [f"lib{name}.so", f"lib{name}.a"] for name in names]
        return any(os.path.exists(os.path.join(argument[2:], file)) for some in files for file in some)


LIBRARY: Final = "library"
"""The program of what a build has made that links nothing."""

LIBRARY_LINK: Final = (
    *("-nostdlib", "-static", "-no-pie", "-Wl,-e,0", "-Wl,-z,muldefs"),
    *("-Wl,--unresolved-symbols=ignore-all", "-Wl,--no-gc-sections"),
)
"""How a library is linked by itself: all that other programs can call stays."""

WASM_LIBRARY: Final = ("-nostdlib", "-Wl,--no-entry", "-Wl,--allow-undefined", "-Wl,--no-gc-sections")


def _triple(unit: RecordedUnit) -> str:
    return unit.arguments[unit.arguments.index("-triple") + 1]


def library_program(names: Iterable[str], triple: str, *, is_cxx: bool) -> CorpusProgram:
    """Units that nothing links, as a program."""
    words = (f"--target={triple}", *(WASM_LIBRARY if triple.startswith("wasm") else LIBRARY_LINK))
    language, compiler = ("c++", "c++") if is_cxx else ("c", "cc")
    return CorpusProgram(LIBRARY, language, compiler, tuple(sorted(names)), arguments=words)


def _library(names: Mapping[RecordedUnit, str]) -> CorpusProgram:
    """What a build has made that links nothing: its objects, for archives."""
    is_cxx = any(unit.language == "c++" for unit in names)
    return library_program(names.values(), _triple(next(iter(names))), is_cxx=is_cxx)


def names_of(places: Sequence[tuple[str, str]], root: str = "") -> list[str]:
    """The names of units with these sources and outputs: the sources, if need be with the outputs behind."""
    base = root or _common([source for source, _ in places])
    plain = [_relative(source, base) for source, _ in places]
    counts = Counter(plain)
    outputs = _common([output for name, (_, output) in zip(plain, places, strict=True) if counts[name] > 1])
    names: dict[str, None] = {}
    for name, (_, output) in zip(plain, places, strict=True):
        first = f"{name}@{_relative(output, outputs).replace('/', '-')}" if counts[name] > 1 else name
        unique, number = first, 2
        while unique in names:
            unique, number = f"{first}.{number}", number + 1
        names[unique] = None
    return list(names)


def _common(paths: Sequence[str]) -> str:
    return os.path.commonpath([os.path.dirname(path) for path in paths]) if paths else "/"


def _relative(path: str, base: str) -> str:
    name = os.path.relpath(path, base)
    return path.lstrip("/") if name.startswith("../") else name


def _without_hash(output: str) -> str:
    """The path at which cargo shows a program of its folder `deps`, whose name there ends in a hash."""
    shown = re.sub(r"/deps/([^/]+)-[0-9a-f]{16}$", r"/\1", output)
    with suppress(OSError):
        return shown if os.path.samefile(shown, output) else output
    return output


def _titles(outputs: Sequence[str]) -> list[str]:
    """The names of programs: their files' names, and where these are not unique, their paths."""
    outputs = [_without_hash(output) for output in outputs]
    plain = [os.path.basename(output) for output in outputs]
    base = _common(outputs)
    return [
        name if plain.count(name) == 1 else _relative(output, base).replace("/", "-")
        for name, output in zip(plain, outputs, strict=True)
    ]


def _is_kept(output: str) -> bool:
    return not PROBES.search(output) and os.path.exists(output)


def _unit_draft(name: str, unit: RecordedUnit) -> UnitDraft:
    code = "" if unit.language == "rust" else unit.code_sha256  # clang makes other code than rustc
    origin = UnitOrigin("", unit.language, code, unit.source, unit.command, unit.directory, unit.output)
    return UnitDraft(name, lambda: read_regular(unit.bitcode), lambda _: unit.arguments, origin)
