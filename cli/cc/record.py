# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot cc --record=FOLDER`: runs clang, and records what it has compiled and linked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from passpilot.cli.cc.clang_arguments import WITH_VALUE
from passpilot.plugin.errors import Error
from passpilot.plugin.failures import for_terminal
from passpilot.training.corpus.front_end import FrontEnd
from passpilot.training.corpus.recorded.recorder import BuildCommand, record_command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from passpilot.cli.cc.clang_arguments import Command


class RecordedRun(NamedTuple):
    """A command of clang that is to be recorded; `words` are clang's name and arguments."""

    driver: str
    compiler: str
    words: Sequence[str]
    environment: Mapping[str, str]


def run_recorded(folder: str, run: RecordedRun, command: Command, compile_: Callable[[], int]) -> int:
    """Compile by `compile_`, which returns clang's exit code, and record what was made; returns that code.

    The build goes on if the recording fails: that is a warning.
    """
    code = compile_()
    if code or not command.makes_machine_code:
        return code
    front_end = FrontEnd(run.compiler, os.getcwd(), run.environment)
    built = BuildCommand(run.driver, run.words, command.links, WITH_VALUE)
    try:
        record_command(folder, front_end, built)
    except Error as error:
        text = for_terminal(
            f"passpilot: warning: {run.driver}: --record: {error}; the command is not recorded"
        )
        print(f"{text}\n", end="", file=sys.stderr)
    return code


def run_clang(compiler: str, command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run clang as a child; returns its exit code. The child gets SIGTERM, too, if this process gets it."""
    sys.stdout.flush()
    children: list[subprocess.Popen[bytes]] = []
    ended = False

    def end(*_: object) -> None:
        nonlocal ended
        ended = True
        for child in children:
            child.terminate()

    before = signal.signal(signal.SIGTERM, end)
    try:
        with subprocess.Popen(command, executable=compiler, env=environment, close_fds=False) as child:
            children.append(child)
            if ended:
                child.terminate()
            code = child.wait()
    finally:
        signal.signal(signal.SIGTERM, before)
    return code if code >= 0 else 128 - code
