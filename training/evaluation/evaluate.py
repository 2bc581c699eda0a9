# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Evaluation`: all programs of a corpus, one after the other; a program's units are compiled in parallel."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import count

from passpilot.plugin.errors import InputError
from passpilot.plugin.toolchain import installed
from passpilot.training.corpus.layout import Corpus, CorpusProgram
from passpilot.training.corpus.link_files import link_folder
from passpilot.training.evaluation.program import EvaluationPlan, ProgramEvaluation
from passpilot.training.evaluation.results import EvaluationResult, ProgramResult
from passpilot.training.evaluation.unit_compiler import Toolchain, UnitCompiler
from passpilot.training.scratch import ScratchFolder, remove_left_overs
from passpilot.training.studies.compile_cache import CompileCache
from passpilot.training.timing.commands import Commands


@dataclass
class Evaluation:
    """An evaluation of programs of a corpus.

    Attributes:
        plan: the competitors, and how programs are measured.
        corpus: the corpus.
        names: the programs of it that are evaluated; all by default.
        cache: for the objects of baselines.

    Raises:
        InputError: there is no such program, or clang or lld is missing.
    """

    plan: EvaluationPlan
    corpus: Corpus
    names: Sequence[str]
    cache: CompileCache

    def __post_init__(self) -> None:
        self.programs = programs_of(self.corpus, self.names)
        self._toolchain, self._commands = Toolchain.find(), Commands()

    def new_result(self, baselines: Sequence[str]) -> EvaluationResult:
        """A result without programs; the competitors of these names are what others are compared with."""
        facts = {
            "passpilot": version("passpilot"),
            "compiler": self._toolchain.version,
            "machine": f"{_processor()}, {len(os.sched_getaffinity(0))} processors",
            "corpus": os.path.abspath(self.corpus.folder),
            "rounds": self.plan.rounds * self.plan.runs,
            "lto": self.plan.lto,
        }
        contenders = [
            {"name": competitor.name, "kind": competitor.kind} for competitor in self.plan.competitors
        ]
        return EvaluationResult(facts, contenders, baselines)

    def run(
        self,
        result: EvaluationResult,
        step: Callable[[int, int], object] = lambda _count, _total: None,
        done: Callable[[ProgramResult], object] = lambda _program: None,
        output: str = "",
        *,
        resume: bool = False,
    ) -> None:
        """Add the programs to the result.

        Args:
            result: what the programs are added to.
            step: called with the steps so far and their number after each compilation, link and run.
            done: called after each program.
            output: a file for the result, written before the work and after each program.
            resume: take the finished programs from this file.

        Raises:
            Error: the result cannot be written, or the plugin is missing.
        """
        if resume and os.path.exists(output):
            result.take_up(output)
        finished = {program["name"] for program in result.programs}
        programs = [program for program in self.programs if program.name not in finished]
        total = sum(ProgramEvaluation.steps(self.plan, program) for program in programs)
        counter = count(1)
        if output:
            result.write(output, complete=False)
        for program in self._results(programs, lambda: step(next(counter), total)):
            result.programs.append(program)
            done(program)
            if output:
                result.write(output, complete=False)
        if output:
            result.write(output, complete=True)

    def _results(
        self, programs: Sequence[CorpusProgram], step: Callable[[], object]
    ) -> Iterator[ProgramResult]:
        remove_left_overs()  # those of evaluations that were killed
        with contextlib.closing(ScratchFolder()) as held:
            compiler = UnitCompiler(
                self._commands,
                self._toolchain,
                installed("libpasspilot.so"),
                self.plan.deadline,
                self.cache,
                held.path,
                self.plan.lto,
            )
            try:
                for program in programs:
                    placed = replace(program, directory=link_folder(program, str(self.corpus.folder)))
                    yield ProgramEvaluation(self.plan, compiler, placed, self.corpus.units, step).run()
            finally:
                self._commands.stop()
        self.cache.prune()


def _processor() -> str:
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return os.uname().machine


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
    by_name = {program.name: program for program in known}
    if unknown := [name for name in names if name not in by_name]:
        some = ", ".join(list(by_name)[:12])
        raise InputError(f"eval: expected programs among {some}, got {unknown[0]!r}")
    return [by_name[name] for name in dict.fromkeys(names)] if names else known


def _is_cxx(name: str) -> bool:
    return os.path.splitext(name)[1] in (".cc", ".cpp", ".cxx", ".C")
