# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Parser`: command lines in the manner of LLVM: one or two dashes, and one line for what is wrong."""

from __future__ import annotations

import argparse
from typing import NoReturn

from passpilot.plugin.errors import UsageError


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
        """Add an option by its bare names; the keywords are those of `add_argument`."""
        dashed = [dashes + name for name in names for dashes in ("--", "-")]
        self.add_argument(*dashed, **keywords)  # type: ignore[arg-type]

    def traceback_option(self) -> None:
        """Add --traceback, which the command `passpilot` itself looks for."""
        self.option("traceback", action="store_true", help="show the whole traceback of an error")

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog.removeprefix('passpilot ')}: {message}; see `{self.prog} --help`")
