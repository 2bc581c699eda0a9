# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Separates LLVM's own options, such as ``-inline-threshold=50``, from a command's options, and sets them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NoReturn

from passpilot.cli.advice import refuse_point
from passpilot.plugin.errors import InputError, UsageError
from passpilot.plugin.failures import did_you_mean

if TYPE_CHECKING:
    from passpilot.cli.parser import Parser


CLOSE: Final = 0.8
"""How close an unknown option is to one of ours that was meant: most are LLVM's."""


def split_options(argv: Iterable[str], parser: Parser) -> tuple[list[str], list[str]]:
    """Split arguments into the command's own and LLVM's, both with their values."""
    known = parser._option_string_actions
    ours: list[str] = []
    llvm: list[str] = []
    rest = iter(argv)
    for argument in rest:
        name, equals, _ = argument.partition("=")
        if argument == "-" or not argument.startswith("-"):
            ours.append(argument)
        elif "-j" in known and argument.startswith("-j") and argument[2:].isdigit():
            ours.append(f"--jobs={argument[2:]}")
        elif name in known:
            ours.append(argument if equals else parser.joined(argument, rest, others=True))
        else:
            _refuse(parser, name)
            llvm.append(argument)
            if not equals and _takes_value(name) and (value := next(rest, None)) is not None:
                llvm.append(value)
    if "-stats" in ours or "--stats" in ours:
        llvm.append("-stats")
    return ours, llvm


def _refuse(parser: Parser, option: str) -> None:
    """Refuse an option that is neither this command's nor LLVM's, if there is a hint to give."""
    command = parser.prog.removeprefix("passpilot ")
    refuse_point(command, option)
    levels = [known for known in parser._option_string_actions if re.fullmatch("-O.", known)]
    if levels and re.match("--?O", option):
        raise UsageError(f"{command}: expected {', '.join(levels)}, got {option!r}")
    from passpilot.plugin import _core

    if _core.option_kind(option.lstrip("-")) != _core.OptionKind.UNKNOWN:
        return
    from passpilot.cli.owners import owners

    hint = parser.suggestion(option, CLOSE)
    if not hint.startswith("; did") and (others := owners(option, command)):
        raise UsageError(
            f"{command}: {option}: expected an option of passpilot {command}, got one of {others}"
        )
    if hint:
        raise UsageError(f"{command}: {option}: expected an option of passpilot {command} or LLVM{hint}")


def _takes_value(name: str) -> bool:
    from passpilot.plugin import _core

    return _core.option_kind(name.lstrip("-")) == _core.OptionKind.TAKES_VALUE


def set_llvm_options(command: str, arguments: Sequence[str], options: Iterable[str] = ()) -> None:
    """Set LLVM's options, after trying them in a child process.

    Those of `options`, as NAME or NAME=VALUE, are set unless an argument or an earlier call sets them. LLVM
    prints errors about values to standard error, and some of them end the process.

    Raises:
        UsageError: LLVM refuses an option.
    """
    from passpilot.plugin.compile import llvm_options, unset_options

    arguments = [*arguments, *unset_options(options, arguments)]
    if not arguments:
        return
    import tempfile

    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            _try_llvm_options(arguments, errors.fileno())
        _, status = os.waitpid(child, 0)
        errors.seek(0)
        text = errors.read().decode("utf-8", "surrogateescape").strip()
    if status:
        text = text.removeprefix("passpilot: ").removeprefix("error: ").removeprefix("LLVM option: ")
        unknown = re.match(
            r"Unknown command line argument '(--?([\w-]+))[^']*'(.*Did you mean '--?([\w-]+))?", text
        )
        if unknown and not did_you_mean(unknown[2], [unknown[4] or ""], CLOSE):
            is_opt = command == "opt"
            hint = (
                f"passes are written -passes={unknown[2]}" if is_opt else f"see `passpilot {command} --help`"
            )
            text = f"{unknown[1]}: expected an option of passpilot {command} or LLVM; {hint}"
        raise UsageError(f"{command}: {text or 'LLVM does not take ' + ' '.join(arguments)}")
    llvm_options(arguments)


def _try_llvm_options(arguments: Sequence[str], errors: int) -> NoReturn:
    from passpilot.plugin.compile import llvm_options

    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(errors, 2)
        llvm_options(arguments)
        os._exit(0)
    except InputError as error:
        os.write(2, str(error).removesuffix("LLVM option: ").encode("utf-8", "surrogateescape"))
    finally:
        os._exit(1)
