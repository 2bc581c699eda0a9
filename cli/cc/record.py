# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot cc --record=FOLDER`: runs clang, and records what it has compiled and linked."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from passpilot.cli.cc.clang_arguments import WITH_VALUE, Command
from passpilot.plugin.errors import Error
from passpilot.plugin.failures import for_terminal
from passpilot.training.corpus.front_end import FrontEnd
from passpilot.training.corpus.recorded.child import ended_by_signals, run_clang
from passpilot.training.corpus.recorded.link_command import LD, LINKER
from passpilot.training.corpus.recorded.recorder import BuildCommand, record_command


class RecordedRun(NamedTuple):
    """A command of clang that is to be recorded."""

    driver: str
    compiler: str
    words: Sequence[str]
    """Clang's name and arguments."""
    added: Sequence[str]
    """The arguments that load the plugin."""
    environment: Mapping[str, str]
    advice: Sequence[str] = ()
    """passpilot's options that change the code."""


def run_recorded(folder: str, run: RecordedRun, command: Command) -> int:
    """Run clang and record what it has made; returns clang's exit code.

    The build goes on if the recording fails: that is a warning.
    """
    with ended_by_signals():
        return _run_recorded(folder, run, command)


def run_linker(argv: Sequence[str]) -> int | None:
    """Run a linker that a build calls itself, and record it; its exit code, or None for other commands.

    `argv` are ``--record=FOLDER``, the linker and its arguments.
    """
    if not LINKER.fullmatch(os.path.basename(argv[1])) or not (linker := shutil.which(argv[1])):
        return None
    run = RecordedRun(LD, linker, [linker, *argv[2:]], (), os.environ)
    return run_recorded(argv[0].partition("=")[2], run, Command(()))


def _run_recorded(folder: str, run: RecordedRun, command: Command) -> int:
    code = run_clang(run.compiler, [run.words[0], *run.added, *run.words[1:]], run.environment)
    is_linker = run.driver == LD
    if code or not (command.makes_machine_code or is_linker):
        return code
    front_end = FrontEnd(run.compiler, os.getcwd(), run.environment)
    built = BuildCommand(run.driver, run.words, command.links or is_linker, WITH_VALUE, run.advice)
    try:
        record_command(folder, front_end, built)
    except Error as error:
        text = for_terminal(
            f"passpilot: warning: {run.driver}: --record: {error}; the command is not recorded"
        )
        print(f"{text}\n", end="", file=sys.stderr)
    return code
