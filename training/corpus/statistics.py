# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is in a corpus: units, functions, calls and bytes of every program, and of all."""

from __future__ import annotations

from dataclasses import dataclass

from passpilot.plugin.errors import Error
from passpilot.training.corpus.inspection import ModuleFacts, inspect_all
from passpilot.training.corpus.layout import Corpus
from passpilot.training.corpus.partition import programs_of


@dataclass(frozen=True, slots=True)
class CorpusRow:
    """The numbers of one program, or of all."""

    name: str
    languages: tuple[str, ...]
    levels: tuple[str, ...]
    units: int
    functions: int
    """Definitions."""
    calls: int
    """Calls of functions that the same module defines."""
    bitcode: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class CorpusStatistics:
    """The numbers of a corpus.

    Attributes:
        rows: one for every program; a unit of two programs counts in both.
        total: of all units.
        duplicates: how many units were dropped as duplicates.
        compiler: what made the modules.
        target: their target triple.
        problems: a line for every unit that cannot be read.
    """

    rows: tuple[CorpusRow, ...]
    total: CorpusRow
    duplicates: int
    compiler: str
    target: str
    problems: tuple[str, ...]


def statistics_of(corpus: Corpus) -> CorpusStatistics:
    """Read all modules of a corpus and count."""
    units = list(corpus.units.values())
    found = dict(zip(corpus.units, inspect_all([(unit.name, unit.read) for unit in units]), strict=True))
    facts = {name: module for name, module in found.items() if not isinstance(module, Error)}
    compilers = [module.compiler for module in facts.values() if module.compiler]
    targets = [module.triple for module in facts.values()]
    return CorpusStatistics(
        tuple(_row(corpus, name, modules, facts) for name, modules in programs_of(corpus).items()),
        _row(corpus, "all", tuple(corpus.units), facts),
        len(corpus.facts.duplicates),
        corpus.facts.compiler or next(iter(compilers), "unknown"),
        corpus.facts.target or next(iter(targets), "unknown"),
        tuple(str(module) for module in found.values() if isinstance(module, Error)),
    )


def _row(corpus: Corpus, name: str, modules: tuple[str, ...], facts: dict[str, ModuleFacts]) -> CorpusRow:
    known = [unit for unit in modules if unit in facts]
    return CorpusRow(
        name,
        tuple(sorted({_language(corpus, unit, facts[unit]) for unit in known})),
        tuple(sorted({corpus.units[unit].level for unit in known})),
        len(known),
        sum(facts[unit].functions for unit in known),
        sum(facts[unit].calls for unit in known),
        sum(corpus.units[unit].bitcode.stat().st_size for unit in known),
    )


def _language(corpus: Corpus, name: str, facts: ModuleFacts) -> str:
    """That of the unit's origin, or else of its source's name."""
    origin = corpus.facts.origins.get(name)
    if origin and origin.language:
        return origin.language
    end = facts.source.rpartition(".")[2]
    return "c" if end == "c" else "c++" if end in ("cpp", "cc", "cxx", "C") else "other"
