# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Evaluation`: all programs of a corpus, one after the other; a program's units are compiled in parallel."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from passpilot.plugin.errors import InputError
from passpilot.plugin.toolchain import installed
from passpilot.plugin.version import MAJOR
from passpilot.training.corpus.layout import CorpusProgram
from passpilot.training.evaluation.commands import Commands
from passpilot.training.evaluation.program import EvaluationPlan, ProgramEvaluation
from passpilot.training.evaluation.unit_compiler import UnitCompiler
from passpilot.training.scratch import ScratchFolder, remove_left_overs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from passpilot.training.corpus.layout import Corpus
    from passpilot.training.evaluation.compile_cache import CompileCache
    from passpilot.training.evaluation.results import EvaluationResult

_ANSWER: Final = 60.0
"""Seconds in which clang must say its version."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The compilers that an evaluation uses."""

    version: str
    linkers: dict[str, str]
    """clang for C and for C++."""

    @classmethod
    def find(cls) -> Toolchain:
        """The distribution's own.

        Raises:
            InputError: clang or lld is missing.
        """
        linkers = {}
        for language, name in (("c", f"clang-{MAJOR}"), ("c++", f"clang++-{MAJOR}")):
            path = shutil.which(name)
            if path is None:
                msg = f"eval: expected {name} on the PATH, got none; sudo apt-get install clang-{MAJOR}"
                raise InputError(msg)
            linkers[language] = path
        version = _said([linkers["c"], "--version"]).partition("\n")[0]
        lld = _said([linkers["c"], "-print-prog-name=ld.lld"]).strip()
        if shutil.which(lld) is None:
            raise InputError(f"eval: expected lld, got none; sudo apt-get install lld-{MAJOR}")
        return cls(version, linkers)


def _said(words: Sequence[str]) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_ANSWER, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(f"eval: expected {words[0]} to run, got: {error}") from error
    return done.stdout


@dataclass
class Evaluation:
    """An evaluation of programs of a corpus.

    Attributes:
        plan: the competitors, and how programs are measured.
        corpus: the corpus.
        programs: the programs of it that are evaluated.
        deadline: the seconds that one compilation may take.
        cache: for the objects of baselines.
    """

    plan: EvaluationPlan
    corpus: Corpus
    programs: Sequence[CorpusProgram]
    toolchain: Toolchain
    deadline: float
    cache: CompileCache
    _commands: Commands = field(default_factory=Commands)

    @property
    def steps(self) -> int:
        """How often `run` calls `step`."""
        return sum(ProgramEvaluation.steps(self.plan, each) for each in self.programs)

    def run(
        self, result: EvaluationResult, step: Callable[[], None], finished: Callable[[CorpusProgram], None]
    ) -> None:
        """Add the programs to the result; `finished` is called after each of them.

        Raises:
            Error: the result cannot be written, or the plugin is missing.
        """
        plugin = installed("libpasspilot.so")
        remove_left_overs()  # those of evaluations that were killed
        with contextlib.closing(ScratchFolder()) as held:
            scratch = held.path
            clang = self.toolchain.linkers["c"]
            compiler = UnitCompiler(
                self._commands, clang, self.toolchain.version, plugin, self.deadline, self.cache, scratch
            )
            try:
                for program in self.programs:
                    one = ProgramEvaluation(self.plan, compiler, program, self.corpus.units, step)
                    result.programs.append(one.run())
                    finished(program)
            finally:
                self._commands.stop()
        self.cache.prune()


def programs_of(corpus: Corpus, names: Sequence[str]) -> list[CorpusProgram]:
    """The programs of these names, or all; of a corpus that names none, every unit as a program of its own.

    Raises:
        InputError: the corpus has no unit, or no program of such a name.
    """
    known = list(corpus.programs) or [
        CorpusProgram(unit.name, "c++" if _is_cxx(unit.name) else "c", "cc", (), ((unit.name,),))
        for unit in corpus.units.values()
    ]
    if not known:
        raise InputError(f"eval: expected modules in the corpus {corpus.folder}, got none")
    by_name = {each.name: each for each in known}
    if unknown := [name for name in names if name not in by_name]:
        some = ", ".join(list(by_name)[:12])
        raise InputError(f"eval: expected programs among {some}, got {unknown[0]!r}")
    return [by_name[name] for name in dict.fromkeys(names)] if names else known


def _is_cxx(name: str) -> bool:
    return os.path.splitext(name)[1] in (".cc", ".cpp", ".cxx", ".C")
