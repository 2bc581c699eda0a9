# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names the decision logs of `passpilot cc`, and makes their folders."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # type checkers take it as true
if TYPE_CHECKING:
    from collections.abc import Sequence

    from passpilot.cli.cc.options import Options


def unit_name(arguments: Sequence[str]) -> str:
    """A hash of folder and arguments for the names of logs: the same command writes the same files."""
    text = "\n".join([os.getcwd(), *arguments])
    # A remainder as in Rabin and Karp's search; hashlib takes 8 ms to import.
    return f"{int.from_bytes(os.fsencode(text), 'big') % (2**64 - 59):016x}"


def make_folders(options: Options) -> None:
    """Make the folders of the logs.

    Raises:
        InputError: a file is in the way.
    """
    for path in options.log_folders():
        options.make_folder("log", path)
