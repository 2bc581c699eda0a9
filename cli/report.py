# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot report F.json`: prints the report of `passpilot llc --report` as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from passpilot.cli.outputs import quiet_pipe
from passpilot.cli.parser import Parser, count_of, record

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXAMPLE = """\
example:
  passpilot llc in.bc --evict=python:policy.py:decide --report=cost.json -o out.s
  passpilot report cost.json --limit 20
"""


class ReportOptions(NamedTuple):
    """The command line of `passpilot report`."""

    file: str
    limit: int | None


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code.

    Raises:
        InputError: the file cannot be read, or is not a report.
    """
    from passpilot.passes.report.table import read_report, table_of

    options = record(ReportOptions, make_parser().values(argv))
    with quiet_pipe():
        print(table_of(read_report(options.file), options.limit), end="")
    return 0


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(
        "passpilot report",
        description="Print the report of `passpilot llc --report` as a table: what the allocation costs, by\n"
        "function, beside LLVM's default. The functions that change most come first.",
        epilog=_EXAMPLE,
    )
    parser.add_argument("file", metavar="F.json", help="the report")
    parser.option(
        "limit", type=count_of("functions"), metavar="N", help="print N functions, and the totals of all"
    )
    parser.traceback_option()
    return parser
