# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot.tune`: searches the decisions that make modules or programs smallest."""

from __future__ import annotations

import math
import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Unpack

from passpilot.passes.mlir.schedule.choices import LEVERS as KERNEL_LEVERS
from passpilot.plugin.errors import InputError, UsageError
from passpilot.plugin.failures import did_you_mean
from passpilot.plugin.files import check_new, check_output, make_folder
from passpilot.plugin.module import Module
from passpilot.plugin.origin import warn_user
from passpilot.plugin.process_end import finishing
from passpilot.training.corpus.layout import Corpus, ProgramRun
from passpilot.training.corpus.recorded.from_recording import LIBRARY, library_program
from passpilot.training.machines.local import MachineOptions, Machines, machines
from passpilot.training.studies.compile_cache import CompileCache
from passpilot.training.studies.study_file import StudyFile, is_study
from passpilot.training.studies.tuned import TunedTrials, best_decisions, decisions_in, program_digest
from passpilot.training.timing.instructions import check_counter
from passpilot.training.tuning.build import recorded_corpus, refuse_lto
from passpilot.training.tuning.decision_file import read_decisions
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.kernels.tune import KernelRequest, is_kernel
from passpilot.training.tuning.result import TuneResult, earlier_decisions
from passpilot.training.tuning.reward import RUN, SIZE, RewardText, run_command
from passpilot.training.tuning.search import LEVERS, MORE_LEVERS, Search
from passpilot.training.tuning.speed import RunLimits, SpeedSearch, run_hint
from passpilot.training.tuning.study import FOUND, Budget
from passpilot.training.tuning.tuned_program import TunedProgram, linked_program, single_module, with_kept
from passpilot.training.tuning.whole_program import merged_program

if TYPE_CHECKING:
    from passpilot.training.tuning.study import TrialCallback

    Source = str | os.PathLike[str] | Module

OZ: Final = "default<Oz>"
BUDGET: Final = 60.0
"""The seconds for each module unless a budget is given."""


def tune(
    modules: Source | Sequence[Source] = (),
    *,
    corpus: str | os.PathLike[str] = "",
    build: Sequence[str] = (),
    program: Sequence[str] = (),
    root: str = "",
    passes: str = "",
    lto: bool = False,
    keep: Sequence[str] = (),
    reward: str = SIZE,
    at_most: Sequence[str] = (),
    unseen: Sequence[str] = (),
    search: Sequence[str] = LEVERS,
    compiles: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    update: str = "",
    options: Sequence[str] = (),
    output: str = "",
    function: str = "",
    threads: int = 1,
    study: str = "",
    no_cache: bool = False,
    callbacks: Sequence[TrialCallback] = (),
    done: Callable[[TuneResult], object] = lambda _: None,
    **where: Unpack[MachineOptions],
) -> TuneResult:
    """Search what makes programs small, or kernels fast, by the options of `passpilot tune`; raises `Error`.

    Args:
        modules: a `Module` or path, or several; not yet optimized. A folder is a corpus, ``.mlir`` a kernel.
        corpus: the folder of a corpus, whose programs are searched by their linked size.
        build: the command of a build, such as ``["make", "-j2"]``, whose programs are searched.
        program: the names of the programs to search, if not all.
        root: links may read files below this folder, not only of the corpus.
        passes: the pipeline; ``default<Oz>`` for a module, and the level of a program's units.
        lto: search the module of a program's full link-time optimization.
        keep: functions and variables that the link of a program keeps though nothing in it uses them.
        reward: a measure, a sum such as ``allocated+0.2*mca``, or the time of a run, ``run: {} ARGUMENTS``.
        at_most: other measures and how much they may grow, such as ``mca:1.01``.
        unseen: commands as in ``run:``, which are timed at the end.
        search: what to search; the guides of modules and of kernels list the words.
        compiles: compilations for each module; the same number and seed give the same result.
        seconds: the time for each module; 60 if there is no other budget.
        update: a decision file to start from, to search what has changed; or a study, to search all.
        options: LLVM's that the build has anyway, such as ``unwind=shared``; or ``profile=FILE``.
        output: the decision file, or for programs a folder; no file without decisions, but for a corpus.
        function: of a kernel; not needed for the only function of linalg operations.
        threads: of a kernel, how many threads its parallel loops may have.
        study: a file that keeps all trials; a call that was killed goes on, and ends with an equal result.
        no_cache: compile all again, and keep nothing in the user's cache of compilations.
        callbacks: called with a `Study` and a `Trial` after each trial; ``study.stop()`` or Ctrl-C ends it.
        done: called with the result of each module or program as soon as it is there.
        where: ``jobs``, ``engine`` and ``address``: who compiles; see `MachineOptions`.
    """
    what = (*_sources(modules, corpus, build), build, program, root, passes, lto, keep)
    how = (*_checked(reward, at_most, unseen), search, (compiles, seconds), seed, update, tuple(options))
    request = _TuneRequest(*what, *how, output, function, threads, study, no_cache)
    return request.run(where, callbacks, done)


_LEAST: Final = {"compiles": 0, "seconds": 0, "seed": 0, "threads": 1, "jobs": 0}
"""The least values of numbers; 0 or None where one has no limit."""


def _check_numbers(**numbers: object) -> None:
    """Refuse values that are no numbers, or too small."""
    for name, value in numbers.items():
        kinds = (int, float) if name == "seconds" else int
        is_number = isinstance(value, kinds) and not isinstance(value, bool)
        if value is None and name not in ("seed", "threads"):
            continue
        if not is_number or not value >= _LEAST[name] or (name == "seconds" and not value):  # type: ignore[operator]
            what = "a number above 0" if name == "seconds" else f"a whole number of {_LEAST[name]} or more"
            raise UsageError(f"tune: {name}: expected {what}, got {value!r}")


def _check_words(**lists: object) -> None:
    """Refuse a text in place of a list of words."""
    for name, value in lists.items():
        if isinstance(value, str):
            hint = f"write {name}={shlex.split(value) if name == 'build' else [value]}"
            raise UsageError(f"tune: {name}: expected a list of texts, got the text {value!r}; {hint}")
        wrong = (
            [word for word in value if not isinstance(word, str)] if isinstance(value, Iterable) else [value]
        )
        if wrong:
            raise UsageError(f"tune: {name}: expected a list of texts, got {wrong[0]!r}")


def _sources(
    modules: Source | Sequence[Source], corpus: str | os.PathLike[str], build: Sequence[str]
) -> tuple[Sequence[Source], str | os.PathLike[str]]:
    """The modules, or the folder of a corpus; neither for a build."""
    _check_words(build=build)
    sources: Sequence[Source] = (
        [modules] if isinstance(modules, (str, os.PathLike, Module)) else list(modules)
    )
    if not corpus and len(sources) == 1 and not isinstance(sources[0], Module) and os.path.isdir(sources[0]):
        corpus, sources = sources[0], []
    if bool(sources) + bool(corpus) + bool(build) != 1:
        given = {"modules": sources, f"--corpus={corpus}": corpus, "a build": build}
        got = " and ".join(name for name, value in given.items() if value) or "nothing"
        raise UsageError(
            f"tune: expected modules, or --corpus=DIR, or -- and the command of a build, got {got}"
        )
    if len(set(sources)) < len(sources):
        raise UsageError(f"tune: expected different modules, got {', '.join(map(str, sources))}")
    return sources, corpus


def _checked(
    reward: str, at_most: Sequence[str], unseen: Sequence[str]
) -> tuple[RewardText, list[ProgramRun]]:
    """The reward, and the runs of unseen inputs."""
    _check_words(at_most=at_most, unseen=unseen)
    wanted = RewardText.parse(reward, at_most)
    if wanted.executed or wanted.run_limits:
        check_counter()
    inputs = [ProgramRun(run_command("--unseen", command)[1:], os.getcwd()) for command in unseen]
    if inputs and wanted.run is None:
        raise UsageError(f"tune: --unseen: expected --reward={RUN} beside it, got {reward!r}")
    return wanted, inputs


@dataclass(frozen=True, slots=True)
class _TuneRequest:
    """The arguments of `tune`; `spending` is what compilations and seconds a unit may have."""

    sources: Sequence[Source]
    corpus: str | os.PathLike[str]
    build: Sequence[str]
    program: Sequence[str]
    root: str
    passes: str
    lto: bool
    keep: Sequence[str]
    reward: RewardText
    unseen: Sequence[ProgramRun]
    search: Sequence[str]
    spending: tuple[int | None, float | None]
    seed: int
    update: str
    options: tuple[str, ...]
    output: str
    function: str
    threads: int
    study_file: str
    no_cache: bool

    def __post_init__(self) -> None:
        compiles, seconds = self.spending
        _check_words(program=self.program, keep=self.keep, search=self.search)
        _check_numbers(compiles=compiles, seconds=seconds, seed=self.seed, threads=self.threads)
        known = (*LEVERS, *MORE_LEVERS)
        if not self.is_for_kernel and (unknown := [lever for lever in self.search if lever not in known]):
            hint = did_you_mean(unknown[0], known)
            raise UsageError(f"tune: --search: expected some of {', '.join(known)}, got {unknown[0]!r}{hint}")
        if self.lto and (self.sources or self.passes):
            got = "--passes" if self.passes else "a module"
            raise UsageError(f"tune: --lto: expected programs, and the pipeline of their level, got {got}")
        if self.study_file and os.path.realpath(self.study_file) == os.path.realpath(self.output):
            raise UsageError(
                f"tune: --study: expected a file of its own, got {self.study_file}, which -o writes"
            )
        for option, given in {"keep": self.keep, "program": self.program}.items():
            if given and self.sources:
                raise UsageError(f"tune: --{option}: expected a build or a corpus, got a module")

    @property
    def budget(self) -> Budget:
        """That of a unit."""
        compiles, seconds = self.spending
        if seconds is None:
            seconds = math.inf if compiles else BUDGET
        return Budget(compiles or math.inf, seconds)

    @property
    def is_for_kernel(self) -> bool:
        """Whether it is about a kernel in MLIR; several compilations at once would disturb its times."""
        return bool(self.function or self.threads > 1 or any(map(is_kernel, self.sources)))

    def run(
        self,
        where: MachineOptions,
        callbacks: Sequence[TrialCallback],
        done: Callable[[TuneResult], object],
    ) -> TuneResult:
        """Search on machines."""
        _check_numbers(jobs=where.get("jobs"))
        if others := [name for name in where if name not in MachineOptions.__annotations__]:
            ours = [*tune.__annotations__.keys() - {"where", "return"}, *MachineOptions.__annotations__]
            hint = did_you_mean(others[0], ours) or "; help(passpilot.tune) lists them"
            raise UsageError(f"tune: expected keywords of passpilot.tune, got {others[0]}{hint}")
        self.check_files()
        if self.is_for_kernel and not where.get("jobs"):
            where = {**where, "jobs": 1}
        with machines(**where) as compilers:
            if self.is_for_kernel:
                return self.kernel().run(compilers, self.kept, callbacks, self.output, done)
            return self.searched(compilers, callbacks, done)

    def check_files(self) -> None:
        """Refuse files that cannot be written at the end, or are not there."""
        if self.update and not os.path.isfile(self.update):
            raise InputError(
                f"tune: --update: expected a decision file or a study, got {self.update}, no file"
            )
        if self.update and not is_study(self.update):
            read_decisions(self.update)  # before the work, for its errors
        if not self.output:
            return
        if self.sources:
            check_new("tune: -o", self.output)
            check_output(self.output)
        elif os.path.exists(self.output) and not os.path.isdir(self.output):
            raise UsageError(f"tune: -o: expected a folder for programs, got {self.output}, a file")
        else:
            check_new("tune: -o", self.output, folder=True)

    def searched(
        self,
        compilers: Machines,
        callbacks: Sequence[TrialCallback],
        done: Callable[[TuneResult], object],
    ) -> TuneResult:
        """Search one module or program after the other."""
        results = []
        cache = CompileCache("") if self.no_cache else CompileCache.of_user()
        file = StudyFile(self.study_file) if self.study_file else None
        for program in self.programs(compilers.jobs):
            if self.output and not self.sources:
                make_folder(self.output)
            if self.options:
                units = [replace(unit, options=self.options) for unit in program.units]
                program = replace(program, units=units)
            study = self.study(program, Engine(program.units, compilers, cache=cache))
            study.budget = self.budget.times(len(program.units))
            trials = self.begun(study, program, file)
            study.callbacks, study.levers = [*callbacks, *filter(None, [trials])], self.search
            study.run()
            with finishing(FOUND):
                result = TuneResult.of(study, self.reward, program.sizes, program.how)
                result = replace(result, link=program.link)
                if trials and not study.interrupted:
                    trials.end()
                results.append(result)
                self.save(result)
                done(result)
            if study.interrupted:
                break
        with finishing(FOUND):
            cache.prune()
            whole = TuneResult.joined(results, self.reward)
            if self.output and self.sources and whole.decides:
                whole.save(self.output)
        return whole

    def save(self, result: TuneResult) -> None:
        """Write what was found for a program into the folder."""
        if self.output and not self.sources:
            if result.decides or self.corpus:  # a corpus may teach, with a file for every program
                result.save(os.path.join(self.output, f"{result.name}.decisions"))
            result.save_table(os.path.join(self.output, f"{result.name}.json"))

    def kernel(self) -> KernelRequest:
        """The same for a kernel in MLIR."""
        source = self.sources[0] if len(self.sources) == 1 else None
        if not is_kernel(source):
            got = ", ".join(map(str, self.sources)) or "a build or a corpus"
            raise UsageError(f"tune: expected one kernel in MLIR, such as matmul.mlir, got {got}")
        reward = "" if self.reward.text == SIZE and not self.reward.limits else self.reward.text
        others = {"passes": self.passes, "update": self.update, "study": self.study_file, "reward": reward}
        for name, value in others.items():
            if value:
                raise UsageError(
                    f"tune: --{name}: expected modules of LLVM beside it, got the kernel {source}"
                )
        levers = KERNEL_LEVERS if self.search == LEVERS else self.search
        return KernelRequest(str(source), self.function, self.threads, levers, self.budget, self.seed)

    def programs(self, jobs: int) -> Iterator[TunedProgram]:
        """The modules or programs, read one after the other."""
        for source in self.sources:
            yield single_module(source, self.passes or OZ, self.reward)
        if self.build:
            with tempfile.TemporaryDirectory(prefix="passpilot-tune-") as scratch:
                folder = self.output or scratch
                corpus = recorded_corpus(self.build, folder)
                refuse_lto(self.build, folder, searched=self.lto)
                yield from self.linked(corpus, jobs, "/")
        elif self.corpus:
            yield from self.linked(self.corpus, jobs, self.root)

    def linked(self, folder: str | os.PathLike[str], jobs: int, root: str) -> Iterator[TunedProgram]:
        """The programs of a corpus, whose links may read files below `root`."""
        corpus = Corpus.read(folder, root)
        known = {program.name: program for program in corpus.programs}
        if not known:  # as of a compile_commands.json
            triples = {unit.triple for unit in corpus.units.values()}
            if len(triples) != 1 or "" in triples:
                raise InputError(f"tune: expected a linked program in {folder}, got none")
            is_cxx = any(origin.language == "c++" for origin in corpus.facts.origins.values())
            known = {LIBRARY: library_program(corpus.units, triples.pop(), is_cxx=is_cxx)}
        names = [_named(name, known) for name in self.program]
        for name in names:
            if name not in known:
                hint = did_you_mean(name, known)
                raise UsageError(
                    f"tune: --program: expected one of {', '.join(sorted(known))}, got {name}{hint}"
                )
        for name in names or known:
            program = with_kept(corpus, known[name], self.keep)
            if self.lto:
                yield merged_program(corpus, program, self.reward, jobs)
            else:
                yield linked_program(corpus, program, self.passes, self.reward)

    def study(self, program: TunedProgram, engine: Engine) -> Search | SpeedSearch:
        """The search for what the reward names."""
        reward, units = self.reward, program.units
        if reward.run is None or program.linked is None:
            earlier = read_decisions(self.update) if self.update and not is_study(self.update) else []
            known = [earlier_decisions(unit, earlier) for unit in units]
            limits = RunLimits(
                program.linked, [(runs_of(program, run), most) for run, most in reward.run_limits]
            )
            search = Search(units, engine, program.measure, name=program.name, seed=self.seed, known=known)
            search.accepts = limits
            return search
        return SpeedSearch(
            units,
            engine,
            program.measure,
            name=program.name,
            seed=self.seed,
            linker=program.linked,
            runs=runs_of(program, reward.run),
            unseen=self.unseen,
            executed=reward.executed,
        )

    def begun(
        self, study: Search | SpeedSearch, program: TunedProgram, file: StudyFile | None
    ) -> TunedTrials | None:
        """Let a search begin with the decisions in a study; returns what keeps its trials."""
        is_from_study = bool(self.update) and is_study(self.update)
        if file is None and not is_from_study:
            return None
        name, reward = os.path.basename(program.name), self.reward.text
        limits = repr((self.reward.limits, self.reward.run_limits))
        digest = program_digest(program.units, reward, limits, program.how, *program.link, "keep", *self.keep)

        def first() -> str:
            found = best_decisions(self.update, name, reward, digest) if is_from_study else ""
            if is_from_study and not found:
                warn_user(f"{self.update} has no trial of {name} for {reward}; the search starts anew")
            return found

        trials = TunedTrials(file, name, reward, digest) if file else None
        settings = (self.seed, tuple(self.search), self.spending, self.update)
        text = trials.begin(settings, first) if trials else first()
        if text:
            earlier = decisions_in(text, self.update)
            known = [earlier_decisions(unit, earlier) for unit in program.units]
            study.known = [replace(each, unchanged=frozenset()) if each else None for each in known]
            if isinstance(study, Search):
                study.whole = True
        return trials

    @contextmanager
    def kept(self) -> Iterator[CompileCache]:
        """Where a kernel's times are kept, from which the same call goes on; removed after the search."""
        if not self.output:
            yield CompileCache("")
            return
        folder = f"{self.output.rstrip('/')}.search"
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        except OSError as error:
            raise InputError(f"tune: expected to write in {folder}, got: {error.strerror}") from error
        yield CompileCache(folder)
        with suppress(OSError):
            shutil.rmtree(folder)


def _named(given: str, known: Collection[str]) -> str:
    """The name of a program, which may be given as the path that a build writes."""
    alike = (given, given.strip("./").replace("/", "-"), os.path.basename(given))
    return next((name for name in alike if name in known), given)


def runs_of(program: TunedProgram, command: Sequence[str]) -> list[ProgramRun]:
    """The run of a command of `RewardText`, or the runs that the corpus has recorded."""
    if program.linked is None:
        raise UsageError(f"tune: expected a program that runs, got the module {program.name}")
    if not command and not program.runs:
        expected = f"tune: expected a recorded run of {program.name}, got none"
        hint = run_hint(program.units[0].module.triple) or f"; use '{RUN}: {{}} ...'"
        raise UsageError(f"{expected}{hint}")
    return [ProgramRun(tuple(command[1:]), os.getcwd())] if command else list(program.runs)
