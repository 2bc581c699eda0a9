# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot log`: prints decision logs, and compares two."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from passpilot.cli.outputs import quiet_pipe
from passpilot.cli.parser import Parser, argument, count_of, record, shared
from passpilot.features.log.comparison import LogComparison
from passpilot.features.log.reader import read_log
from passpilot.features.log.shown import ShownDecision, Totals, columns, style_of
from passpilot.plugin.errors import LogError, UsageError
from passpilot.plugin.failures import for_terminal
from passpilot.plugin.files import files_below

_SHOW = """\
example:
  passpilot opt in.bc -passes='default<Oz>' --inline=random:7 --log decisions.log -o out.bc
  passpilot log show decisions.log --limit 20
"""
_DIFF = """\
example:
  passpilot opt in.bc -passes='default<Oz>' --inline=random:7 --log decisions.log -o out.bc
  passpilot opt in.bc -passes='default<Oz>' --inline=random:8 --log other.log -o out.bc
  passpilot log diff decisions.log other.log
"""


class LogOptions(NamedTuple):
    files: tuple[str, ...] = argument(
        "LOG", "a decision log of passpilot or of MLGO, or a folder: all *.log in it", nargs="+"
    )
    json: bool = shared("json", "one object per decision, no summary")
    csv: bool = shared("csv", "no summary")
    limit: int | None = shared("limit", "the first decisions of each log", type=count_of("decisions"))


class LogDiffOptions(NamedTuple):
    first: str = argument("A", "a decision log")
    second: str = argument("B", "another log of the same decision point")
    limit: int | None = shared("limit", "the first differences", type=count_of("decisions"))


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code. The decisions before a damaged part of a log are printed."""
    if argv and not argv[0].startswith("-") and os.path.exists(argv[0]):
        raise UsageError(
            f"log: expected show or diff, got {argv[0]}; `passpilot log show {argv[0]}` prints it"
        )
    values = make_parser().values(argv)
    with quiet_pipe():
        if values["command"] == "diff":
            _diff(record(LogDiffOptions, values))
        else:
            _show(record(LogOptions, values))
    return 0


def make_parser() -> Parser:
    parser = Parser("passpilot log", description="Print decision logs, and compare two.", epilog=_SHOW)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    show = commands.add_parser(
        "show",
        help="print one line per decision, and a summary",
        description="Print one line per decision of a log, and a summary.",
        epilog=_SHOW,
    )
    diff = commands.add_parser(
        "diff",
        help="print the decisions that two logs take differently",
        description="Print the decisions that two logs of one module take differently, and a summary.\n"
        "Decisions belong together if they have the same function, caller, callee, location and register.",
        epilog=_DIFF,
    )
    for command, options in ((show, LogOptions), (diff, LogDiffOptions)):
        command.add_fields(options)
        command.traceback_option()
    return parser


def _show(options: LogOptions) -> None:
    if options.json and options.csv:
        raise UsageError("log show: choose --json or --csv; see `passpilot log show --help`")
    logs = [log for file in options.files for log in _logs(file)]
    if options.json:
        _print_json(logs, options.limit)
    elif options.csv:
        _print_csv(logs, options.limit)
    else:
        _print_tables(logs, options.limit)


def _logs(path: str) -> list[str]:
    """The log of this path, or all logs in the folder."""
    if not os.path.isdir(path):
        return [path]
    if found := files_below(path, ".log"):
        return list(map(str, found))
    raise LogError(f"log show: expected logs in the folder {path}, got no file *.log")


def _decisions(log: str, limit: int | None = None) -> Iterator[ShownDecision]:
    reader = read_log(log)
    style = style_of(reader.features)
    return (ShownDecision(decision, style) for decision in islice(reader, limit))


def _print_json(logs: Sequence[str], limit: int | None) -> None:
    for log in logs:
        for decision in _decisions(log, limit):
            print(decision.to_json(log if len(logs) > 1 else ""))


def _print_csv(logs: Sequence[str], limit: int | None) -> None:
    several, heads = ["log"] if len(logs) > 1 else [], None
    writer = csv.writer(sys.stdout, lineterminator="\n")
    for log in logs:
        reader = read_log(log)
        style = style_of(reader.features)
        now = columns(style, (*reader.features, *([reader.score] if reader.score else [])))
        if heads is None:
            writer.writerow([*several, *now])
        elif now != heads:
            raise LogError(
                f"log {log}: expected the tensors of {logs[0]} for --csv, got others; show it alone"
            )
        heads = now
        for decision in _decisions(log, limit):
            writer.writerow([*([for_terminal(log)] if several else []), *decision.cells()])


def _print_tables(logs: Sequence[str], limit: int | None) -> None:
    sums: dict[str, Totals] = {}
    for log in logs:
        if len(logs) > 1:
            print(f"log {for_terminal(log)}:")
        totals = _print_table(log, limit)
        sums.setdefault(totals.style.advice, Totals(totals.style)).add_all(totals)
    if len(logs) > 1:
        for advice, totals in sums.items():
            print(f"all logs of {for_terminal(advice)}: {totals}")


def _print_table(log: str, limit: int | None) -> Totals:
    """Print the decisions of a log up to the limit, and the totals of all of them."""
    reader = read_log(log)
    totals = Totals(style_of(reader.features))
    print(totals.style.heading)
    context = ""
    for number, decision in enumerate(_decisions(log)):
        totals.add(decision)
        if limit is not None and number >= limit:
            continue
        if decision.observation.context != context:
            context = decision.observation.context
            print(f"context {for_terminal(context)}:")
        print(decision)
    shown = f"; the first {limit} shown" if limit is not None and totals.advices.total() > limit else ""
    print(f"{totals}{shown}")
    return totals


def _diff(options: LogDiffOptions) -> None:
    for path in (options.first, options.second):
        if os.path.isdir(path):
            logs = [str(log) for log in files_below(path, ".log")]
            has = (
                f"it has {', '.join(logs[:3])}{', ...' * (len(logs) > 3)}" if logs else "it has no file *.log"
            )
            raise LogError(f"log diff: expected two logs, which are files, got {path}, a folder; {has}")
    compared = LogComparison(options.first, options.second)
    width, places = compared.style.log.width, ("A", "B", "advice A", "advice B")
    print(f"{places[0]:>8} {places[1]:>8} {places[2]:{width}} {places[3]:{width}} {compared.style.site}")
    for first, second in compared.differences[: options.limit]:
        numbers = f"{first.observation.index:8} {second.observation.index:8}"
        context = f"{first.observation.context}: " if compared.style.site == "register" else ""
        line = f"{numbers} {first.advice:{width}} {second.advice:{width}} {context}{first.place}"
        print(for_terminal(line.rstrip()))
    print(compared)
