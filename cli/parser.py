# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Parser`: parses command lines as LLVM's tools do: options with one or two dashes, errors of one line.

`record` puts the parsed values into a frozen dataclass, so that only parsers use argparse.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NoReturn, TypeVar

from passpilot.cli.options_table import options_of
from passpilot.plugin.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from _typeshed import DataclassInstance

    from passpilot.cli.options_table import Door

    Record = TypeVar("Record", bound=DataclassInstance)

READ: dict[str, Callable[[str], object]] = {"seconds": float, "number": float, "count": int}
"""The functions that read the numbers of the options table, by kind."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose options take one or two dashes, and whose errors are `UsageError`."""

    def __init__(self, prog: str, *, description: str, epilog: str, add_help: bool = True) -> None:
        super().__init__(
            prog,
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            add_help=add_help,
        )

    def option(self, *names: str, **keywords: object) -> None:
        """Add an option by its names without dashes; the keywords are those of `add_argument`."""
        dashed = [dashes + name for name in names for dashes in ("--", "-")]
        self.add_argument(*dashed, **keywords)  # type: ignore[arg-type]

    def table_options(self, door: Door) -> None:
        """Add the options of the options table that belong to this command."""
        for row in options_of(door):
            value, text = row.said(door)
            if row.kind == "flag":
                self.option(row.name, action="store_true", help=text)
            elif row.repeats(door):
                self.option(row.name, action="append", default=[], metavar=value, help=text)
            elif row.choices:
                self.option(row.name, choices=row.choices, help=text)
            else:
                self.option(row.name, type=READ.get(row.kind, str), metavar=value, help=text)

    def traceback_option(self) -> None:
        """Add --traceback; `passpilot.cli.main` obeys it."""
        self.option("traceback", action="store_true", help="show the whole traceback of an error")

    def values(self, argv: Sequence[str] | None) -> dict[str, object]:
        """The option values by Python name; for an option that may be repeated, a tuple of its values."""
        return _values(self.parse_args(argv))

    def known_values(self, argv: Sequence[str]) -> tuple[dict[str, object], list[str]]:
        """The option values, and the arguments that are not options of this parser."""
        parsed, unknown = self.parse_known_args(argv)
        return _values(parsed), unknown

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog.removeprefix('passpilot ')}: {message}; see `{self.prog} --help`")


def _values(parsed: argparse.Namespace) -> dict[str, object]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in vars(parsed).items()}


def record(kind: type[Record], values: Mapping[str, object], **parts: object) -> Record:
    """Make a dataclass from the values with the names of its fields; `parts` override values."""
    make: Callable[..., Record] = kind
    whole = {**values, **parts}
    return make(**{name: whole[name] for name in kind.__dataclass_fields__})
