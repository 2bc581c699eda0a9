# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Advisors from a command line: `--inline=R`, `--advise POINT=R`, `--log`, `--on-error`, `--timeout`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, NoReturn

from passpilot.plugin.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

    from passpilot.cli.parser import Parser
    from passpilot.plugin.asking import AdvisorLike

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

RUNNERS: Final = """\
RUNNER is scheme:target[?key=value&...]: python:FILE:NAME, onnx:MODEL, aot:LIBRARY, pipe:BASE, grpc:HOST:PORT,
replay:LOG, random:SEED, const:VALUE, default."""


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


def load_files(options: argparse.Namespace) -> None:
    """Run the files of --load, which register what they define.

    Raises:
        Error: a file cannot be loaded.
    """
    for file in options.load:
        from passpilot.plugin.load import load_file

        load_file(file)


def make_advisors(command: str, options: argparse.Namespace) -> list[AdvisorLike]:
    """The advisors that the flags ask for, at most one per point.

    Raises:
        UsageError: the flags do not fit each other.
        Error: a file cannot be loaded, or a runner cannot be made.
    """
    load_files(options)
    asked = runner_specs(command, options)
    written = log_paths(command, options, asked)
    given = _keywords(command, options, asked)
    made: list[AdvisorLike] = []
    try:
        for point, runner in asked.items():
            names = KEYWORDS.get(point, PASS_POINT)
            keywords = {name: given[name] for name in names if name in given}
            made.append(_make(command, point, runner, {"log": written.get(point), **keywords}))
    except BaseException:
        close_advisors(made)
        raise
    return made


def _make(command: str, point: str, runner: str, keywords: Mapping[str, object]) -> AdvisorLike:
    if point not in ADVISORS[command]:
        made: AdvisorLike = import_module("passpilot.passes.decision_point").PointAdvisor(
            point, runner, **keywords
        )
        return made
    module, _, name = ADVISORS[command][point].partition(":")
    advisor: AdvisorLike = getattr(import_module(module), name)(runner, **keywords)
    return advisor


def close_advisors(advisors: Sequence[AdvisorLike]) -> None:
    """Close all advisors, the last first, then raise what the first that failed raised."""
    failed: BaseException | None = None
    for advisor in reversed(advisors):
        try:
            advisor.close()
        except BaseException as error:  # noqa: BLE001  (raised below)
            failed = failed or error
    if failed is not None:
        raise failed


def runner_specs(command: str, options: argparse.Namespace) -> dict[str, str]:
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


def log_paths(command: str, options: argparse.Namespace, advised: Iterable[str]) -> dict[str, str]:
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


def refuse_point(command: str, option: str) -> None:
    """Refuse an option that advises a decision point of another command.

    Raises:
        UsageError: it does.
    """
    point = option.lstrip("-")
    if owner := _owner(point):
        expected = " or ".join(f"--{each}" for each in ADVISORS[command])
        raise UsageError(f"{command}: {option}: expected {expected}, got a point of `passpilot {owner}`")


def _owner(point: str) -> str | None:
    """The command that reaches a decision point."""
    return next((command for command, points in ADVISORS.items() if point in points), None)
