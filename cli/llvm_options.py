# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM's own options on a command line of ours, such as ``-inline-threshold=50`` or ``-mcpu=...``.

A command line mixes the command's options with options that LLVM's own parser knows.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NoReturn

from passpilot.cli.advice import refuse_point
from passpilot.plugin.errors import InputError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

    from passpilot.cli.parser import Parser

PATHS: Final = ("input", "output", "split_dwarf_output", "report", "log", "load", "passes", "at")
"""Flags whose values LLVM does not see, or that are checked elsewhere."""


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
            refuse_point(parser.prog.removeprefix("passpilot "), name)
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


def set_llvm_options(command: str, arguments: list[str]) -> None:
    """Hand LLVM its options, tried in a child first.

    LLVM writes what is wrong with a value to the standard error, and ends the process for some.

    Raises:
        UsageError: LLVM does not take them.
    """
    if not arguments:
        return
    import tempfile

    from passpilot.plugin.compile import llvm_options

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
    from passpilot.plugin.compile import llvm_options

    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(told, 2)
        llvm_options(arguments)
        os._exit(0)
    except InputError as error:
        os.write(2, str(error).removesuffix("LLVM option: ").encode())
    finally:
        os._exit(1)


def check_text(command: str, values: Mapping[str, object]) -> None:
    """Make sure that LLVM can have the options that it gets: Python keeps bytes that are no UTF-8.

    Raises:
        UsageError: it cannot.
    """
    for name, value in values.items():
        if name in PATHS:
            continue
        for text in value if isinstance(value, tuple) else [value]:
            try:
                str(text).encode()
            except UnicodeEncodeError as error:
                flag = name.replace("_", "-")
                raise UsageError(f"{command}: -{flag}: expected UTF-8, got {text!r}") from error
