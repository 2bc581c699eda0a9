# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`collect`: gathers the decisions of modules or logs into a folder of shards, by parts and programs.

FOLDER/train/lua.parquet  FOLDER/validation/expat.parquet  FOLDER/data.json
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from passpilot.plugin.errors import Error, InputError
from passpilot.plugin.files import write_file
from passpilot.training.corpus.partition import PARTS, SplitFile, programs_of
from passpilot.training.data.flips import gather_flips
from passpilot.training.data.gather import TaughtModule, gather, logged_decisions
from passpilot.training.data.shards import SUFFIX, ShardWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from passpilot.training.corpus.layout import Corpus
    from passpilot.training.data.flips import FlipSettings
    from passpilot.training.data.gather import Taught, Teaching
    from passpilot.training.data.shards import DecisionRows

DESCRIPTION: Final = "data.json"
FORMAT: Final = 1
_ODD: Final = re.compile(r"[^\w.+-]")


@dataclass(slots=True)
class CollectedProgram:
    """What there is of a program."""

    part: str
    modules: int = 0
    decisions: int = 0
    changed: int = 0
    """Decisions that are not the compiler's own."""
    teachers: dict[str, int] = field(default_factory=dict)
    """How many modules a teacher has made smallest."""


@dataclass(slots=True)
class Collected:
    """What came of it all."""

    programs: dict[str, CollectedProgram] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    """Why modules are left out."""

    def sums(self) -> dict[str, CollectedProgram]:
        """The sums of the parts, with the number of programs as `teachers`."""
        sums: dict[str, CollectedProgram] = {}
        for each in self.programs.values():
            total = sums.setdefault(each.part, CollectedProgram(each.part))
            total.modules += each.modules
            total.decisions += each.decisions
            total.changed += each.changed
        return sums


def corpus_modules(corpus: Corpus, programs: Sequence[str], pipeline: str) -> list[TaughtModule]:
    """The modules of programs of a corpus, every module once; all programs if none is named.

    Raises:
        InputError: the corpus lacks a program.
    """
    known = programs_of(corpus)
    if unknown := [name for name in programs if name not in known]:
        raise InputError(f"{corpus.folder}: expected a program among {', '.join(known)}, got {unknown[0]}")
    made: dict[str, TaughtModule] = {}
    for program in programs or known:
        for name in known[program]:
            unit = corpus.units[name]
            level = unit.level if unit.arguments else "Oz"
            passes = pipeline or f"default<{level}>"
            made.setdefault(name, TaughtModule(program, name, str(unit.bitcode), passes))
    return list(made.values())


def loose_modules(paths: Sequence[str], pipeline: str) -> list[TaughtModule]:
    """Modules in files; the program of a module is the folder of its file."""
    made = [TaughtModule(program_of(path), path, path, pipeline or "default<Oz>") for path in paths]
    return sorted(made, key=lambda each: each.program)


def program_of(path: str) -> str:
    """The name of the folder of a file."""
    return os.path.basename(os.path.dirname(os.path.abspath(path))) or "program"


def collect(
    modules: Sequence[TaughtModule],
    teaching: Teaching,
    folder: str,
    split: SplitFile | None,
    part: str,
    step: Callable[[], object] = lambda: None,
) -> Collected:
    """Compile modules with teachers, and write their decisions into shards.

    Args:
        modules: those of a program stand together.
        teaching: how they are compiled.
        folder: where the shards come.
        split: says which programs come into which part.
        part: that of programs which `split` does not name; if empty, they are left out.
        step: called after every module.

    Raises:
        InputError: a shard cannot be written, or no module gives a decision.
    """
    parts = {name: each for each, names in (split.parts if split else {}).items() for name in names}
    wanted = [each for each in modules if parts.get(each.program, part)]
    return _written(gather(wanted, teaching, step), folder, parts, part)


def collect_flips(
    corpus: Corpus,
    programs: Sequence[str],
    flips: FlipSettings,
    folder: str,
    split: SplitFile | None,
    part: str,
    step: Callable[[], object] = lambda: None,
) -> Collected:
    """Flip LLVM's inlining decisions in programs of a corpus, and write what that tells into shards.

    Raises:
        InputError: a program is unknown, a shard cannot be written, or nothing could be flipped.
    """
    known = programs_of(corpus)
    if unknown := [name for name in programs if name not in known]:
        raise InputError(f"{corpus.folder}: expected a program among {', '.join(known)}, got {unknown[0]}")
    parts = {name: each for each, names in (split.parts if split else {}).items() for name in names}
    wanted = [name for name in programs or known if parts.get(name, part)]
    return _written(gather_flips(corpus, wanted, flips, step), folder, parts, part)


def _written(made: Iterable[Taught | Error], folder: str, parts: Mapping[str, str], part: str) -> Collected:
    """Write what modules teach into shards."""
    collected = Collected()
    writing = _ProgramShards(folder, collected, parts, part)
    for each in made:
        if isinstance(each, Error):
            collected.problems.append(str(each))
        else:
            writing.add(each)
    writing.close()
    if not any(each.decisions for each in collected.programs.values()):
        why = collected.problems[0] if collected.problems else "the modules ask nothing"
        raise InputError(f"{folder}: expected decisions of modules, got none: {why}")
    return collected


def collect_logs(paths: Sequence[str], point: str, folder: str, part: str) -> Collected:
    """Write the decisions of logs into shards; the program of a log is the folder of its file.

    Raises:
        Error: a log cannot be read, or a shard not be written.
    """
    collected = Collected()
    writing = _ProgramShards(folder, collected, {}, part)
    for path in sorted(paths, key=program_of):
        writing.add_rows(program_of(path), logged_decisions(path, point, program_of(path), path), "")
    writing.close()
    return collected


def write_description(folder: str, collected: Collected, command: str, teachers: Sequence[str]) -> None:
    """Write what the folder has, for the cards of models.

    Raises:
        InputError: the file cannot be written.
    """
    value = {
        "format": FORMAT,
        "command": command,
        "teachers": list(teachers),
        "programs": {name: asdict(each) for name, each in collected.programs.items()},
        "left_out": collected.problems,
    }
    write_file(os.path.join(folder, DESCRIPTION), (json.dumps(value, indent=1) + "\n").encode())


class _ProgramShards:
    """Writes the shard of one program after the other."""

    def __init__(self, folder: str, collected: Collected, parts: Mapping[str, str], part: str) -> None:
        self._folder, self._collected, self._parts, self._part = folder, collected, parts, part
        self._writer: ShardWriter | None = None
        self._program = ""

    def add(self, made: Taught) -> None:
        """Add a module's decisions."""
        self.add_rows(made.module.program, made.rows, made.teacher)

    def add_rows(self, program: str, rows: DecisionRows, teacher: str) -> None:
        """Add decisions of a program, whose modules come together."""
        if program != self._program:
            self.close()
        part = self._parts.get(program, self._part)
        counts = self._collected.programs.setdefault(program, CollectedProgram(part))
        if self._writer is None:
            self._program = program
            path = os.path.join(self._folder, part, f"{_ODD.sub('_', program)}{SUFFIX}")
            try:
                os.makedirs(os.path.dirname(path), exist_ok=True)
            except OSError as error:
                raise InputError(f"{path}: expected to write it, got: {error.strerror}") from error
            self._writer = ShardWriter(path, rows.schema)
        self._writer.add(rows)
        counts.modules += 1
        counts.decisions += len(rows)
        counts.changed += _changed(rows)
        if teacher:
            counts.teachers = dict(Counter(counts.teachers) + Counter({teacher: 1}))

    def close(self) -> None:
        """Write the present shard."""
        writer, self._writer = self._writer, None
        if writer is not None and writer.decisions:
            writer.close()


def _changed(rows: DecisionRows) -> int:
    """How many decisions are not the compiler's own, whose tensor is the last of the features."""
    names = {spec.name for spec in rows.schema.features}
    default = next((name for name in _defaults(rows) if name in names), "")
    if not default:
        return 0
    first, second = rows.tensors[default], rows.tensors[rows.schema.advice.name]
    return int(np.sum(first.reshape(-1) != second.reshape(-1)))


def _defaults(rows: DecisionRows) -> Iterator[str]:
    from passpilot.passes.points import search_point

    yield search_point(rows.schema.point).default.name


def part_named(name: str) -> str:
    """The name of a part, checked.

    Raises:
        InputError: there is no such part.
    """
    if name not in PARTS:
        raise InputError(f"part: expected one of {', '.join(PARTS)}, got {name!r}")
    return name
