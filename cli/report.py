# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot report`: an HTML page about logs and results, and the table of a report of `llc --report`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from passpilot.cli.outputs import quiet_pipe
from passpilot.cli.parser import Parser, argument, count_of, option, record, shared
from passpilot.plugin.errors import InputError, UsageError, restated

MOST_DECISIONS: Final = 100_000
"""The most decisions of a run that a page holds unless --limit says another number."""

_EXAMPLE = """\
examples:
  passpilot opt in.bc -passes='default<Oz>' --inline=random:7 --log decisions.log -o out.bc
  passpilot report decisions.log -o report.html
  passpilot report before.log after.log --title='Two policies' -o report.html
  passpilot llc in.bc --evict=python:policy.py:decide --report=cost.json -o out.s
  passpilot report cost.json --limit 20
"""


class ReportOptions(NamedTuple):
    files: tuple[str, ...] = argument(
        "FILE", "a decision log, a folder of logs, a decision file, or the JSON of a result", nargs="+"
    )
    output: str = option(
        "o", default="", metavar="PAGE.html", help="the output: a page; - for standard output"
    )
    title: str = option(default="", metavar="TEXT", help="the title of the page")
    before: str = option(
        default="", metavar="OBJECT", help="show the functions of this object or program ..."
    )
    after: str = option(default="", metavar="OBJECT", help="... beside those of this one")
    limit: int | None = shared(
        "limit",
        f"decisions of each run ({MOST_DECISIONS:,}), or functions; totals count all",
        type=count_of("decisions or functions"),
    )


def main(argv: Sequence[str]) -> int:
    options = record(ReportOptions, make_parser().values(argv))
    if options.output:
        _write_page(options)
    else:
        _print_table(options)
    return 0


def make_parser() -> Parser:
    parser = Parser(
        "passpilot report",
        description="Make one HTML page of decision logs, decision files and the results of\n"
        "`passpilot tune`, `passpilot eval` and `passpilot llc --report`. The page needs no network.\n"
        "Without -o, print the report of `passpilot llc --report` as a table; the functions that change\n"
        "most come first.",
        epilog=_EXAMPLE,
    )
    parser.add_fields(ReportOptions)
    parser.traceback_option()
    return parser


def _write_page(options: ReportOptions) -> None:
    from passpilot.plugin.files import write_file
    from passpilot.training.report.inputs import Report

    if bool(options.before) != bool(options.after):
        raise UsageError("report: --before and --after belong together")
    report = Report(MOST_DECISIONS if options.limit is None else options.limit)
    for file in options.files:
        report.add(file)
    if options.before:
        report.add_objects(options.before, options.after)
    with quiet_pipe():
        write_file(options.output, report.to_html(options.title))


def _print_table(options: ReportOptions) -> None:
    from passpilot.passes.report.table import read_report, table_of

    if len(options.files) > 1 or options.title or options.before or options.after:
        raise UsageError("report: expected -o PAGE.html for a page, got none")
    with quiet_pipe():
        try:
            report = read_report(options.files[0])
        except InputError as error:
            raise restated(error, f"{error}; -o PAGE.html makes a page of logs and other results") from error
        print(table_of(report, options.limit), end="")
