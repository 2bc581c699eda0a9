# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many programs: random answers at the newer decision points, and default advice, which must change nothing.

`identity` compiles every unit of the corpus at -O1, -O2, -O3, -Os and -Oz with an advisor of the inliner that
answers as LLVM does: for a half of the units a policy that reads nothing, for the others one whose decisions
are logged, for which all features are computed. The bitcode must be stock opt's.

The other cases have random answers. A case is one trial on one program with one seed, in a process of its
own. The trials `vectorize`, `slp`, `distribute`, `outline`, `ra-order`, `ra-action`, `ra-colour` and
`ra-split` ask one point, `allocator` the allocator's four, and `all` every point at once. Programs of csmith
must print what they print at -O0 (those that run longer than five seconds there are left out); the drivers of
the corpus what the corpus says. The allocator's machine code is verified with csmith's programs, and with the
corpus's for the first seed.

Every case is one line of FILE, and is not done again. Ctrl-C or --seconds ends the soak; the next call goes
on.
Limits are of processor time, so that other work on the machine changes nothing.
The table and the results have the counts. Exit code 1 if a case is wrong.

usage: python bench/soak.py identity [--trials=O2,...] [--programs=NAME,...]
       python bench/soak.py csmith [--count=300] [--trials=NAME,...]
       python bench/soak.py corpus [--count=20] [--trials=all] [--programs=NAME,...]
       python bench/soak.py show
options: --file=build/soak.jsonl, --results=bench/results/soak.json, --jobs=N (processors), --seconds=N (none)
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
import zlib
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from rich.console import Console
from rich.table import Table

from passpilot import InlineAdvisor, Module, emit, optimize
from passpilot.errors import Error
from passpilot.passes.advisor import make_advisor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection

    from passpilot import Observation

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tests import stock  # noqa: E402
from tests.corpus.build import is_built  # noqa: E402
from tests.corpus.programs import Program, all_programs  # noqa: E402
from tests.passes.allocation.allocated import by_llc, link  # noqa: E402
from tests.passes.allocator.steps import POINTS, advised_allocator  # noqa: E402

RESULTS: Final = Path(__file__).with_name("results") / "soak.json"
ENDS: Final = 5
"""Processor seconds that a program of csmith may take at -O0; with random answers ten times as many."""
RUNS: Final = 300
"""... a driver of the corpus with random answers."""
LEVELS: Final = ("O1", "O2", "O3", "Os", "Oz")
"""The trials of `identity`; its programs are ``NAME/UNIT``."""
STOCK_RUNS: Final = 20
"""Stock opt has several outputs for a few inputs: ours must be among those of so many runs."""
CASE: Final = 4 * 3600
"""Seconds on the clock for one case: only what hangs takes so long."""


@dataclass(frozen=True)
class Trial:
    """The points that get random answers."""

    at: str = ""
    """The passes at the start of the vectorizers."""
    early: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    """Points that code generation asks."""

    @property
    def allocates(self) -> bool:
        """Whether it asks the advised allocator."""
        return any(point in POINTS for point in self.late)


DISTRIBUTED: Final = "advised-distribute,loop-distribute,advised-vectorize"
EARLY: Final = ("advised-distribute", "advised-vectorize")
TRIALS: Final = {
    "vectorize": Trial("advised-vectorize", ("advised-vectorize",)),
    "slp": Trial("advised-slp", ("advised-slp",)),
    "distribute": Trial(DISTRIBUTED, EARLY),
    "outline": Trial(late=("advised-outline",)),
    **{point: Trial(late=(point,)) for point in POINTS},
    "allocator": Trial(late=POINTS),
    "all": Trial(f"{DISTRIBUTED},advised-slp", (*EARLY, "advised-slp"), ("advised-outline", *POINTS)),
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

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells cases from each other."""
        return self.trial, self.program, self.seed


@dataclass(frozen=True)
class Prepared:
    """A program to be judged: its module before and after -O2, its libraries, and how to run it."""

    folder: Path
    source: Path
    optimized: Path
    corpus: Program | None
    expected: bytes

    def is_right(self, code: bytes) -> bool:
        """Whether an object file of the program prints what it should."""
        if not self.corpus:
            return ran(link(code, self.folder), 10 * ENDS) == self.expected
        driver = self.corpus.driver
        binary = link(code, self.folder, *self.corpus.libs, lang=self.corpus.lang)
        arguments = [each.replace("{drv}", "_driver") for each in driver.args]
        output = ran(binary, RUNS, arguments, self.corpus.source)
        return hashlib.sha256(output).hexdigest() == driver.stdout_sha256


def ran(program: Path, seconds: int, arguments: Sequence[str] = (), folder: Path | None = None) -> bytes:
    """What a program prints within a limit of processor time."""
    command = ["prlimit", f"--cpu={seconds}", str(program), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=CASE).stdout


def csmith(seed: int, folder: Path) -> Prepared | None:
    """A program of csmith; None if it runs too long."""
    source, made, optimized = folder / "random.c", folder / "random.bc", folder / "optimized.bc"
    command = ["csmith", "--seed", str(seed), "--max-funcs", "8"]
    source.write_bytes(subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout)
    stock.run("clang", "-O2", *stock.CLANG, "-I/usr/include/csmith", source, "-o", made)
    try:
        expected = ran(link(by_llc(made, opt_level=0), folder), ENDS)
    except subprocess.CalledProcessError as error:
        if error.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return None
        raise
    stock.run("opt", "-O2", made, "-o", optimized)
    return Prepared(folder, made, optimized, None, expected)


def of_corpus(name: str, folder: Path) -> Prepared:
    """A program of the corpus."""
    program = all_programs()[name]
    source, optimized = program.whole("O2"), folder / "optimized.bc"
    return Prepared(folder, source, optimized, program, b"")


def compiled(case: Case, program: Prepared) -> bytes:
    """The object file of a program with random answers; counts them."""
    trial = TRIALS[case.trial]
    warnings.simplefilter("ignore")  # many programs have nothing to ask about
    with ExitStack() as stack:
        early, late = (
            [
                stack.enter_context(make_advisor(name, f"random:{case.seed + n}"))
                for n, name in enumerate(points)
            ]
            for points in (trial.early, trial.late)
        )
        asked = [*early, *late]
        if "advised-outline" in trial.late:
            late.append(stack.enter_context(make_advisor("advised-outliner", "const:1")))
        if trial.at or not program.optimized.exists():
            module = Module.read(program.source)
            optimize(module, "default<O2>", early, at={"vectorizer-start": trial.at} if trial.at else {})
        else:
            module = Module.read(program.optimized)
        if trial.allocates:
            verified = program.corpus is None or case.seed == 0
            stack.enter_context(advised_allocator(f"-verify-machineinstrs={int(verified)}"))
        code = emit(module, advisors=late, relocation_model="pic")
        case.decisions = sum(advisor.stats.decisions for advisor in asked)
        return code


def takes_default(obs: Observation) -> object:
    """A policy that reads nothing."""
    return obs.default()


takes_default.features = ()  # type: ignore[attr-defined]


def is_stocks(case: Case, unit: Path) -> bool:
    """Whether a unit has stock opt's bitcode with default advice."""
    warnings.simplefilter("ignore")  # of units without calls
    module, pipeline = Module.read(unit), f"default<{case.trial}>"
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/log" if zlib.crc32(case.program.encode()) % 2 else None
        with InlineAdvisor("default" if log else takes_default, log=log) as advisor:
            optimize(module, pipeline, [advisor])
        case.decisions = advisor.stats.decisions
    ours = module.bitcode()
    return any(ours == stock.run("opt", f"-passes={pipeline}", unit, "-o", "-") for _ in range(STOCK_RUNS))


def judge(case: Case, program: Prepared | Path) -> Case:
    """Compile and run one case; a path is that of a unit."""
    try:
        if isinstance(program, Path):
            case.wrong = "" if is_stocks(case, program) else "is not stock opt's"
        elif not program.is_right(compiled(case, program)):
            case.wrong = "prints something else"
    except (subprocess.SubprocessError, AssertionError, Error) as error:
        case.wrong = f"{type(error).__name__}: {error}"[-400:]
    return case


def judge_into(pipe: Connection, case: Case, program: Prepared | Path) -> None:
    """The same, in a child."""
    pipe.send(judge(case, program))


def judged(case: Case, program: Prepared | Path) -> Case:
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
        case.wrong = f"exit code {child.exitcode}"
    finally:
        child.kill()
        child.join()
    return case


def judge_all(cases: Sequence[Case]) -> list[Case]:
    """Judge cases of one program and seed."""
    name, slash, unit = cases[0].program.partition("/")
    if slash:
        return [judged(case, all_programs()[name].bitcode("Oz") / unit) for case in cases]
    with tempfile.TemporaryDirectory() as made:
        first = cases[0]
        is_random = first.program == "csmith"
        folder = Path(made)
        program = csmith(first.seed, folder) if is_random else of_corpus(first.program, folder)
        if program:
            return [judged(case, program) for case in cases]
    return [replace(case, left_out=True) for case in cases]


def known(file: Path) -> dict[tuple[str, str, int], Case]:
    """The cases that are done."""
    lines = file.read_text().splitlines() if file.exists() else []
    cases = [Case(**json.loads(line)) for line in lines]
    return {case.key: case for case in cases}


def sizes(names: Iterable[str]) -> list[str]:
    """Programs of the corpus that are built, small ones first."""
    there = [all_programs()[name] for name in names if is_built(all_programs()[name])]
    return [each.name for each in sorted(there, key=lambda each: each.whole("O2").stat().st_size)]


def wanted(arguments: argparse.Namespace) -> Iterator[list[Case]]:
    """The cases of a command line that are not done, those of a program and a seed together.

    They come seed by seed, so that an early end leaves about as many for all programs.
    """
    done = known(arguments.file)
    if arguments.what == "identity":
        for name in sizes(arguments.programs or all_programs()):
            found = all_programs()[name]
            for unit in sorted({found.unit(source, "Oz").name for source in found.sources()}):
                cases = [Case(level, f"{name}/{unit}", 0) for level in arguments.trials or LEVELS]
                if left := [case for case in cases if case.key not in done]:
                    yield left
        return
    is_random = arguments.what == "csmith"
    trials = arguments.trials or (TRIALS if is_random else ["all"])
    programs = ["csmith"] if is_random else sizes(arguments.programs or all_programs())
    first, count = (1, 300) if is_random else (0, 20)
    for seed in range(first, first + (arguments.count or count)):
        for program in programs:
            cases = [Case(trial, program, seed) for trial in trials]
            if left := [case for case in cases if case.key not in done]:
                yield left


def run(arguments: argparse.Namespace) -> None:
    """Judge the cases that are not done yet."""
    arguments.file.parent.mkdir(parents=True, exist_ok=True)
    ends = time.monotonic() + arguments.seconds
    groups = (group for group in wanted(arguments) if time.monotonic() < ends)
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(arguments.jobs, fork) as pool, arguments.file.open("a") as file:
        work = {pool.submit(judge_all, group) for group in islice(groups, arguments.jobs)}
        while work:
            ready = next(as_completed(work))
            work.remove(ready)
            for case in ready.result():
                file.write(json.dumps(asdict(case)) + "\n")
                if case.wrong:
                    print(
                        f"wrong: {case.trial}, {case.program}, seed {case.seed}: {case.wrong}",
                        file=sys.stderr,
                    )
            file.flush()
            work |= {pool.submit(judge_all, group) for group in islice(groups, 1)}


def show(cases: Sequence[Case], results: Path) -> int:
    """Print and write the counts; returns how many cases were wrong."""
    rows: dict[tuple[str, str], dict[str, int]] = {}
    for case in cases:
        kind = "units" if "/" in case.program else "csmith" if case.program == "csmith" else "corpus"
        row = rows.setdefault(
            (case.trial, kind), {"cases": 0, "decisions": 0, "left out": 0, "wrong": 0, "seeds of all": 0}
        )
        row["cases"] += not case.left_out
        row["left out"] += case.left_out
        row["decisions"] += case.decisions
        row["wrong"] += bool(case.wrong)
    for (trial, kind), row in rows.items():
        row["seeds of all"] = complete_seeds([case for case in cases if case.trial == trial], kind)
    table = Table("trial", "programs", "cases", "decisions", "left out", "wrong", "seeds of all")
    for (trial, kind), row in rows.items():
        table.add_row(trial, kind, *map(str, row.values()))
    Console().print(table)
    results.parent.mkdir(exist_ok=True)
    made = {f"{trial}, {kind}": row for (trial, kind), row in rows.items()}
    results.write_text(json.dumps(made, indent=1) + "\n")
    return sum(row["wrong"] for row in rows.values())


def complete_seeds(cases: Sequence[Case], kind: str) -> int:
    """How many seeds every program has had, or how many units there were."""
    if kind == "units":
        return len({case.program for case in cases if "/" in case.program})
    if kind == "csmith":
        return len({case.seed for case in cases if case.program == "csmith"})
    seeds: dict[str, set[int]] = {}
    for case in cases:
        if case.program != "csmith" and "/" not in case.program:
            seeds.setdefault(case.program, set()).add(case.seed)
    return len(set.intersection(*seeds.values()))


def names(text: str) -> list[str]:
    """The names of a list with commas."""
    return text.split(",")


def main() -> int:
    """Entry point of the command."""
    parser = argparse.ArgumentParser(description="Many programs, with random or default advice.")
    parser.add_argument("what", choices=["identity", "csmith", "corpus", "show"])
    parser.add_argument("--count", type=int, help="programs of csmith, or seeds of the corpus")
    parser.add_argument("--trials", type=names, help=f"among {', '.join(TRIALS)}")
    parser.add_argument("--programs", type=names, help="of the corpus; all that are built")
    parser.add_argument("--file", type=Path, default=ROOT / "build" / "soak.jsonl")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=float("inf"))
    arguments = parser.parse_args()
    try:
        if arguments.what != "show":
            run(arguments)
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
    return 1 if show(list(known(arguments.file).values()), arguments.results) else 0


if __name__ == "__main__":
    sys.exit(main())
