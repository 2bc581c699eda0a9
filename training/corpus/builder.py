# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`build_corpus`: makes a corpus of drafts of units: checks them, drops duplicates, writes the folder."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from passpilot.plugin.errors import Error, InputError
from passpilot.plugin.files import write_file
from passpilot.plugin.version import MAJOR
from passpilot.training.corpus.carried import Carried
from passpilot.training.corpus.inspection import ModuleFacts, inspect_all
from passpilot.training.corpus.layout import (
    DESCRIPTION,
    Corpus,
    CorpusFacts,
    CorpusProgram,
    CorpusUnit,
    UnitOrigin,
    check_name,
    clang_major,
)


@dataclass(frozen=True, slots=True)
class UnitDraft:
    """A unit that is to become a part of a corpus.

    Attributes:
        name: its name in the corpus.
        bitcode: reads its bitcode.
        arguments: makes those of `clang -cc1` from what is in the module.
        origin: where it comes from; the builder adds the hash.
        thinlto: reads its index for ThinLTO.
    """

    name: str
    bitcode: Callable[[], bytes]
    arguments: Callable[[ModuleFacts], tuple[str, ...]]
    origin: UnitOrigin = field(default_factory=lambda: UnitOrigin(""))
    thinlto: Callable[[], bytes] | None = None


@dataclass(frozen=True, slots=True)
class CorpusDraft:
    """All that is to become a corpus.

    Attributes:
        units: the units; names are different.
        programs: what they make.
        problems: a line for everything that was left out.
        override: arguments for all modules, if they do not have arguments of their own.
        files: other files of the folder by name.
    """

    units: Sequence[UnitDraft]
    programs: Sequence[CorpusProgram] = ()
    problems: Sequence[str] = ()
    override: tuple[str, ...] | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BuiltCorpus:
    """A corpus that has been written, and a line for everything that was left out."""

    corpus: Corpus
    problems: Sequence[str]


def build_corpus(
    folder: str, draft: CorpusDraft, wanted: Callable[[Sequence[str]], bool] = lambda _: True
) -> BuiltCorpus:
    """Write a corpus of the units whose arguments are wanted; the folder appears when it is complete.

    Raises:
        InputError: the folder is there already, cannot be written, or no unit can be used.
    """
    target = os.path.abspath(folder)
    check_new(folder)
    units, refused = _within(Path(target), draft.units)
    facts, problems = _checked(units)
    problems = [*draft.problems, *refused, *problems]
    chosen = [unit for unit in units if unit.name in facts and wanted(unit.arguments(facts[unit.name]))]
    facts = {unit.name: facts[unit.name] for unit in chosen}
    if not facts:
        raise InputError(_nothing(folder, problems))
    with _partial(target) as partial:
        carried = Carried()
        corpus = _written(Path(partial), draft, facts, carried)
        problems += _lost(draft.programs, corpus.programs)
        problems += filter(None, [carried.problem(f"corpus {folder}")])
        corpus.write()
        for name, data in draft.files.items():
            os.makedirs(os.path.dirname(os.path.join(partial, name)), exist_ok=True)
            write_file(os.path.join(partial, name), data)
    return BuiltCorpus(Corpus.read(target), problems)


def _within(folder: Path, units: Sequence[UnitDraft]) -> tuple[list[UnitDraft], list[str]]:
    """The units whose names stay in the folder, and what is wrong with the others."""
    kept: list[UnitDraft] = []
    problems: list[str] = []
    for unit in units:
        try:
            check_name(folder, unit.name, f"corpus {folder}")
            kept.append(unit)
        except InputError as error:
            problems.append(str(error))
    return kept, problems


def check_new(folder: str) -> None:
    """Make sure that a corpus can be made in `folder`.

    Raises:
        InputError: something is there.
    """
    try:
        there = os.listdir(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"{folder}: expected a new folder, got: {error.strerror}") from error
    if there:
        what = "a corpus" if DESCRIPTION in there else "one with files in it"
        raise InputError(f"{folder}: expected a new folder, got {what}; remove it, or choose another")


def _nothing(folder: str, problems: Sequence[str]) -> str:
    first = f"; {problems[0]}" if problems else ""
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"corpus {folder}: expected at least one unit, got none{first}{more}"


@contextlib.contextmanager
def _partial(target: str) -> Iterator[str]:
    """A folder beside `target` that takes its place at the end, or is removed."""
    partial = f"{target}.partial-{os.getpid()}"
    try:
        os.makedirs(partial)
        yield partial
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(target)
        os.rename(partial, target)
    except OSError as error:
        raise InputError(f"{target}: expected to write a corpus, got: {error.strerror}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _checked(units: Sequence[UnitDraft]) -> tuple[dict[str, ModuleFacts], list[str]]:
    """The facts of usable units by name, and what is wrong with the others."""
    facts: dict[str, ModuleFacts] = {}
    problems: list[str] = []
    for unit, found in zip(units, inspect_all([(unit.name, unit.bitcode) for unit in units]), strict=True):
        if isinstance(found, Error):
            problems.append(str(found))
        else:
            facts[unit.name] = found
    refused: dict[str, list[str]] = {}
    targets = Counter(module.triple for module in facts.values() if not _foreign(module))
    target = targets.most_common(1)[0][0] if targets else ""
    for name, found in list(facts.items()):
        wrong = _foreign(found)
        if not wrong and found.triple != target:
            wrong = f"expected a module for {target} as most are, got one for {found.triple or 'no target'}"
        if wrong:
            refused.setdefault(wrong, []).append(name)
            del facts[name]
    problems += [f"{_named(names)}: {wrong}" for wrong, names in refused.items()]
    return facts, problems


def _foreign(facts: ModuleFacts) -> str:
    """What is wrong if another version of clang made the module."""
    major = clang_major(facts.compiler)
    return f"expected bitcode of clang {MAJOR}, got {facts.compiler}" if major not in ("", str(MAJOR)) else ""


def _named(names: Sequence[str]) -> str:
    return f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0]


def _written(folder: Path, draft: CorpusDraft, facts: Mapping[str, ModuleFacts], carried: Carried) -> Corpus:
    """Write modules that differ; returns the corpus, whose description is not yet written."""
    units: dict[str, CorpusUnit] = {}
    origins: dict[str, UnitOrigin] = {}
    duplicates: dict[str, str] = {}
    known: dict[object, str] = {}
    for entry in draft.units:
        if entry.name not in facts:
            continue
        data = entry.bitcode()
        thinlto = entry.thinlto() if entry.thinlto else b""
        arguments = carried.compilation(draft.override or entry.arguments(facts[entry.name]))
        unit = CorpusUnit(entry.name, folder / f"{entry.name}.bc", arguments)
        digest = hashlib.sha256(data).hexdigest()
        kept = known.setdefault((digest, hashlib.sha256(thinlto).digest(), *_generation(unit)), entry.name)
        if kept != entry.name:
            duplicates[entry.name] = kept
            continue
        os.makedirs(unit.bitcode.parent, exist_ok=True)
        write_file(os.fspath(unit.bitcode), data)
        if entry.thinlto:
            unit = replace(unit, thinlto=folder / f"{entry.name}.thinlto.bc")
            write_file(os.fspath(unit.thinlto), thinlto)  # type: ignore[arg-type]
        units[entry.name] = unit
        origins[entry.name] = replace(entry.origin, sha256=digest)
    first = next(iter(facts.values()))
    compilers = Counter(module.compiler for module in facts.values() if module.compiler)
    compiler = compilers.most_common(1)[0][0] if compilers else ""
    programs = _renamed([carried.program(program) for program in draft.programs], units, duplicates)
    override = draft.override and carried.compilation(draft.override)
    return Corpus(folder, units, programs, CorpusFacts(compiler, first.triple, origins, duplicates), override)


def _generation(unit: CorpusUnit) -> tuple[object, ...]:
    """The arguments that matter beside the module: equal modules with other ones are no duplicates."""
    return unit.level, unit.relocation_model, unit.function_sections, unit.data_sections


def _renamed(
    programs: Sequence[CorpusProgram], units: Mapping[str, CorpusUnit], duplicates: Mapping[str, str]
) -> list[CorpusProgram]:
    """The programs with the names of kept modules, without those that lack a module."""

    def names(given: Sequence[str]) -> tuple[str, ...]:
        return tuple(duplicates.get(name, name) for name in given)

    renamed = [
        replace(program, objects=names(program.objects), libraries=tuple(map(names, program.libraries)))
        for program in programs
    ]
    return [program for program in renamed if all(name in units for name in program.modules)]


def _lost(before: Sequence[CorpusProgram], after: Sequence[CorpusProgram]) -> list[str]:
    kept = {program.name for program in after}
    return [
        f"program {program.name}: expected all its modules, got some that were left out; it is left out, too"
        for program in before
        if program.name not in kept
    ]
