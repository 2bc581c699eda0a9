# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the commands that have an option, for errors about an option of another command."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib import import_module
from typing import Final

from passpilot.cli.options_table import TABLE

MOST: Final = 3
"""How many commands an error names."""


def owners(option: str, command: str) -> str:
    """``passpilot tune or passpilot compare``: other commands with the option; empty if there are none."""
    dashed = f"--{option.lstrip('-')}"
    names = [name for name, parser in _parsers() if dashed in parser._option_string_actions]
    if any(row.name == dashed[2:] and "cc" in row.doors for row in TABLE):
        names.append("cc")
    others = [f"passpilot {name}" for name in names if name != command]
    return " or ".join(others[:MOST]) + " and others" * (len(others) > MOST)


def _parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    from passpilot.cli.main import COMMANDS

    for name, (place, _) in COMMANDS.items():
        module = import_module(place.partition(":")[0])
        if hasattr(module, "make_parser"):
            yield from _with_subcommands(name, module.make_parser())


def _with_subcommands(
    name: str, parser: argparse.ArgumentParser
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command, inner in action.choices.items():
                yield from _with_subcommands(f"{name} {command}", inner)
