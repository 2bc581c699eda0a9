# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cases of a sweep over programs: one trial on one program with one seed, in a process of its own."""

from __future__ import annotations

import hashlib
import multiprocessing
import resource
import signal
import subprocess
import tempfile
import time
import warnings
import zlib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import passpilot
from passpilot import EvictAdvisor, InlineAdvisor, Module, PriorityAdvisor, ScheduleAdvisor, emit, optimize
from passpilot.errors import Error
from passpilot.plugin.compile import llvm_options

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from passpilot import Observation

from bench.sweeps import unwind
from bench.sweeps.parts import Part, part
from tests import stock
from tests.corpus.programs import Program, all_programs
from tests.passes.allocation.allocated import (
    TRIPLES,
    by_llc,
    emitted,
    for_amdgcn,
    link,
    optimized,
    random_advisors,
    retargeted,
    stressed,
)
from tests.passes.allocator.steps import POINTS, advised_allocator
from tests.passes.shipped.sequences import of_seed

ENDS: Final = 5
"""Processor seconds that a program of csmith may take at -O0; with random answers ten times as many."""
RUNS: Final = 300
"""... a driver of the corpus with random answers."""
COMPILES: Final = 120
"""... a part of a program may take to compile: LLVM needs many minutes for a few that have grown."""
TOO_LONG: Final = (-signal.SIGXCPU, -signal.SIGKILL)
"""Exit codes of processes at their limit."""
STOCK_RUNS: Final = 20
"""Stock opt has several outputs for a few inputs: ours must be among those of so many runs."""
CASE: Final = 4 * 3600
"""Seconds on the clock for one case: only what hangs takes so long."""
LEVELS: Final = stock.LEVELS
"""The trials of `identity`; its programs are ``NAME/UNIT``."""
GENERATED: Final = tuple(f"llc {level} {target}" for target in TRIPLES for level in LEVELS[:3])
"""The trials of `llc`, of the same programs."""
STRESSED: Final = tuple(f"stress {target}" for target in TRIPLES)
"""The trials of `stress`; its programs are of llvm-stress."""
SEQUENCES: Final = "sequences"
"""The trial of `sequences`, and its program."""


@dataclass(frozen=True)
class Trial:
    """The points that get random answers."""

    at: tuple[tuple[str, str], ...] = ()
    """Passes at places of the pipeline."""
    early: tuple[str, ...] = ()
    """Points that these passes ask."""
    late: tuple[str, ...] = ()
    """Points that code generation asks."""
    pipeline: str = "default<O2>"
    inline: bool = False
    size_budget: float = 2
    """... of the inliner."""
    turns: bool = False
    """Whether odd seeds ask the advised allocator, and even ones greedy about evictions and priorities."""
    draws: int = 1
    """Random answers of so many seeds, of which each makes code of the same program."""

    def asked_late(self, seed: int) -> tuple[str, ...]:
        """The points that code generation asks with this seed."""
        if not self.turns:
            return self.late
        return (*self.late, *(POINTS if seed % 2 else ("evict", "priority")))


DRAW: Final = 100_000
"""From one seed of a draw to the next."""
SCHEDULE: Final = "schedule"
VECTORIZER: Final = "vectorizer-start"
DISTRIBUTED: Final = "advised-distribute,loop-distribute,advised-vectorize"
EARLY: Final = ("advised-distribute", "advised-vectorize")
EVERY: Final = Trial(
    (
        ("pipeline-early-simplification", "advised-size,function(advised-hotness)"),
        (VECTORIZER, f"advised-unroll,{DISTRIBUTED},advised-slp"),
    ),
    ("advised-size", "advised-hotness", "advised-unroll", *EARLY, "advised-slp", "advised-pipeline"),
    ("advised-outline", SCHEDULE),
    "default<O2>,advised-pipeline{budget=4}",
    inline=True,
    turns=True,
)
PART: Final = "part"
"""The trial with the same advice in one part of a program of the corpus, which may grow less: functions of C
that grow without end take LLVM minutes."""
TRIALS: Final = {
    "vectorize": Trial(((VECTORIZER, "advised-vectorize"),), ("advised-vectorize",)),
    "slp": Trial(((VECTORIZER, "advised-slp"),), ("advised-slp",)),
    "distribute": Trial(((VECTORIZER, DISTRIBUTED),), EARLY),
    "outline": Trial(late=("advised-outline",)),
    **{point: Trial(late=(point,)) for point in POINTS},
    "allocator": Trial(late=POINTS),
    SCHEDULE: Trial(late=(SCHEDULE,)),
    f"{SCHEDULE} x10": Trial(late=(SCHEDULE,), draws=10),
    "all": Trial(
        ((VECTORIZER, f"{DISTRIBUTED},advised-slp"),),
        (*EARLY, "advised-slp"),
        ("advised-outline", SCHEDULE, *POINTS),
    ),
    "every": EVERY,
    PART: replace(EVERY, pipeline="default<O2>,advised-pipeline{budget=2}", size_budget=1.1),
}


@dataclass
class Case:
    """One trial on one program; `wrong` says what was, and is empty if nothing was."""

    trial: str
    program: str
    seed: int
    decisions: int = 0
    wrong: str = ""
    left_out: bool = False
    tree: str = ""
    """The commit of the tree that judged it, with a `+` if files were changed."""
    date: str = ""

    @property
    def kind(self) -> str:
        """What its program is: `units`, `corpus`, `csmith`, `llvm-stress`, `sequences`; or `unwind`."""
        if self.trial in unwind.TRIALS:
            return "unwind"
        if self.program in ("csmith", "llvm-stress", SEQUENCES):
            return self.program
        return "units" if "/" in self.program else "corpus"


@dataclass(frozen=True)
class Prepared:
    """A program to be judged: its module before and after -O2, its libraries, and how to run it."""

    folder: Path
    source: Path
    optimized: Path
    corpus: Program | None
    expected: bytes
    others: tuple[Path, ...] = ()
    """Object files of the other parts."""

    def is_right(self, code: bytes) -> bool:
        """Whether an object file of the program prints what it should."""
        if not self.corpus:
            return ran(link(code, self.folder), 10 * ENDS) == self.expected
        driver = self.corpus.driver
        binary = link(code, self.folder, *map(str, self.others), *self.corpus.libs, lang=self.corpus.lang)
        arguments = [word.replace("{drv}", "_driver") for word in driver.args]
        output = ran(binary, RUNS, arguments, self.corpus.source)
        return hashlib.sha256(output).hexdigest() == driver.stdout_sha256


def ran(program: Path, seconds: int, arguments: Sequence[str] = (), folder: Path | None = None) -> bytes:
    """What a program prints within a limit of processor time."""
    command = ["prlimit", f"--cpu={seconds}", str(program), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=CASE).stdout


def csmith(seed: int, folder: Path) -> Prepared | None:
    """A program of csmith; None if it runs too long."""
    source, module, after = folder / "random.c", folder / "random.bc", folder / "optimized.bc"
    command = ["csmith", "--seed", str(seed), "--max-funcs", "8"]
    source.write_bytes(subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout)
    stock.run("clang", "-O2", *stock.CLANG, "-I/usr/include/csmith", source, "-o", module)
    try:
        expected = ran(link(by_llc(module, opt_level=0), folder), ENDS)
    except subprocess.CalledProcessError as error:
        if error.returncode in TOO_LONG:
            return None
        raise
    return Prepared(folder, module, after, None, expected)


def of_corpus(case: Case, folder: Path) -> Prepared:
    """A program of the corpus, or the part of it for a seed."""
    program = all_programs()[case.program]
    mine = part(program, case.seed) if case.trial == PART else Part(program.whole("O2"))
    return Prepared(folder, mine.source, folder / f"{mine.source.name}.optimized", program, b"", mine.others)


def compiled(case: Case, program: Prepared, draw: int = 0) -> bytes:
    """The object file of a program with random answers; counts them."""
    trial, seed = TRIALS[case.trial], case.seed + DRAW * draw
    warnings.simplefilter("ignore")  # many programs have nothing to ask about
    with ExitStack() as stack:
        early, late = (
            [passpilot.advisor(name, f"random:{seed + n}") for n, name in enumerate(points)]
            for points in (trial.early, trial.asked_late(case.seed))
        )
        if trial.inline:
            early.append(InlineAdvisor(f"random:{seed}", size_budget=trial.size_budget))
        asked = [*early, *late]
        if "advised-outline" in trial.late:
            late.append(passpilot.advisor("advised-outliner", "const:1"))
        for advisor in (*early, *late):
            stack.enter_context(advisor)
        if not program.optimized.exists() and not early:
            stock.run("opt", "-O2", program.source, "-o", program.optimized)
        module = Module.read(program.source if early else program.optimized)
        if early:
            optimize(module, trial.pipeline, early, at=dict(trial.at))
        if set(POINTS) & set(trial.asked_late(case.seed)):
            verified = program.corpus is None or case.seed == 0
            stack.enter_context(advised_allocator(f"-verify-machineinstrs={int(verified)}"))
        elif SCHEDULE in trial.late and program.corpus is None:
            llvm_options(["-verify-machineinstrs=1"])
        code = emit(module, advisors=late, relocation_model="pic")
        case.decisions += sum(advisor.stats.decisions for advisor in asked)
        if case.trial in ("all", "every", PART) and not case.decisions:
            case.wrong = "nobody was asked"
        return code


def takes_default(obs: Observation) -> object:
    """A policy that reads nothing."""
    return obs.default()


takes_default.features = ()  # type: ignore[attr-defined]


def logs(case: Case, folder: str, point: str) -> str | None:
    """The log of a point's decisions, for a half of the programs."""
    return f"{folder}/{point}.log" if zlib.crc32(case.program.encode()) % 2 else None


def is_stock_opts(case: Case, unit: Path) -> bool:
    """Whether a unit has stock opt's bitcode with default advice."""
    module, pipeline = Module.read(unit), f"default<{case.trial}>"
    with tempfile.TemporaryDirectory() as folder:
        log = logs(case, folder, "inline")
        with InlineAdvisor("default" if log else takes_default, log=log) as advisor:
            optimize(module, pipeline, [advisor])
        case.decisions = advisor.stats.decisions
    ours = module.bitcode()
    return any(ours == stock.run("opt", f"-passes={pipeline}", unit, "-o", "-") for _ in range(STOCK_RUNS))


def has_code(case: Case, expected: bytes, source: Path, target: str, opt_level: int = 2) -> bool:
    """Whether a module has stock llc's code with default advice at three points of `llc`."""
    with tempfile.TemporaryDirectory() as folder:
        advisors = [
            kind("default" if log else takes_default, log=log)
            for kind in (EvictAdvisor, PriorityAdvisor, ScheduleAdvisor)
            for log in (logs(case, folder, kind.point),)
        ]
        ours = emitted(source, advisors, triple=TRIPLES[target], opt_level=opt_level)
        case.decisions += sum(advisor.stats.decisions for advisor in advisors)
    return ours == expected


def is_stock_llcs(case: Case, program: Program, unit: str) -> bool:
    """The same of a unit; left out if clang or stock llc has no code of it for the target.

    x86's inline assembly and intrinsics are of no other target, and AMD GPUs have no C++ exceptions. A
    module for them is clang's: their variables are in another address space, so that llc alone cannot.
    """
    _, level, target = case.trial.split()
    try:
        if target == "amdgcn":
            named = {program.unit(source, "O2").name: source for source in program.sources()}
            module = for_amdgcn(program, named[unit])
        else:
            module = retargeted(optimized(program.name, unit.removesuffix(".bc")), target)
        expected = by_llc(module, triple=TRIPLES[target], opt_level=int(level[1:]))
    except AssertionError:
        case.left_out = True
        return True
    return has_code(case, expected, module, target, int(level[1:]))


def stress(case: Case) -> str:
    """What is wrong with the code of a function of llvm-stress; LLVM's verifier ends the process."""
    target = case.trial.split()[1]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        source = stressed(case.seed, Path(folder), target)
        if not has_code(case, by_llc(source, triple=TRIPLES[target]), source, target):
            return "is not stock llc's"
        if case.seed % 2 and target != "amdgcn":
            advisors = [passpilot.advisor(point, f"random:{case.seed}") for point in POINTS]
            stack.enter_context(advised_allocator("-verify-machineinstrs=1"))
        else:
            advisors = list(random_advisors(case.seed))
            llvm_options(["-verify-machineinstrs=1"])
        advisors.append(passpilot.advisor(SCHEDULE, f"random:{case.seed}"))
        emitted(source, advisors, triple=TRIPLES[target])
        case.decisions += sum(advisor.stats.decisions for advisor in advisors)
    return ""


def wrong_draw(case: Case, program: Prepared) -> str:
    """What is wrong with a program with random answers, of all draws of the trial."""
    draws = TRIALS[case.trial].draws
    for draw in range(draws):
        if not program.is_right(compiled(case, program, draw)):
            return "prints something else" + f", draw {draw}" * (draws > 1)
    return ""


def judge(case: Case, program: Prepared | None) -> Case:
    warnings.simplefilter("ignore")  # of units without calls
    name, _, unit = case.program.partition("/")
    try:
        if case.kind == "units":
            if case.trial in LEVELS:
                path = all_programs()[name].bitcode("Oz") / unit
                case.wrong = "" if is_stock_opts(case, path) else "is not stock opt's"
            else:
                same = is_stock_llcs(case, all_programs()[name], unit)
                case.wrong = "" if same else "is not stock llc's"
        elif case.kind == "llvm-stress":
            case.wrong = stress(case)
        elif case.kind == "unwind":
            unwind.judge(case)
        elif case.kind == SEQUENCES:
            outcome = of_seed(case.seed)
            case.wrong, case.decisions = "; ".join(outcome.wrong), outcome.sequences
        elif program:
            case.wrong = wrong_draw(case, program)
    except (subprocess.SubprocessError, AssertionError, Error) as error:
        case.wrong = f"{type(error).__name__}: {error}"[-400:]
    case.date = time.strftime("%Y-%m-%d", time.gmtime())
    return case


def judge_into(pipe: Connection, case: Case, program: Prepared | None) -> None:
    """The same, in a child."""
    if case.trial == PART:
        resource.setrlimit(resource.RLIMIT_CPU, (COMPILES, resource.RLIM_INFINITY))
    pipe.send(judge(case, program))


def judged(case: Case, program: Prepared | None = None) -> Case:
    """The same in a process of its own, which LLVM may end."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe(duplex=False)
    child = fork.Process(target=judge_into, args=(theirs, case, program))
    child.start()
    theirs.close()
    try:
        if ours.poll(CASE):
            return cast("Case", ours.recv())
        case.wrong = f"took more than {CASE} s"
    except EOFError:
        child.join()
        case.left_out = child.exitcode in TOO_LONG
        case.wrong = "" if case.left_out else f"exit code {child.exitcode}"
    finally:
        child.kill()
        child.join()
    return case


def judge_all(cases: Sequence[Case]) -> list[Case]:
    first = cases[0]
    if first.kind not in ("csmith", "corpus"):
        return [judged(case) for case in cases]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if first.kind == "corpus":
            return [judged(case, of_corpus(case, folder)) for case in cases]
        if program := csmith(first.seed, folder):
            return [judged(case, program) for case in cases]
    return [replace(case, left_out=True) for case in cases]
