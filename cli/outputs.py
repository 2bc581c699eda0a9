# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints reports and warnings of commands, and checks that no two outputs are the same file."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from passpilot.plugin.errors import InputError, PasspilotWarning, UsageError
from passpilot.plugin.failures import for_terminal

if TYPE_CHECKING:
    from passpilot.cli.advice import Advice
    from passpilot.passes.advisor import Advisor


@contextlib.contextmanager
def quiet_pipe() -> Iterator[None]:
    """Let the block print to standard output; end it quietly if the reader, such as `head`, goes away."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes again at its exit; the rest must go somewhere.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def say(*lines: str) -> None:
    """Print lines to standard error, with the name of the program before them."""
    for line in lines:
        print(f"passpilot: {for_terminal(line)}\n", end="", file=sys.stderr)


def prepare() -> None:
    """Set up the process for a command that compiles."""
    # numpy's BLAS would start threads that have nothing to do here.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    warnings.showwarning = _print_warning
    warnings.simplefilter("always", PasspilotWarning)


def check_outputs(advice: Advice, *outputs: tuple[str, str | None], remarks: str = "") -> None:
    """Make sure that the outputs, the logs and the remarks are different files; an output is (flag, path)."""
    owners: dict[str, str] = {}
    logs = [("--log", log) for log in advice.logs.values()]
    for flag, path in (*outputs, *logs, ("-pass-remarks-output", remarks)):
        if not path or (path != "-" and os.path.exists(path) and not os.path.isfile(path)):
            continue
        place = path if path == "-" else os.path.realpath(path)
        if place in owners:
            got = f"{path}, which {owners[place]} writes"
            raise UsageError(f"{advice.command}: {flag}: expected a file of its own, got {got}")
        owners[place] = flag


def check_made(
    command: str, path: str, *, force: bool, marks: Sequence[str] = ("",), resume: str = ""
) -> None:
    """Refuse an output that is there and took long to make; `marks` are the files that tell it.

    What a compiler makes in seconds is replaced without a question, as compilers do.
    """
    if not force and any(os.path.isfile(os.path.join(path, mark) if mark else path) for mark in marks):
        others = f"{resume} to go on, --force to replace it" if resume else "--force to replace it"
        raise InputError(f"{command}: -o: expected a new output, got {path}, which exists; give {others}")


@contextlib.contextmanager
def new_folder(command: str, path: str, *, force: bool, marks: Sequence[str]) -> Iterator[None]:
    """Let the block make a folder; with `force` it takes the place of an earlier one that has `marks`.

    The earlier one comes back if the block fails.
    """
    try:
        there = os.listdir(path)
    except FileNotFoundError:
        there = []
    except OSError as error:
        raise InputError(f"{command}: -o: expected a new folder, got {path}: {error.strerror}") from error
    if not there:
        yield
        return
    if not any(os.path.exists(os.path.join(path, mark)) for mark in marks):
        raise InputError(
            f"{command}: -o: expected a new folder, got {path}, which has other files; choose another"
        )
    check_made(command, path, force=force, marks=marks)
    import shutil

    path = path.rstrip("/")
    earlier = f"{path}.before-{os.getpid()}"
    try:
        if os.path.islink(path):
            raise NotADirectoryError(errno.ENOTDIR, "it is a symbolic link")
        os.rename(path, earlier)
    except OSError as error:
        raise InputError(
            f"{command}: -o: expected a folder that can be replaced, got {path}: {error.strerror}"
        ) from error
    try:
        yield
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        os.rename(earlier, path)
        raise
    shutil.rmtree(earlier)


def refuses_terminal(output: str, what: str, instead: str) -> bool:
    """Whether `output` is a terminal, to which no binary is written; warns if so."""
    if output != "-" or not sys.stdout.isatty():
        return False
    msg = f"expected a file or pipe for {what}, got a terminal; use {instead}"
    warnings.warn(msg, PasspilotWarning, stacklevel=2)
    return True


def print_version() -> None:
    """Print what --version asks for."""
    from passpilot.cli.main import version

    print(version())


def print_reports(advisors: Sequence[Advisor]) -> None:
    """Print what --stats asks for."""
    from passpilot.plugin import _core

    for advisor in advisors:
        print(advisor.report(), file=sys.stderr)
    print(_core.statistics(), end="", file=sys.stderr)


def _print_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,  # noqa: ARG001
    lineno: int,  # noqa: ARG001
    file: object = None,  # noqa: ARG001
    line: str | None = None,  # noqa: ARG001
) -> None:
    kind = "" if issubclass(category, PasspilotWarning) else f"{category.__name__}: "
    print(f"passpilot: warning: {kind}{for_terminal(str(message))}", file=sys.stderr)
