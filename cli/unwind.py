# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot unwind`: compares unwind tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from passpilot.cli.outputs import quiet_pipe
from passpilot.cli.parser import Parser, argument, flag, option, record
from passpilot.plugin.failures import for_terminal
from passpilot.runners.plurals import counted
from passpilot.training.evaluation.unwind_check import check_unwind

EPILOG: Final = """\
example:
  passpilot cc -Oz -c prog.c -o stock.o
  passpilot cc -Oz -c prog.c --unwind=faults -o small.o
  passpilot unwind check stock.o small.o"""

SHOWN: Final = 20
"""Differences that are printed."""


class CheckOptions(NamedTuple):
    first: str = argument("A", "an ELF file whose unwind table is right")
    second: str = argument("B", "an ELF file of the same code")
    stops: str = option(
        choices=("faults", "calls"),
        default="faults",
        help="compare at calls and at instructions that can fault (faults), or at calls alone",
    )
    fewer_entries: bool = flag("functions without an entry in B are no difference")


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code, which is 1 if the tables differ."""
    values = make_parser().values(argv)
    options = record(CheckOptions, values)
    with quiet_pipe():
        return _check(options)


def make_parser() -> Parser:
    parser = Parser("passpilot unwind", description="Compare unwind tables.", epilog=EPILOG)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    check: Parser = commands.add_parser(
        "check",
        help="compare the unwind tables of two builds of the same code",
        description="Compare the unwind tables of two builds of the same code, at every instruction where\n"
        "the program can stop. The exit code is 1 if they differ.",
        epilog=EPILOG,
        old_names={"at": "stops"},
    )
    check.add_fields(CheckOptions)
    check.traceback_option()
    return parser


def _check(options: CheckOptions) -> int:
    found = check_unwind(options.first, options.second, at=options.stops, fewer_entries=options.fewer_entries)
    for difference in found.differences[:SHOWN]:
        print(for_terminal(str(difference)))
    if len(found.differences) > SHOWN:
        print(f"... and {len(found.differences) - SHOWN:,} more")
    places = f"{counted(found.calls, 'call')} and {counted(found.faults, 'other instruction')} that can fault"
    fewer = f"; {counted(found.dropped, 'function')} without an entry in B" * bool(found.dropped)
    differences = counted(len(found.differences), "difference")
    print(f"{counted(found.functions, 'function')}, {places}: {differences}{fewer}")
    print(f"unwind tables: {found.sizes[0]:,} bytes in A, {found.sizes[1]:,} in B")
    return 1 if found.differences else 0
