# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names the decision logs of `passpilot cc`, makes their folders, and refuses a file for several of them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from passpilot.plugin.errors import CompilationError, InputError

TYPE_CHECKING = False  # type checkers take it as true
if TYPE_CHECKING:
    from passpilot.cli.cc.options import Options


def unit_name(arguments: Sequence[str]) -> str:
    """A hash of folder and arguments for the names of logs: the same command writes the same files."""
    text = "\n".join([os.getcwd(), *arguments])
    # A remainder as in Rabin and Karp's search; hashlib takes 8 ms to import.
    return f"{int.from_bytes(os.fsencode(text), 'big') % (2**64 - 59):016x}"


def make_folders(options: Options) -> None:
    """Make the folders of the logs."""
    for path in options.logs()[0]:
        options.make_folder("log", path)


def refuse_shared_files(name: str, options: Options, compiler: str, words: Sequence[str]) -> None:
    """Refuse a file for the log of a point that several compilations of a command reach."""
    files = options.logs()[1]
    if not files:
        return
    from passpilot.features.log.existing import is_other_file

    for text in files:
        path = text.partition("=")[2] or text
        if is_other_file(path):
            raise InputError(f"{name}: --log: expected a folder or a log, got {path}, which is another file")
    from passpilot.cli.cc.clang_arguments import Command
    from passpilot.features.catalogue import emit_points
    from passpilot.training.corpus.front_end import FrontEnd

    command = Command(words[1:])
    try:
        sources = len(FrontEnd(compiler, os.getcwd(), os.environ).compilations(words))
    except CompilationError:
        return  # clang says what is wrong
    for text in files:
        late = text.partition("=")[0] in emit_points()
        count = command.links if command.is_lto and late else sources + (command.is_lto and command.links)
        if count > 1:
            raise InputError(
                f"{name}: --log: expected a folder for a command with {count} compilations, got {text}, "
                "which each would write; give --log=FOLDER/"
            )
    if (plain := next((text for text in files if "=" not in text), "")) and len(
        points := options.points()
    ) > 1:
        raise InputError(
            f"{name}: --log: expected POINT=FILE for each of {', '.join(points)}, got {plain}, "
            "which each would write; give --log=FOLDER/"
        )
