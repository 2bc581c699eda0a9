# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot tune`: searches the decisions that make programs smallest, and writes a decision file."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from passpilot.cli.ladder import climb, ladder_options
from passpilot.cli.llvm_options import set_llvm_options, split_options
from passpilot.cli.outputs import prepare
from passpilot.cli.parser import SECONDS, Parser, count_of
from passpilot.cli.progress import progress
from passpilot.cli.tune_text import nothing_found, running, summary
from passpilot.plugin.errors import UsageError
from passpilot.plugin.failures import for_terminal
from passpilot.plugin.files import check_new
from passpilot.plugin.process_end import heeded
from passpilot.plugin.version import MAJOR
from passpilot.training.tuning.build import RECORDING, other_compilers, rebuild_line
from passpilot.training.tuning.result import TuneResult
from passpilot.training.tuning.reward import EXECUTED, NAMES, RUN, SIZE
from passpilot.training.tuning.search import LEVERS, MORE_LEVERS
from passpilot.training.tuning.study import Study, Trial
from passpilot.training.tuning.tune import BUDGET, tune
from passpilot.training.tuning.unit import PROFILE

EPILOG: Final = """\
examples:
  passpilot tune lua.bc --budget=60 -o lua.decisions
  passpilot opt lua.bc -passes='default<Oz>' --decisions=lua.decisions -o small.bc
  passpilot llc small.bc -filetype=obj -relocation-model=pic --decisions=lua.decisions -o small.o

  passpilot tune -o tuned -- make -j2
  make CC='passpilot cc --decisions=tuned/lua.decisions'

  passpilot tune --ladder --allow=unwind,lto -o tuned -- make -j2

  passpilot tune --reward='run: {} bench.lua' --unseen='{} other.lua' -o fast -- make CFLAGS=-O2

  passpilot tune lua.bc --study=lua.study -o lua.decisions

  passpilot tune matmul.mlir -o matmul.decisions

The size of a module is that of the object file that llc -O2 makes; the size of a program is that of the
executable that lld makes with --gc-sections --icf=safe: the bytes that are loaded, unless --reward names
another size. Every compilation runs in a process of its own. Ctrl-C ends the search, keeps the best
decisions, and is no error; after a crash the same command goes on where it ended, with what the cache of
compilations has (see passpilot cache). --study keeps all trials; --update starts from the best ones. All
other options are LLVM's own."""


BUILDS: Final = ("make", "gmake", "ninja", "cmake", "meson", "cargo", "npm", "sh", "bash")
"""Programs whose own options follow if ``--`` is forgotten."""


def main(argv: Sequence[str]) -> int:
    prepare()
    options, llvm = _parsed(argv)
    with _scratch_folder():
        return _tune(options, llvm)


def _tune(options: dict[str, Any], llvm: Sequence[str]) -> int:
    set_llvm_options("tune", llvm)
    table = options["result"]
    extra = {name: options.pop(name) for name in ("ladder", "allow", "run")}
    if extra["ladder"] or extra["allow"]:
        _climb(options, extra)
        return 0
    options.pop("result")
    if extra["run"]:
        raise UsageError("tune: --run: expected --ladder beside it")
    if table:
        check_new("tune: --result", table)
    result = _searched(options)
    if options["build"] and len([each for each in result.programs if each.decides]) > 1:
        _say(
            "each line builds with the decisions for its program; a build takes one decision file: choose "
            "the program that matters by --program=NAME, or build the programs one after the other"
        )
    if table:
        result.save_table(table)
    return 0


@contextmanager
def _scratch_folder() -> Iterator[None]:
    """Put all temporary folders into one, which is removed even if SIGTERM or SIGHUP ends the process."""
    with tempfile.TemporaryDirectory(prefix="passpilot-tune-") as folder:

        def end(number: int, _: object) -> None:
            shutil.rmtree(folder, ignore_errors=True)
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        for number in heeded(signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, end)
        tempfile.tempdir = folder
        try:
            yield
        finally:
            tempfile.tempdir = None


SOURCES: Final = (".c", ".i", ".C", ".cc", ".cpp", ".cxx", ".m", ".mm", ".rs", ".s", ".S", ".o", ".a", ".so")
"""The ends of names of files that compilers read or make, and that are no modules."""


def _check_modules(modules: Sequence[str], argv: Sequence[str]) -> None:
    """Refuse sources, and a build's command without ``--``, before anything else is looked at."""
    for path in modules:
        expected = f"tune: expected a .ll, .bc or .mlir file, got {path}"
        if path == modules[0] and not os.path.exists(path) and shutil.which(path):
            raise _without_dashes(argv[argv.index(path) :])
        if path.endswith(SOURCES):
            build = shlex.join([f"clang-{MAJOR}", "-Oz", path, "-o", "program"])
            hint = "put the command that builds the program behind --, such as"
            raise UsageError(f"{expected}, no module; {hint} `passpilot tune -o tuned -- {build}`")


def _without_dashes(build: Sequence[str]) -> UsageError:
    return UsageError(f"tune: expected -- before the command of a build; write -- {shlex.join(build)}")


def _say_how_to_build(result: TuneResult, path: str, options: Mapping[str, Any]) -> None:
    """Print the line that builds with a decision file."""
    quiet = ["--start-no-unused-arguments", *result.link, "--end-no-unused-arguments"]
    linking = ["-flto", *quiet * bool(result.link)]
    flags = [*linking * bool(options["lto"]), f"--decisions={path}"]
    flags += [f"--{option}" for option in options["options"]]
    recording = os.path.join(options["output"], RECORDING)
    line = rebuild_line(options["build"], shlex.join(flags), recording)
    if other_compilers(f"{recording}.programs"):
        _say(
            f"{result.name}: before and after are programs of clang's; the build's own compiler is another: "
            "compare its program, too, by `passpilot size`"
        )
    print(f"build {result.name} with: {line}")


def _searched(options: Mapping[str, Any]) -> TuneResult:
    """Search, and say how far it is and what it has found."""
    output, build = options["output"], options["build"]
    studies: list[Study] = []

    def show(study: Study, _trial: Trial) -> None:
        studies[:] = [study]

    def finish(result: TuneResult) -> None:
        _say(str(result))
        if result.runs:
            _say(f"{result.name}: {result.runs}")
        if studies[-1].interrupted:
            _say(f"{result.name}: interrupted; this is the best so far")
        _say(summary(result))
        if found := studies[-1].engine.found:
            _say(f"{result.name}: {found} of {result.compiles} compilations were in the cache")
        path = os.path.abspath(f"{output}/{result.name}.decisions")
        if not result.decides:
            _say(
                nothing_found(
                    result, output if options["modules"] else path, is_empty=bool(options["corpus"])
                )
            )
        elif build:
            _say_how_to_build(result, path, options)

    def state() -> str:
        if not studies:
            return "recording the build" if build else "compiling"
        steps.count = round(100 * studies[0].budget.share)
        return running(studies[0])

    with progress(state, 100, lines=True) as steps:
        return tune(**options, callbacks=[show], done=finish)


def _climb(options: dict[str, Any], extra: Mapping[str, Any]) -> None:
    """Measure what to switch on in the build, and search decisions on top of it."""
    fixed = (
        "modules",
        "passes",
        "lto",
        "keep",
        "at_most",
        "unseen",
        "update",
        "study",
        "function",
        "options",
        "result",
    )
    if wrong := next((name for name in fixed if options[name]), "threads" * (options["threads"] > 1)):
        names = {"modules": "a module", "options": "--profile"}
        got = names.get(wrong, f"--{wrong.replace('_', '-')}")
        flag = "--ladder" if extra["ladder"] else "--allow"
        raise UsageError(f"tune: {flag}: expected a build or a corpus without {got}, got {got}")
    shared = ("reward", "jobs")
    ours = {name: options[name] for name in ("corpus", "build", "program", "root", "output", *shared)}
    searching = ("search", "compiles", "seconds", "seed", "engine", "address", "no_cache")
    search = {name: options[name] for name in searching}
    search |= {name: options[name] for name in shared}
    if options["search"] == LEVERS:  # the ladder has the options of code generation
        search["search"] = [lever for lever in LEVERS if lever != "options"]
    climb(allow=extra["allow"], run=extra["run"], search=search, **ours)


def _say(text: str) -> None:
    print("\n".join(map(for_terminal, text.splitlines())), file=sys.stderr)


def make_parser() -> Parser:
    parser = Parser(
        "passpilot tune",
        description="Search the inlining decisions, pipelines and options that make programs smallest,\n"
        "or the schedule that makes a kernel in MLIR fastest.",
        epilog=EPILOG,
    )
    parser.usage = "%(prog)s [options] (IN... | --corpus=DIR | -- COMMAND...)"
    add, count = parser.option, count_of("compilations", 1)
    parser.add_argument(
        "modules",
        nargs="*",
        metavar="IN",
        help="a .ll or .bc file, not yet optimized, or a kernel: a .mlir file",
    )
    parser.shared("corpus", "search them by their linked size", default="")
    parser.shared("root", default="")
    add("function", default="", metavar="NAME", help="of a kernel in MLIR: the function (the only one)")
    threads = "of a kernel in MLIR: the threads of parallel loops, by OpenMP (1)"
    add("threads", type=count_of("threads"), default=1, metavar="N", help=threads)
    parser.shared("program")
    parser.shared("passes", "default<Oz>, or a program's own level, unless given", default="")
    parser.shared("lto", "search the module of a program's full link-time optimization")
    kept = "the link keeps these functions and variables, such as a table of interrupts"
    add("keep", action="append", default=[], metavar="SYMBOL,...", help=kept)
    add("size", action="store_true", help="make what is loaded small, which is the default")
    reward = (
        f"{', '.join(NAMES)}, a sum such as 0.8*allocated+0.2*mca, or the time of a run, "
        f"'{RUN}: {{}} ARGUMENTS'; {RUN} for the program's recorded runs"
    )
    parser.shared("reward", reward, default=SIZE)
    counted = f"instructions: {RUN} in --reward counts those of runs by valgrind, and --at-most takes it, too"
    add("runs", choices=("time", "instructions"), default="time", help=counted)
    parser.shared("profile", default="")
    unseen = "time the result of --reward=run with other inputs, too, which the search does not see"
    add("unseen", action="append", default=[], metavar="COMMAND", help=unseen)
    levers = f"what to search, among {', '.join((*LEVERS, *MORE_LEVERS))} ({','.join(LEVERS)})"
    add("search", default=",".join(LEVERS), metavar="WHAT,...", help=levers)
    add("at-most", action="append", default=[], metavar="NAME:RATIO", help="another reward may grow to RATIO")
    add(
        "o",
        dest="output",
        default="",
        metavar="FILE",
        help="the output: a decision file; a folder for programs. An earlier decision file stays as FILE.old",
    )
    parser.shared("result", "the search, for `passpilot report`", default="")
    parser.shared("budget", "for each module (60)", type=SECONDS, default=None)
    add("compiles", type=count, default=0, metavar="N", help="compilations of each module beside the first")
    parser.shared("jobs", type=count_of("jobs", 1), default=0)
    parser.shared("engine", choices=("local", "ray"), default="local")
    parser.shared("address", default="")
    _add_kept(parser)
    order = "of the order in which decisions are tried (0)"
    parser.shared("seed", order, type=count_of("0 or more"), default=0)
    with parser.group("ladder"):
        ladder_options(parser)
    parser.traceback_option()
    return parser


def _add_kept(parser: Parser) -> None:
    """The options about earlier searches."""
    update = "start from this decision file, and search what has changed; or from the best trial of a study"
    parser.option("update", default="", metavar="FILE", help=update)
    parser.shared("study", default="")
    parser.shared("no-cache", "and keep nothing there")


def _parsed(argv: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    parser = make_parser()
    at = argv.index("--") if "--" in argv else len(argv)
    try:
        ours, llvm = split_options(argv[:at], parser)
    except UsageError:
        if at < len(argv) or not (build := [word for word in argv if word in BUILDS]):
            raise
        raise _without_dashes(argv[argv.index(build[0]) :]) from None
    ours.sort(key=lambda argument: argument != "-" and argument.startswith("-"))
    values: dict[str, Any] = parser.values(ours)
    _check_modules(values["modules"], argv)
    if at == len(argv) and not values["modules"] and not values["corpus"]:
        raise UsageError(
            "tune: expected modules, or --corpus=DIR, or -- and the command of a build, got none"
        )
    if not values["output"]:
        made = (
            "a folder for what is found" if at < len(argv) or values["corpus"] else "a decision file to write"
        )
        raise UsageError(f"tune: expected -o and {made}, got none; see `passpilot tune --help`")
    budget = values.pop("budget")
    if budget and values["compiles"]:
        raise UsageError("tune: expected --budget or --compiles, got both")
    seconds = None if values["compiles"] else budget or BUDGET
    profile = values.pop("profile")
    if values.pop("runs") == "instructions":
        _count_runs(values)
    for name in ("size", "traceback"):
        values.pop(name, None)
    return {
        **values,
        "keep": [name for names in values["keep"] for name in names.split(",") if name],
        "build": argv[at + 1 :],
        "search": tuple(values["search"].split(",")),
        "seconds": seconds,
        "options": (f"{PROFILE}{os.path.abspath(profile)}",) if profile else (),
    }, llvm


def _count_runs(values: dict[str, Any]) -> None:
    """Let the runs in rewards and limits count by their instructions."""
    texts = [values["reward"], *values["at_most"]]
    values["reward"], *values["at_most"] = (re.sub(rf"^\s*{RUN}\b", EXECUTED, text) for text in texts)
    if [values["reward"], *values["at_most"]] == texts:
        raise UsageError(f"tune: --runs: expected --reward={RUN} or --at-most={RUN}:RATIO beside it")
