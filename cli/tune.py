# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot tune`: searches the decisions that make programs smallest, and writes a decision file."""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from passpilot.cli.llvm_options import check_text, set_llvm_options, split_options
from passpilot.cli.outputs import prepare
from passpilot.cli.parser import Parser
from passpilot.cli.progress import progress
from passpilot.plugin.errors import InputError, UsageError
from passpilot.plugin.files import check_output, write_file
from passpilot.training.corpus.layout import ProgramRun
from passpilot.training.machines.local import machines
from passpilot.training.tuning.decision_file import read_decisions, write_decisions
from passpilot.training.tuning.engine import KeepingEngine, engine_on
from passpilot.training.tuning.result import earlier_decisions, result_table, unit_decisions
from passpilot.training.tuning.reward import NAMES, RUN, SIZE, RewardText, run_command
from passpilot.training.tuning.search import LEVERS, MORE_LEVERS, Search
from passpilot.training.tuning.speed import SpeedSearch
from passpilot.training.tuning.tuned_program import linked_program, single_module
from passpilot.training.tuning.whole_program import merged_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from passpilot.training.tuning.decision_file import UnitDecisions
    from passpilot.training.tuning.engine import Engine
    from passpilot.training.tuning.search import Found
    from passpilot.training.tuning.tuned_program import TunedProgram
    from passpilot.training.tuning.unit import Unit

EPILOG: Final = """\
examples:
  passpilot tune lua.bc --budget=60 -o lua.decisions
  passpilot opt lua.bc -passes='default<Oz>' --decisions=lua.decisions -o small.bc
  passpilot llc small.bc -filetype=obj -relocation-model=pic --decisions=lua.decisions -o small.o

  passpilot tune -o tuned -- make -j2
  make CC='passpilot cc --decisions=tuned/lua.decisions'

  passpilot tune --reward='run: {} bench.lua' --unseen='{} other.lua' -o fast -- make CFLAGS=-O2

The size of a module is the machine code in the object file that llc -O2 makes; the size of a program is
that of the executable that lld makes with --gc-sections. Every compilation runs in a process of its own.
Ctrl-C ends the search and keeps the best decisions; after a crash the same command goes on where it ended.
All other options are LLVM's own."""


OZ: Final = "default<Oz>"


class TuneOptions(NamedTuple):
    """The command line of `passpilot tune` without LLVM's own options."""

    modules: tuple[str, ...]
    build: tuple[str, ...]
    """The command of a build."""
    corpus: str
    programs: tuple[str, ...]
    passes: str
    lto: bool
    output: str
    result: str
    reward: RewardText
    unseen: Sequence[tuple[str, ...]]
    levers: tuple[str, ...]
    update: str
    budget: float
    compiles: float
    jobs: int
    seed: int
    engine: str
    address: str


class Tuned(NamedTuple):
    """A program whose search has ended."""

    units: Sequence[UnitDecisions]
    found: Found
    table: dict[str, object]


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code.

    Raises:
        UsageError: the command line is wrong.
        Error: a module cannot be read or compiled, or the file cannot be written.
    """
    prepare()
    options, llvm = _parsed(argv)
    set_llvm_options("tune", llvm)
    if options.modules:
        check_output(options.output)
        _tune_modules(options)
        return 0
    return _tune_programs(options)


def _tune_modules(options: TuneOptions) -> None:
    """Search every module by itself, and write one decision file."""
    tuned = [
        _tuned(single_module(path, options.passes or OZ, options.reward), options) for path in options.modules
    ]
    _write(options.output, tuned, options.reward, f"{options.passes or OZ} and llc -O2")
    if options.result:
        _write_json(options.result, tuned[0].table if len(tuned) == 1 else [each.table for each in tuned])


def _tune_programs(options: TuneOptions) -> int:
    """Search the programs of a corpus or a build, and write a decision file for each."""
    from passpilot.cli.tune_build import rebuild_line, recorded_corpus
    from passpilot.training.corpus.layout import Corpus

    folder = recorded_corpus(options.build, options.output) if options.build else options.corpus
    corpus = Corpus.read(folder)
    known = {program.name: program for program in corpus.programs}
    if not known:
        raise InputError(f"tune: expected a linked program in {folder}, got none")
    for name in options.programs:
        if name not in known:
            raise UsageError(f"tune: expected a program of {', '.join(sorted(known))}, got {name}")
    os.makedirs(options.output, exist_ok=True)
    for name in options.programs or known:
        if options.lto:
            program = merged_program(corpus, known[name], options.reward, options.jobs)
        else:
            program = linked_program(corpus, known[name], options.passes, options.reward)
        tuned = _tuned(program, options)
        path = os.path.join(options.output, f"{name}.decisions")
        _write(path, [tuned], options.reward, "linked by lld --gc-sections")
        _write_json(os.path.join(options.output, f"{name}.json"), tuned.table)
        if options.build:
            print(f"build {name} with: {rebuild_line(options.build, path, lto=options.lto)}")
    return 0


def make_parser() -> Parser:
    """The parser of the command's own options."""
    parser = Parser(
        "passpilot tune",
        description="Search the inlining decisions, pipelines and options that make programs smallest.",
        epilog=EPILOG,
    )
    parser.usage = "%(prog)s [options] (IN... | --corpus=DIR | -- COMMAND...)"
    add = parser.option
    parser.add_argument("modules", nargs="*", metavar="IN", help="a .ll or .bc file, not yet optimized")
    add("corpus", default="", metavar="DIR", help="search the programs of a corpus, by their linked size")
    add("program", action="append", default=[], metavar="NAME", help="only this program; may be repeated")
    add(
        "passes", default="", metavar="PIPELINE", help="textual pipeline (default<Oz>; a program's own level)"
    )
    add("lto", action="store_true", help="search the module of a program's full link-time optimization")
    add("size", action="store_true", help="make the machine code small, which is the default")
    add(
        "reward",
        default=SIZE,
        metavar="REWARD",
        help=f"what to make small: {', '.join(NAMES)}, a sum such as 0.8*text+0.2*mca, or the time of a run, "
        f"'{RUN}: {{}} ARGUMENTS'; {RUN} for the program's recorded runs",
    )
    add(
        "unseen",
        action="append",
        default=[],
        metavar="COMMAND",
        help="time the result of --reward=run with other inputs, too, which the search does not see",
    )
    add(
        "search",
        default=",".join(LEVERS),
        metavar="WHAT,...",
        help=f"what to search, among {', '.join((*LEVERS, *MORE_LEVERS))} ({','.join(LEVERS)})",
    )
    add("at-most", action="append", default=[], metavar="NAME:RATIO", help="another reward may grow to RATIO")
    add("o", dest="output", required=True, metavar="FILE", help="the decision file; a folder for programs")
    add("result", default="", metavar="FILE", help="write the search as JSON, for `passpilot report`")
    add("budget", type=_positive, default=60.0, metavar="SECONDS", help="the time for each module (60)")
    add(
        "compiles", type=_count, default=0, metavar="N", help="compilations of each module, instead of a time"
    )
    add("jobs", type=_count, default=0, metavar="N", help="compilations at once (as many as processors)")
    add(
        "engine",
        choices=("local", "ray"),
        default="local",
        help="who compiles: this machine, or a Ray cluster",
    )
    add("address", default="", metavar="HOST:PORT", help="the Ray cluster, or auto (one on this machine)")
    add("update", default="", metavar="FILE", help="start from this decision file; search what has changed")
    add("seed", type=_count, default=0, metavar="N", help="of the order in which decisions are tried (0)")
    parser.traceback_option()
    return parser


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        msg = f"expected a number of seconds above 0, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return value


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        msg = f"expected a number of 0 or more, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


def _parsed(argv: Sequence[str]) -> tuple[TuneOptions, list[str]]:
    parser = make_parser()
    at = argv.index("--") if "--" in argv else len(argv)
    build = tuple(argv[at + 1 :])
    ours, llvm = split_options(argv[:at], parser)
    ours.sort(key=lambda argument: argument != "-" and argument.startswith("-"))
    values = parser.values(ours)
    check_text("tune", values)
    modules = tuple(cast("Sequence[str]", values["modules"]))
    corpus = str(values["corpus"])
    if bool(modules) + bool(corpus) + bool(build) != 1:
        raise UsageError("tune: expected modules, or --corpus=DIR, or -- and the command of a build")
    if len(set(modules)) < len(modules):
        raise UsageError(f"tune: expected different modules, got {', '.join(modules)}")
    reward = RewardText.parse(str(values["reward"]), cast("Sequence[str]", values["at_most"]))
    unseen = [run_command("--unseen", each) for each in cast("Sequence[str]", values["unseen"])]
    if unseen and reward.run is None:
        raise UsageError(f"--unseen: expected --reward={RUN} beside it, got {reward.text!r}")
    levers = tuple(str(values["search"]).split(","))
    known = (*LEVERS, *MORE_LEVERS)
    if unknown := [each for each in levers if each not in known]:
        raise UsageError(f"--search: expected some of {', '.join(known)}, got {unknown[0]!r}")
    passes, lto = str(values["passes"]), bool(values["lto"])
    if lto and (modules or passes):
        got = "--passes" if passes else "a module"
        raise UsageError(f"--lto: expected programs, and the pipeline of their level, got {got}")
    compiles = cast("int", values["compiles"])
    return TuneOptions(
        modules,
        build,
        corpus,
        tuple(cast("Sequence[str]", values["program"])),
        passes,
        lto,
        str(values["output"]),
        str(values["result"]),
        reward,
        unseen,
        levers,
        str(values["update"]),
        math.inf if compiles else cast("float", values["budget"]),
        compiles or math.inf,
        cast("int", values["jobs"]) or len(os.sched_getaffinity(0)),
        cast("int", values["seed"]),
        str(values["engine"]),
        str(values["address"]),
    ), llvm


def _tuned(program: TunedProgram, options: TuneOptions) -> Tuned:
    """Search one program."""
    units = program.units
    began, state = time.monotonic(), f"{program.name}: compiling"

    def step(compiles: int, best: float) -> None:
        nonlocal state
        rate = compiles / max(time.monotonic() - began, 0.001)
        told = f"{best:.0f} bytes" if options.reward.run is None else f"run time {best:.3f}"
        state = f"{program.name}: {told}, {compiles} compilations, {rate:.1f} per second"

    with _kept_folder(options.output, program.name) as folder, _engine(units, options) as inner:
        search = _search(program, KeepingEngine(inner, units, folder), options, step)
        with progress(lambda: state):
            found = search.run()
    print(_summary(program.name, found, options.reward), file=sys.stderr)
    if isinstance(search, SpeedSearch):
        print(f"{program.name}: {search.told()}", file=sys.stderr)
    return Tuned(
        unit_decisions(search, found, options.reward), found, result_table(search, found, options.reward)
    )


def _search(
    program: TunedProgram, engine: Engine, options: TuneOptions, step: Callable[[int, float], None]
) -> Search | SpeedSearch:
    """The search for what `--reward` names."""
    units, count = program.units, len(program.units)
    seconds, compiles = options.budget * count, options.compiles * count
    reward = options.reward
    if reward.run is not None and program.linked:
        here = os.getcwd()
        runs = [ProgramRun(reward.run[1:], here)] if reward.run else list(program.runs)
        if not runs:
            raise UsageError(
                f"tune: expected a recorded run of {program.name}, got none; use '{RUN}: {{}} ...'"
            )
        unseen = [ProgramRun(words[1:], here) for words in options.unseen]
        return SpeedSearch(
            units,
            engine,
            program.linked,
            runs,
            unseen,
            options.seed,
            seconds,
            compiles,
            step=step,
            levers=options.levers,
        )
    earlier = read_decisions(options.update) if options.update else []
    known = [earlier_decisions(unit, earlier) for unit in units]
    return Search(
        units,
        engine,
        program.measure,
        options.seed,
        seconds,
        compiles,
        step,
        known=known,
        levers=options.levers,
    )


@contextmanager
def _engine(units: Sequence[Unit], options: TuneOptions) -> Iterator[Engine]:
    jobs = 0 if options.address else options.jobs
    with machines(options.engine, options.address, jobs) as where:
        yield engine_on(where, units)


@contextmanager
def _kept_folder(output: str, program: str) -> Iterator[str]:
    """A folder for what is compiled, from which the same command goes on; it is removed after the search."""
    plain = os.path.basename(program)
    folder = (
        f"{output.rstrip('/')}.search"
        if not os.path.isdir(output)
        else os.path.join(output, f"{plain}.search")
    )
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        count = len(os.listdir(folder))
    except OSError as error:
        raise InputError(f"tune: expected to write in {folder}, got: {error.strerror}") from error
    if count:
        print(f"{program}: going on with {count} compilations in {folder}", file=sys.stderr)
    yield folder
    with suppress(OSError):
        shutil.rmtree(folder)


def _write(path: str, tuned: Sequence[Tuned], reward: RewardText, how: str) -> None:
    start = sum(each.found.start.total for each in tuned)
    best = sum(each.found.best.total for each in tuned)
    write_decisions(
        path, [unit for each in tuned for unit in each.units], [f"{reward.told(start, best)}, {how}"]
    )


def _write_json(path: str, value: object) -> None:
    write_file(path, (json.dumps(value) + "\n").encode("utf-8", "surrogateescape"))


def _summary(name: str, found: Found, reward: RewardText) -> str:
    start, best = found.start.total, found.best.total
    decided = sum(len(each.choice.inline) for each in found.best.made)
    calls = sum(len(each.asked) for each in found.best.made)
    ratio = best / start if start else 1.0
    return (
        f"{name}: {reward.told(start, best)} ({ratio:.3f}); {decided} of {calls} calls decided, "
        f"{found.compiles} compilations in {found.seconds:.0f} s"
    )
