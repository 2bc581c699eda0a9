# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `opt` and `llc` have in common: the flags of advice, LLVM's own options, outputs and reports.

A command line has options of the command's, and options that LLVM's own parser knows
(``-inline-threshold=50``, ``-pass-remarks=inline``, ``-mcpu=...``).
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Final, NoReturn

from passpilot.plugin.errors import InputError, PasspilotWarning, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

    from passpilot.cli.parser import Parser
    from passpilot.plugin.module import Advisor

ADVISORS: Final[Mapping[str, Mapping[str, str]]] = {
    "opt": {"inline": "passpilot.passes.inline:InlineAdvisor"},
    "llc": {
        "evict": "passpilot.passes.evict:EvictAdvisor",
        "priority": "passpilot.passes.priority:PriorityAdvisor",
    },
    "mlir-opt": {},
}
"""The advisor of each decision point that each command reaches; imported when asked for."""

QUESTIONS: Final = {
    "inline": "about each call site",
    "evict": "which live range to evict when registers run out",
    "priority": "how early to allocate each live range",
}

PASS_POINT: Final = ("on_error", "timeout")

KEYWORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "inline": ("on_error", "timeout", "size_budget"),
    "evict": ("on_error", "timeout", "eviction_limit"),
    "priority": ("on_error", "timeout"),
}
"""Which flags each point's advisor takes as keywords, beside its log; of a pass's own point, `PASS_POINT`."""

PATHS: Final = ("input", "output", "split_dwarf_output", "report", "log", "load", "passes", "at")
"""Flags whose values LLVM does not see, or that are checked elsewhere."""

RUNNERS: Final = """\
RUNNER is scheme:target[?key=value&...]: python:FILE:NAME, onnx:MODEL, aot:LIBRARY, pipe:BASE, grpc:HOST:PORT,
replay:LOG, random:SEED, const:VALUE, default."""


def prepare() -> None:
    """Set up the process for a command that compiles."""
    # numpy's BLAS would start threads that nobody here has work for.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    warnings.showwarning = _print_warning
    warnings.simplefilter("always", PasspilotWarning)


def input_options(parser: Parser) -> None:
    """Add the input, the output and what concerns the module as a whole."""
    add = parser.option
    parser.add_argument("input", nargs="?", default="-", metavar="IN", help="a .ll or .bc file; - for stdin")
    add("help", "h", action="help", help="show this text")
    add("version", action="store_true", help="passpilot's version and LLVM's")
    add("mtriple", default="", metavar="TRIPLE", help="override the target triple")
    add("disable-verify", action="store_true", help="do not run the verifier")


def remark_options(parser: Parser) -> None:
    """Add the flags of remark files."""
    add = parser.option
    add("pass-remarks-output", default="", metavar="F", help="write remarks to a file")
    add("pass-remarks-filter", default="", metavar="REGEX", help="only remarks of these passes")
    add("pass-remarks-format", default="yaml", metavar="FORMAT", help="yaml (default) or bitstream")
    add("pass-remarks-with-hotness", action="store_true", help="remarks with profile counts")


def advice_options(parser: Parser, command: str) -> None:
    """Add the flags of advice for the points that `command` reaches."""
    add = parser.option
    points = ADVISORS[command]
    for point in points:
        add(point, metavar="RUNNER", help=f"ask RUNNER {QUESTIONS[point]}")
    what = "the same for any decision point"
    what += ", those of passes in Python too" if command != "llc" else ""
    add("advise", action="append", default=[], metavar="POINT=RUNNER", help=what)
    add(
        "load",
        action="append",
        default=[],
        metavar="FILE.py",
        help="register the features, runners, passes and decision points in it",
    )
    log = "write every decision to a log (see passpilot log); POINT=F for each of two advisors"
    add("log", action="append", default=[], metavar="F", help=log)
    add("on-error", choices=("fail", "default"), help="what a failing runner does")
    add("timeout", type=float, metavar="S", help="seconds to wait for another process (10)")
    llvm = "" if command == "mlir-opt" else ", and LLVM's statistics"
    add("stats", action="store_true", help=f"print decisions and times{llvm}")


def split_options(argv: Iterable[str], parser: Parser) -> tuple[list[str], list[str]]:
    """The command's arguments, and those of LLVM with the values that belong to them.

    Raises:
        UsageError: an option belongs to the other command.
    """
    known = parser._option_string_actions
    ours: list[str] = []
    llvm: list[str] = []
    rest = iter(argv)
    for argument in rest:
        name, equals, _ = argument.partition("=")
        if argument == "-" or not argument.startswith("-"):
            ours.append(argument)
        elif name in known:
            ours.append(argument if equals else _joined(argument, known[name], rest))
        else:
            _refuse_point(parser.prog.removeprefix("passpilot "), name)
            llvm.append(argument)
            if not equals and _takes_value(name) and (value := next(rest, None)) is not None:
                llvm.append(value)
    if "-stats" in ours or "--stats" in ours:
        llvm.append("-stats")
    return ours, llvm


def _joined(option: str, action: argparse.Action, rest: Iterable[str]) -> str:
    """The option with its value, so that argparse does not take a value such as -foo for an option."""
    if action.nargs == "?":  # a value comes with "=" only
        return f"{option}={action.const}"
    if action.nargs is None and (value := next(iter(rest), None)) is not None:
        return f"{option}={value}"
    return option


def _takes_value(name: str) -> bool:
    from passpilot.plugin import _core

    return _core.option_kind(name.lstrip("-")) == _core.OptionKind.TAKES_VALUE


def _refuse_point(command: str, option: str) -> None:
    point = option.lstrip("-")
    if owner := _owner(point):
        expected = " or ".join(f"--{each}" for each in ADVISORS[command])
        raise UsageError(f"{command}: {option}: expected {expected}, got a point of `passpilot {owner}`")


def _owner(point: str) -> str | None:
    """The command that reaches a decision point."""
    return next((command for command, points in ADVISORS.items() if point in points), None)


def set_llvm_options(command: str, arguments: list[str]) -> None:
    """Hand LLVM its options, tried in a child first.

    LLVM writes what is wrong with a value to the standard error, and ends the process for some.

    Raises:
        UsageError: LLVM does not take them.
    """
    if not arguments:
        return
    from passpilot.plugin.module import llvm_options

    with tempfile.TemporaryFile() as told:
        child = os.fork()
        if child == 0:
            _try_llvm_options(arguments, told.fileno())
        _, status = os.waitpid(child, 0)
        told.seek(0)
        text = told.read().decode("utf-8", "replace").strip()
    if status:
        text = text.removeprefix("passpilot: ").removeprefix("error: ")
        raise UsageError(f"{command}: {text or 'LLVM does not take ' + ' '.join(arguments)}")
    llvm_options(arguments)


def _try_llvm_options(arguments: list[str], told: int) -> NoReturn:
    from passpilot.plugin.module import llvm_options

    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(told, 2)
        llvm_options(arguments)
        os._exit(0)
    except InputError as error:
        os.write(2, str(error).removesuffix("LLVM option: ").encode())
    finally:
        os._exit(1)


def check_text(command: str, options: argparse.Namespace) -> None:
    """Make sure that LLVM can have the options that it gets: Python keeps bytes that are no UTF-8.

    Raises:
        UsageError: it cannot.
    """
    for name, value in vars(options).items():
        if name in PATHS:
            continue
        for text in value if isinstance(value, list) else [value]:
            try:
                str(text).encode()
            except UnicodeEncodeError as error:
                flag = name.replace("_", "-")
                raise UsageError(f"{command}: -{flag}: expected UTF-8, got {text!r}") from error


def load_files(options: argparse.Namespace) -> None:
    """Run the files of --load, which register what they define.

    Raises:
        Error: a file cannot be loaded.
    """
    for file in options.load:
        from passpilot.plugin.load import load_file

        load_file(file)


def make_advisors(command: str, options: argparse.Namespace) -> list[Advisor]:
    """The advisors that the flags ask for, at most one per point.

    Raises:
        UsageError: the flags do not fit each other.
        Error: a file cannot be loaded, or a runner cannot be made.
    """
    load_files(options)
    asked = runners(command, options)
    written = logs(command, options, asked)
    given = _keywords(command, options, asked)
    made: list[Advisor] = []
    try:
        for point, runner in asked.items():
            names = KEYWORDS.get(point, PASS_POINT)
            keywords = {name: given[name] for name in names if name in given}
            made.append(_make(command, point, runner, {"log": written.get(point), **keywords}))
    except BaseException:
        close(made)
        raise
    return made


def _make(command: str, point: str, runner: str, keywords: Mapping[str, object]) -> Advisor:
    if point not in ADVISORS[command]:
        made: Advisor = import_module("passpilot.passes.decision_point").PointAdvisor(
            point, runner, **keywords
        )
        return made
    module, _, name = ADVISORS[command][point].partition(":")
    advisor: Advisor = getattr(import_module(module), name)(runner, **keywords)
    return advisor


def close(advisors: Sequence[Advisor]) -> None:
    """Close all advisors, the last first, then raise what the first that failed raised."""
    failed: BaseException | None = None
    for advisor in reversed(advisors):
        try:
            advisor.close()
        except BaseException as error:  # noqa: BLE001  (raised below)
            failed = failed or error
    if failed is not None:
        raise failed


def runners(command: str, options: argparse.Namespace) -> dict[str, str]:
    """The runner of each advised point, in the order of the table."""
    points = ADVISORS[command]
    wanted = [(point, getattr(options, point)) for point in points if getattr(options, point) is not None]
    for text in options.advise:
        point, equals, runner = text.partition("=")
        if not equals or not _reaches(command, point):
            owner = _owner(point)
            hint = f"; `passpilot {owner}` has the point {point}" if equals and owner else ""
            known = ", ".join(_reached(command))
            raise UsageError(
                f"{command}: --advise: expected POINT=RUNNER with POINT among {known}, got {text!r}{hint}"
            )
        wanted.append((point, runner))
    asked = dict(wanted)
    for point in asked:
        if (count := [each for each, _ in wanted].count(point)) > 1:
            raise UsageError(f"{command}: expected one runner for the point {point}, got {count}")
    return {point: asked[point] for point in (*points, *asked) if point in asked}


def _reaches(command: str, point: str) -> bool:
    """Whether the command reaches a decision point: one of LLVM's, or of a pass in Python."""
    if point in ADVISORS[command] or command == "llc":
        return point in ADVISORS[command]
    known: bool = import_module("passpilot.features.point").is_declared(point)
    return known


def _reached(command: str) -> tuple[str, ...]:
    """The points that the command is known to reach."""
    if command == "llc":
        return tuple(ADVISORS[command])
    points = import_module("passpilot.features.point")
    return *ADVISORS[command], *(name for name in points.point_names() if name not in points.POINTS)


def logs(command: str, options: argparse.Namespace, advised: Iterable[str]) -> dict[str, str]:
    """The path of each advised point's log: --log F for an only advisor, or --log POINT=F."""
    only = list(advised)
    written: dict[str, str] = {}
    for text in options.log:
        point, equals, path = text.partition("=")
        if not equals or not _reaches(command, point):
            point, path = only[0] if len(only) == 1 else "", text
        if not only or (point and point not in only):
            _refuse_lonely(command, "log", point)
        if not point:
            raise UsageError(
                f"{command}: --log: expected POINT=F with POINT among {', '.join(only)}, got {text!r}"
            )
        if point in written:
            raise UsageError(f"{command}: expected one log for the point {point}, got two")
        written[point] = path
    return written


def _keywords(command: str, options: argparse.Namespace, advised: Iterable[str]) -> dict[str, object]:
    """The keywords that are on the command line; each must be for some advisor."""
    names = dict.fromkeys((*PASS_POINT, *(name for point in ADVISORS[command] for name in KEYWORDS[point])))
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    taken = {name for point in advised for name in KEYWORDS.get(point, PASS_POINT)}
    for name in given:
        if name not in taken:
            _refuse_lonely(command, name, next((p for p in ADVISORS[command] if name in KEYWORDS[p]), ""))
    return given


def _refuse_lonely(command: str, name: str, point: str) -> NoReturn:
    flag = f"--{name.replace('_', '-')}"
    point = point or next(iter(ADVISORS[command]), "inline")
    raise UsageError(
        f"{command}: {flag}: expected an advisor that it is for, got none; add --{point}=default"
    )


def check_outputs(command: str, options: argparse.Namespace, *outputs: tuple[str, str | None]) -> None:
    """Make sure that no two of the outputs, each given with its flag, the logs and the remarks are one file.

    Raises:
        UsageError: they are.
    """
    written = logs(command, options, runners(command, options)).values()
    owners: dict[str, str] = {}
    for flag, path in (
        *outputs,
        *(("--log", log) for log in written),
        ("-pass-remarks-output", options.pass_remarks_output),
    ):
        if not path or (path != "-" and os.path.exists(path) and not os.path.isfile(path)):
            continue
        place = path if path == "-" else os.path.realpath(path)
        if place in owners:
            raise UsageError(
                f"{command}: {flag}: expected a file of its own, got {path}, which {owners[place]} writes"
            )
        owners[place] = flag


def refuses_terminal(output: str, what: str, instead: str) -> bool:
    """Whether `output` is a terminal, which gets no binary; warns if so."""
    if output != "-" or not sys.stdout.isatty():
        return False
    msg = f"expected a file or pipe for {what}, got a terminal; use {instead}"
    warnings.warn(msg, PasspilotWarning, stacklevel=2)
    return True


def print_version() -> None:
    """Print what --version asks for."""
    from passpilot.cli.main import version

    print(version())


def print_reports(advisors: Sequence[Advisor]) -> None:
    """Print what --stats asks for."""
    from passpilot.plugin import _core

    for advisor in advisors:
        print(advisor.report(), file=sys.stderr)
    print(_core.statistics(), end="", file=sys.stderr)


def _print_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,  # noqa: ARG001
    lineno: int,  # noqa: ARG001
    file: object = None,  # noqa: ARG001
    line: str | None = None,  # noqa: ARG001
) -> None:
    kind = "" if issubclass(category, PasspilotWarning) else f"{category.__name__}: "
    print(f"passpilot: warning: {kind}{message}", file=sys.stderr)
