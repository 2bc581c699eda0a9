# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `passpilot opt`, `llc` and `mlir-opt` have in common: options, and how command lines are read."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from passpilot.cli.advice import AdviceFlags
from passpilot.cli.llvm_options import split_options
from passpilot.cli.parser import Parser, flag, option, record, truth
from passpilot.plugin.errors import UsageError

if TYPE_CHECKING:
    from passpilot.cli.options_table import Door
    from passpilot.plugin.compile import Remarks

    Options = TypeVar("Options", bound=NamedTuple)


class ModuleOptions(NamedTuple):
    """The input, and options for the whole module."""

    input: str
    version: bool = flag("print versions: passpilot's and LLVM's")
    """Whether to print versions and do nothing else."""
    mtriple: str = option(default="", metavar="TRIPLE", help="override the target triple")
    disable_verify: bool = flag("do not run the verifier")


class RemarkOptions(NamedTuple):
    """The flags of remark files."""

    pass_remarks_output: str = option(default="", metavar="F", help="write remarks to a file")
    pass_remarks_filter: str = option(default="", metavar="REGEX", help="only remarks of these passes")
    pass_remarks_format: str = option(default="yaml", metavar="FORMAT", help="yaml (default) or bitstream")
    pass_remarks_with_hotness: bool = flag("remarks with profile counts")

    def remarks(self) -> Remarks:
        """The options as a compilation takes them."""
        from passpilot.plugin.compile import Remarks

        return Remarks(*self)


class _Level(argparse.Action):
    """Adds the name of the flag that is given, without its dashes."""

    def __call__(self, parser, namespace, values, option_string=None):  # type: ignore[no-untyped-def]  # noqa: ARG002
        levels = getattr(namespace, self.dest)
        setattr(namespace, self.dest, [*levels, str(option_string).lstrip("-")])


def level_flags(names: Sequence[str], help_: str) -> Any:
    """Declares the flags -O0, -O1, ...; the value has those that are given, without the dash."""
    return option(*names, action=_Level, nargs=0, default=[], help=help_)


def switch(default: bool | None, help_: str) -> Any:
    """Declares an option that is true, false, or without a value true."""
    return option(default=default, nargs="?", const="true", type=truth, metavar="BOOL", help=help_)


def only_level(command: str, flags: Sequence[str]) -> str | None:
    """The level of a command line, or None."""
    if len(flags) > 1:
        raise UsageError(f"{command}: expected one optimization level, got -{' -'.join(flags)}")
    return flags[0] if flags else None


def tool_parser(
    command: Door, options: type[NamedTuple], description: str, input_: str, epilog: str
) -> Parser:
    """The parser of a command that compiles as LLVM's tool does; a named tuple declares its options."""
    parser = Parser(f"passpilot {command}", description=description, epilog=epilog)
    parser.add_argument("input", nargs="?", default="-", metavar="IN", help=input_)
    parser.add_fields(options)
    parser.table_options(command)
    parser.traceback_option()
    return parser


def read_options(
    command: str, parser: Parser, kind: type[Options], argv: Iterable[str]
) -> tuple[Options, list[str]]:
    """The options of a command line, and the arguments for LLVM."""
    ours, llvm = split_options(argv, parser)
    values = parser.values(ours)
    return record(kind, values, advice=AdviceFlags.of(command, values)), llvm
