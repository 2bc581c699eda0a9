# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Splits a corpus by programs into parts for training, validation and test.

Programs that share modules, that are of one package, or that a file of families names together, come into the
same part.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from passpilot.plugin.errors import InputError
from passpilot.plugin.failures import utf8
from passpilot.plugin.json_and_toml import read_toml, typed_record
from passpilot.training.corpus.layout import PACKAGE, Corpus

PARTS: Final = ("train", "validation", "test")
SHARES: Final = (0.7, 0.15, 0.15)
"""How many of the programs come into the parts, by default."""


@dataclass(frozen=True, slots=True)
class CorpusPart:
    """A part: its name, and the programs in it with their modules."""

    name: str
    programs: Mapping[str, tuple[str, ...]]

    @property
    def modules(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for modules in self.programs.values() for name in modules))


@dataclass(frozen=True, slots=True)
class SplitFile:
    """A TOML file about a split: families of programs, and parts that are fixed by name."""

    families: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str) -> SplitFile:
        """Read a file with the tables `families` (names to programs) and `parts` (train, validation, test).

        Raises:
            InputError: the file cannot be read, or is wrong.
        """
        file = typed_record(read_toml(path), cls, path, strict=True)
        if unknown := [name for name in file.parts if name not in PARTS]:
            raise InputError(f"{path}: parts: expected {', '.join(PARTS)}, got {unknown[0]!r}")
        counts = Counter(name for names in file.parts.values() for name in names)
        if twice := [name for name, count in counts.items() if count > 1]:
            raise InputError(f"{path}: parts: expected every program once, got {twice[0]!r} again")
        return file

    @classmethod
    def of(cls, path: str, known: Collection[str]) -> SplitFile:
        """Read a file about these programs; the name of a package stands for all of them that it has.

        Raises:
            InputError: the file is wrong, or names others.
        """
        file = cls.read(path)
        members: dict[str, list[str]] = {}
        for name in known:
            members.setdefault(package_of(name), []).append(name)
        check_programs(path, file, {*known, *members})
        families, parts = (
            {
                table: tuple(dict.fromkeys(one for name in names for one in members.get(name, [name])))
                for table, names in tables.items()
            }
            for tables in (file.families, file.parts)
        )
        return cls(families, parts)

    def by_program(self) -> dict[str, str]:
        """The parts of the programs that the file fixes."""
        return {name: part for part, names in self.parts.items() for name in names}


def package_of(program: str) -> str:
    """The package of a program, if its corpus is one of packages; else the program itself."""
    return program.partition(PACKAGE)[0]


def programs_of(corpus: Corpus) -> dict[str, tuple[str, ...]]:
    """The programs with their modules. A module without a program belongs to that of its first folder."""
    programs = {program.name: program.modules for program in corpus.programs}
    known = {name for modules in programs.values() for name in modules}
    for name in corpus.units:
        if name not in known:
            first = name.partition("/")[0]
            programs[first] = (*programs.get(first, ()), name)
    return programs


def partition(
    corpus: Corpus, seed: int, shares: Sequence[float] = SHARES, file: SplitFile | None = None
) -> list[CorpusPart]:
    """The parts of a corpus, the same ones for the same seed.

    Raises:
        InputError: the file puts a family into two parts.
    """
    programs = programs_of(corpus)
    file = file or SplitFile()
    groups = _groups(programs, file.families.values())
    fixed = file.by_program()
    chosen: dict[str, list[str]] = {part: [] for part in PARTS}
    free: list[list[str]] = []
    for group in groups:
        parts = {fixed[name] for name in group if name in fixed}
        if len(parts) > 1:
            got = f"{', '.join(group)} in {' and '.join(sorted(parts))}"
            raise InputError(f"corpus split: expected a family in one part, got {got}")
        if parts:
            chosen[parts.pop()] += group
        else:
            free.append(group)
    free.sort(key=lambda group: hashlib.sha256(utf8(f"{seed}:{group[0]}")).digest())
    wanted = {part: share for part, share in zip(PARTS, shares, strict=True) if share}
    for group in free:
        emptiest = min(wanted, key=lambda part: len(chosen[part]) / wanted[part])
        chosen[emptiest] += group
    return [CorpusPart(part, {name: programs[name] for name in sorted(chosen[part])}) for part in PARTS]


def _groups(programs: Mapping[str, tuple[str, ...]], families: Iterable[Sequence[str]]) -> list[list[str]]:
    """The programs that belong together, in order: families, and programs that share modules."""
    from networkx import Graph, connected_components

    graph: Graph[tuple[str, str]] = Graph()
    graph.add_nodes_from((name, "") for name in programs)
    graph.add_edges_from(
        ((name, ""), ("", module)) for name, modules in programs.items() for module in modules
    )
    packages: dict[str, list[str]] = {}
    for name in programs:
        packages.setdefault(package_of(name), []).append(name)
    for family in (*families, *packages.values()):
        known = [(name, "") for name in family if name in programs]
        graph.add_edges_from((known[0], name) for name in known)
    groups = (sorted(name for name, _ in group if name) for group in connected_components(graph))
    return sorted(groups)


def check_programs(path: str, file: SplitFile, known: Collection[str]) -> None:
    """Make sure that a file names programs that are there.

    Raises:
        InputError: it names others.
    """
    named = [name for table in (file.families, file.parts) for names in table.values() for name in names]
    if unknown := [name for name in dict.fromkeys(named) if name not in known]:
        some = ", ".join(sorted(known)[:8]) + ", ..." * (len(known) > 8)
        close = [(name, get_close_matches(name, known, 1)) for name in unknown]
        meant = [f"{found[0]!r} for {name!r}" for name, found in close if found]
        hint = f"did you mean {', '.join(meant)}?" if meant else "remove these names from the file"
        got = f"{', '.join(unknown)}; {hint}"
        raise InputError(f"{path}: expected programs among {some}, got {got}")


def write_parts(corpus: Corpus, parts: Iterable[CorpusPart], folder: str) -> None:
    """Write every part as a corpus in `folder`, under its name.

    Raises:
        InputError: a file cannot be read or written.
    """
    for part in parts:
        names = set(part.modules)
        facts = replace(
            corpus.facts,
            origins={name: origin for name, origin in corpus.facts.origins.items() if name in names},
            duplicates={name: kept for name, kept in corpus.facts.duplicates.items() if kept in names},
        )
        programs = [program for program in corpus.programs if program.name in part.programs]
        units = {name: unit for name, unit in corpus.units.items() if name in names}
        Corpus(Path(os.path.join(folder, part.name)), units, programs, facts, corpus.override).write()
