# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot attach --inline=R ... -- COMPILER ARGS`: runs an unmodified compiler and answers its questions.

The compiler is the distribution's own, in a child process. In its interactive mode, which MLGO's training
uses, it asks over FIFOs; nothing is loaded into it. It has our standard streams, and we exit with its exit
code.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from passpilot.cli.options_table import RUNNERS
from passpilot.cli.outputs import prepare
from passpilot.cli.parser import Parser, record
from passpilot.features.catalogue import HOOKED, TOOLS
from passpilot.plugin.errors import PasspilotWarning, UsageError
from passpilot.plugin.load import load_file
from passpilot.plugin.version import MAJOR
from passpilot.runners.attach.run import attach, tool_of


class AttachOptions(NamedTuple):
    """The part of the command line before the compiler's."""

    runners: Mapping[str, str]
    load: tuple[str, ...]
    on_error: str
    timeout: float
    stats: bool


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the compiler's exit code, or 128 plus the signal that ended it."""
    prepare()
    options, command = _parsed(argv)
    _check(options, command)
    for file in options.load:
        load_file(file)
    from passpilot.runners.attach.answers import Answers

    default, answers = options.on_error == "default", []
    with ExitStack() as stack:
        for point, spec in options.runners.items():
            answers.append(
                Answers(point, spec, default_on_error=default, timeout=options.timeout, timed=options.stats)
            )
            stack.callback(answers[-1].close)
        code = attach(command, answers, options.timeout)
    for advised in answers:
        if code == 0:
            for text in advised.complaints():
                warnings.warn(text, PasspilotWarning, stacklevel=1)
        if options.stats:
            print(advised.report(), file=sys.stderr)
    return code


def _parsed(argv: Sequence[str]) -> tuple[AttachOptions, list[str]]:
    """The options, and the compiler's command line: what follows -- or begins with the first other word."""
    parser = make_parser()
    ours: list[str] = []
    rest = iter(argv)
    command: list[str] = []
    for argument in rest:
        if argument == "--":
            command = list(rest)
        elif not argument.startswith("-"):
            command = [argument, *rest]
        elif (row := HOOKED.get(argument.partition("=")[0].removeprefix("--"))) and not row.interactive:
            raise UsageError(
                f"attach: --{row.name}: expected a point of an unmodified compiler, got one that only "
                f"passpilot's plugin adds; use `passpilot {row.command}`, or load the plugin "
                f"(`passpilot plugin-path`)"
            )
        elif argument in parser._option_string_actions:
            ours.append(parser.joined(argument, rest, others=True))
        else:
            ours.append(argument)
    values = parser.values(ours)
    runners = {
        point: values[point] for point, row in HOOKED.items() if row.interactive and values[point] is not None
    }
    return record(AttachOptions, values, runners=runners), command


def make_parser() -> Parser:
    """The parser of the arguments before the compiler's command line."""
    parser = Parser(
        "passpilot attach",
        description="Run an unmodified opt, llc, clang, flang, ld.lld or rustc, and answer its passes.",
        epilog="example:\n  passpilot attach --inline=python:policy.py:decide"
        f" -- opt-{MAJOR} -O2 in.bc -o out.bc\n"
        f"  passpilot attach --evict=random:7 --stats -- clang-{MAJOR} -O2 -c in.c -o out.o\n\n{RUNNERS}",
    )
    parser.usage = "passpilot attach [option ...] [--] COMPILER ARGS..."
    parser.table_options("attach")
    parser.set_defaults(on_error="fail", timeout=10.0)
    parser.traceback_option()
    return parser


def _check(options: AttachOptions, command: Sequence[str]) -> None:
    """Make sure that there is a compiler, that a point is advised, and that the compiler has it."""
    if not command:
        raise UsageError(
            "attach: expected a compiler and its arguments, got none; see `passpilot attach --help`"
        )
    reached = TOOLS[tool_of(command[0])]
    points = [point for point, row in HOOKED.items() if row.interactive and row.function in reached]
    flags = " or ".join(f"--{point}" for point in points)
    if not options.runners:
        raise UsageError(f"attach: expected a runner, got none; add {flags}")
    for point in options.runners:
        if point not in points:
            raise UsageError(f"attach: --{point}: expected a point of {command[0]}, {flags}")
        row = HOOKED[point]
        if options.on_error == "default" and not (row.interactive and row.interactive.default):
            telling = " or ".join(
                f"--{other.name}"
                for other in HOOKED.values()
                if other.interactive and other.interactive.default
            )
            raise UsageError(
                f"attach: --on-error=default: expected {telling} alone, got --{point}, where LLVM's "
                f"interactive protocol does not tell what LLVM would do; use `passpilot {row.command}`"
            )
