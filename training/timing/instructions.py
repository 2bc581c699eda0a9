# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`executed_instructions`: the instructions of one run of a program, which valgrind's cachegrind counts.

Processor time swings with what the machine's neighbours do; a count of the same run hardly varies.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from typing import Final

from passpilot.plugin.errors import CompilationError, InputError
from passpilot.training.timing.commands import CommandResult, Commands

COUNTER: Final = (
    "valgrind",
    "--tool=cachegrind",
    "--cache-sim=no",
    "--trace-children=yes",
    "--cachegrind-out-file=/dev/null",
)
SLOWER: Final = 60
"""So many times longer than the run itself may the counted run take."""

_COUNT: Final = re.compile(r"I\s+refs:\s+([\d,]+)")


def check_counter() -> None:
    """Make sure that there is valgrind.

    Raises:
        InputError: there is none.
    """
    if shutil.which(COUNTER[0]) is None:
        raise InputError("instructions: valgrind is not on the PATH; sudo apt-get install valgrind")


def executed_instructions(
    commands: Commands,
    words: Sequence[str],
    deadline: float,
    directory: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[int, CommandResult]:
    """The instructions of all processes of a run, and what came of it.

    Args:
        commands: runs it.
        words: the command.
        deadline: the seconds that the run may take without valgrind.
        directory: where it runs.
        environment: its environment variables.

    Raises:
        InputError: there is no valgrind.
        CompilationError: it counts nothing.
    """
    check_counter()
    with tempfile.TemporaryDirectory(prefix="passpilot-count-") as folder:
        log = os.path.join(folder, "%p")
        command = [*COUNTER, f"--log-file={log}", *words]
        done = commands.run(command, deadline * SLOWER, directory=directory, environment=environment)
        texts = []
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                texts.append(file.read())
    counts = [int(count.replace(",", "")) for text in texts for count in _COUNT.findall(text)]
    if not counts and not done.is_late:
        said = " ".join(texts[0].split())[-200:] if texts else "nothing"
        raise CompilationError(f"valgrind: expected a count of instructions of {words[0]}, got {said}")
    return sum(counts), done
