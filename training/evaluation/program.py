# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`ProgramEvaluation`: compiles, links and runs one program of a corpus with all competitors."""

from __future__ import annotations

import filecmp
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple, TypeVar

from passpilot.features.log.reader import read_log
from passpilot.features.log.shown import style_of
from passpilot.plugin.errors import CompilationError, Error
from passpilot.training.corpus.layout import CorpusProgram, CorpusUnit
from passpilot.training.evaluation.competitors import Competitor, CompileWay
from passpilot.training.evaluation.results import CompetitorResult, FunctionSizes, ProgramResult
from passpilot.training.evaluation.unit_compiler import CompiledUnit, UnitCompiler, environment_of
from passpilot.training.file_sizes import file_sizes
from passpilot.training.rewards import symbol_sizes
from passpilot.training.timing.commands import CommandPool
from passpilot.training.timing.program_runs import ProgramRuns
from passpilot.training.tuning.tuned_program import link_words, small_link

T = TypeVar("T")

MOST_FUNCTIONS: Final = 1500
"""The functions of a program whose sizes are written, the largest ones; the rest is one number."""

_STRIPPING: Final = ("-s", "-Wl,-s", "-Wl,--strip-all", "-Wl,--strip-debug", "-Wl,-S")


@dataclass(frozen=True, slots=True)
class EvaluationPlan:
    """How programs are evaluated.

    Attributes:
        competitors: the first one is the reference of run times.
        jobs: compilations at once; 0 for as many as processors.
        rounds: how often the programs run for their time; 0 runs them once, for their output.
        runs: whether the programs run at all.
        logs: whether decisions are counted, which takes another compilation; not with `lto`.
        run_deadline: the seconds that one run may take.
        deadline: the seconds that one compilation or link may take.
        counts: whether the executed instructions of the runs are counted, too.
        lto: whether the link optimizes the program.
    """

    competitors: Sequence[Competitor]
    jobs: int
    rounds: int
    runs: bool
    logs: bool
    run_deadline: float
    deadline: float
    counts: bool = False
    lto: bool = False


class ProgramEvaluation:
    """One program; `run` gives its result. `step` is called after each compilation, link and run."""

    def __init__(
        self,
        plan: EvaluationPlan,
        compiler: UnitCompiler,
        program: CorpusProgram,
        units: Mapping[str, CorpusUnit],
        step: Callable[[], object],
    ) -> None:
        self._plan, self._compiler, self._program, self._step = plan, compiler, program, step
        self._jobs = plan.jobs or len(os.sched_getaffinity(0))
        self._units = [units[name] for name in program.modules]
        self._names = [competitor.name for competitor in plan.competitors]
        self._results: dict[str, CompetitorResult] = {name: _empty() for name in self._names}
        self._warnings: list[str] = []

    @staticmethod
    def steps(plan: EvaluationPlan, program: CorpusProgram) -> int:
        """How often `step` is called."""
        compilations = sum(1 + (plan.logs and bool(competitor.points)) for competitor in plan.competitors)
        runs = (1 + plan.rounds) * bool(program.runs) * plan.runs
        return compilations * len(program.modules) + len(plan.competitors) * (bool(program.objects) + runs)

    def run(self) -> ProgramResult:
        """Compile, link, measure and run. Errors of units, links and runs are in the result."""
        functions: FunctionSizes = {"names": [], "sizes": {}, "rest": {}}
        try:
            with tempfile.TemporaryDirectory(dir=self._compiler.scratch) as folder:
                functions = self._evaluated(folder)
        except OSError as error:  # a full disk, perhaps only for this program
            self._fail(self._names[0], f"expected room for temporary files, got: {error.strerror}")
        finally:
            self._compiler.forget()
        return {
            "name": self._program.name,
            "language": self._program.language,
            "units": len(self._units),
            "results": self._results,
            "functions": functions,
            "warnings": self._warnings,
        }

    def _evaluated(self, folder: str) -> FunctionSizes:
        name, competitors = self._program.name, self._plan.competitors
        ways = self._good({side.name: partial(side.ways, name) for side in competitors})
        pairs = ((unit, way) for some in ways.values() for unit in self._units for way in some)
        self._compiler.prepare(pairs, self._jobs)
        with CommandPool(self._jobs, self._compiler.commands) as pool:
            built = self._built(pool, folder, ways)
            linked = self._linked(pool, folder, built, ways)
        functions = self._measured(linked)
        if linked and self._plan.runs and self._program.runs:
            self._run_all(linked)
        return functions

    def _good(self, getters: Mapping[str, Callable[[], T]]) -> dict[str, T]:
        """What the functions return, by competitor; the error of one that fails is in its result."""
        found: dict[str, T] = {}
        for name, get in getters.items():
            try:
                found[name] = get()
            except Error as error:
                self._fail(name, str(error))
        return found

    # --- Compiling -----------------------------------------------------------------------------------------

    def _built(
        self, pool: ThreadPoolExecutor, folder: str, ways: Mapping[str, Sequence[CompileWay]]
    ) -> dict[str, dict[str, str]]:
        """The paths of the objects by competitor and unit, of those competitors that compile all units."""
        plain = {
            name: self._submit(pool, f"{folder}/{at}", way, ()) for at, (name, way) in enumerate(ways.items())
        }
        logged = {
            side.name: self._submit(pool, f"{folder}/log-{at}", ways[side.name], side.points)
            for at, side in enumerate(self._plan.competitors)
            if side.name in ways and side.points and self._plan.logs
        }
        built = {name: self._gathered(name, [unit.object for unit in units]) for name, units in plain.items()}
        self._explain_common()
        for name, units in logged.items():
            self._count(name, built.get(name), units)
        return {
            name: {unit.name: compiled.path for unit, compiled in zip(self._units, units, strict=True)}
            for name, units in built.items()
            if units is not None
        }

    def _submit(
        self, pool: ThreadPoolExecutor, stem: str, ways: Sequence[CompileWay], points: Sequence[str]
    ) -> list[_Submitted]:
        submitted = []
        for place, unit in enumerate(self._units):
            logs = {point: f"{stem}-{place}.{point}.log" for point in points}
            future = pool.submit(self._compile, unit, ways, f"{stem}-{place}", logs)
            submitted.append(_Submitted(future, tuple(logs.values())))
        return submitted

    def _compile(
        self, unit: CorpusUnit, ways: Sequence[CompileWay], output: str, logs: Mapping[str, str]
    ) -> CompiledUnit:
        try:
            return self._compiler.compile(unit, ways, output, logs)
        except OSError as error:
            msg = f"{unit.name}: expected to write an object, got: {error.strerror}"
            raise CompilationError(msg) from error
        finally:
            self._step()

    def _gathered(self, name: str, futures: Sequence[Future[CompiledUnit]]) -> list[CompiledUnit] | None:
        """The compiled units; None if one failed, which is one line."""
        units: list[CompiledUnit] = []
        failed: list[str] = []
        for future in futures:
            try:
                units.append(future.result())
            except Error as error:
                failed.append(str(error))
        if failed:
            more = len(failed) - 1
            self._fail(name, failed[0] + f" (and {more} more unit{'s' * (more > 1)})" * bool(more))
            return None
        result = self._results[name]
        result["objects"] = None if self._plan.lto else sum(unit.size for unit in units)
        result["compile_seconds"] = round(sum(unit.seconds for unit in units), 4)
        result["cached"] = sum(unit.is_cached for unit in units)
        return units

    def _explain_common(self) -> None:
        """Errors that all competitors have are about the unit: only the first one keeps them."""
        errors = [result["errors"] for result in self._results.values()]
        common = set(errors[0]).intersection(*errors[1:]) if len(errors) > 1 else set()
        for number, texts in enumerate(errors):
            kept = [f"{text} (with all)" if text in common else text for text in texts]
            texts[:] = kept if not number else [text for text in texts if text not in common]

    def _count(self, name: str, plain: list[CompiledUnit] | None, logged: Sequence[_Submitted]) -> None:
        """Count the decisions in the logs of the second compilation, which must make the same objects."""
        try:
            objects = [unit.object.result() for unit in logged]
            counts = [decision_counts(path) for unit in logged for path in unit.logs]
        except Error as error:
            if plain is not None:
                self._fail(name, f"with a decision log: {error}")
            return
        result = self._results[name]
        result["decisions"] = sum(decisions for decisions, _ in counts)
        result["agreed"] = sum(agreed for _, agreed in counts)
        if not result["decisions"]:
            self._warnings.append(f"{name}: was never asked")
        for unit, first, second in zip(self._units, plain or (), objects, strict=False):
            if not filecmp.cmp(first.path, second.path, shallow=False):
                what = "two compilations made different objects"
                self._warnings.append(f"{name}: {unit.name}: {what}, so the policy is not repeatable")

    # --- Linking and measuring -----------------------------------------------------------------------------

    def _linked(
        self,
        pool: ThreadPoolExecutor,
        folder: str,
        built: Mapping[str, Mapping[str, str]],
        ways: Mapping[str, Sequence[CompileWay]],
    ) -> dict[str, str]:
        """The paths of the programs, of those competitors that link."""
        if not self._program.objects:
            return {}
        futures = {
            name: pool.submit(self._link, name, paths, ways[name][0], f"{folder}/{at}.program")
            for at, (name, paths) in enumerate(built.items())
        }
        return self._good({name: future.result for name, future in futures.items()})

    def _link(self, name: str, paths: Mapping[str, str], way: CompileWay, output: str) -> str:
        kept = tuple(word for word in self._program.arguments if word not in _STRIPPING)
        program = replace(self._program, arguments=kept)
        linker = self._compiler.toolchain.linkers["c++" if "+" in program.compiler else "c"]
        more = ("-fuse-ld=lld", *small_link(kept), "-o", output)
        lto = self._compiler.link_flags(way) if self._plan.lto else []
        words = [linker, *lto, *link_words(program, more, paths.__getitem__)]
        try:
            done = self._compiler.commands.run(
                words,
                self._plan.deadline,
                directory=program.directory or None,
                environment=environment_of(way),
            )
        finally:
            self._step()
        done.check("link: expected a program", self._plan.deadline)
        if self._plan.lto:  # where the program is compiled
            before = self._results[name]["compile_seconds"] or 0
            self._results[name]["compile_seconds"] = round(before + done.seconds, 4)
        return output

    def _measured(self, linked: Mapping[str, str]) -> FunctionSizes:
        sizes: dict[str, dict[str, int]] = {}
        for name, path in linked.items():
            found = file_sizes(path, self._compiler.commands, self._plan.deadline)
            result = self._results[name]
            result["allocated"], result["text"] = found.allocated, found.text
            result["stripped"], result["xz"] = found.stripped, found.xz
            with open(path, "rb") as file:
                sizes[name] = symbol_sizes(file.read())
        return _largest(sizes)

    def _run_all(self, linked: Mapping[str, str]) -> None:
        plan = self._plan
        runs = ProgramRuns(
            self._compiler.commands, self._program.runs, plan.run_deadline, self._step, counts=plan.counts
        )
        for name, outcome in runs.measure(linked, self._names[0], plan.rounds).items():
            result = self._results[name]
            result["output"], result["run"] = outcome.output, outcome.time
            result["instructions"] = outcome.instructions
            for text in outcome.errors:
                self._fail(name, text)

    # --- Errors --------------------------------------------------------------------------------------------

    def _fail(self, name: str, text: str) -> None:
        if text not in (errors := self._results[name]["errors"]):
            errors.append(" ".join(text.split()))


class _Submitted(NamedTuple):
    """A unit that is compiled, and its decision logs."""

    object: Future[CompiledUnit]
    logs: tuple[str, ...]


def _empty() -> CompetitorResult:
    return {
        "allocated": None,
        "text": None,
        "stripped": None,
        "xz": None,
        "objects": None,
        "compile_seconds": None,
        "cached": 0,
        "decisions": None,
        "agreed": None,
        "run": None,
        "instructions": None,
        "output": "unknown",
        "errors": [],
    }


def decision_counts(path: str) -> tuple[int, int]:
    """The decisions in a log, and those that agree with the default; none if nothing was asked."""
    if not os.path.exists(path):
        return 0, 0
    reader = read_log(path)
    style = style_of(reader.features)
    decisions = agreed = 0
    for arrays in reader.batches(filter(None, (style.advice, style.default))):
        decisions += len(arrays[style.advice])
        if style.default:
            agreed += int((arrays[style.advice] == arrays[style.default]).sum())
    return decisions, agreed


def _largest(sizes: Mapping[str, Mapping[str, int]]) -> FunctionSizes:
    """The largest functions; the bytes of all others in one number."""
    names = dict.fromkeys(name for functions in sizes.values() for name in functions)
    largest = sorted(names, key=lambda name: -max(functions.get(name, 0) for functions in sizes.values()))
    chosen = dict.fromkeys(largest[:MOST_FUNCTIONS])
    return {
        "names": list(chosen),
        "sizes": {side: [functions.get(name, 0) for name in chosen] for side, functions in sizes.items()},
        "rest": {
            side: sum(size for name, size in functions.items() if name not in chosen)
            for side, functions in sizes.items()
        },
    }
