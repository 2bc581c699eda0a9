# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the user's code on the stack and in tracebacks: the origin of a definition, a warning or an error."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from types import FrameType
from typing import Final

from passpilot.plugin.errors import PasspilotWarning

_HOUSE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OURS: Final = tuple(
    f"{_HOUSE}/{layer}/" for layer in ("plugin", "features", "runners", "passes", "training", "cli")
)


def is_ours(file: str) -> bool:
    """Whether a file of Python is passpilot's own."""
    return file.startswith(_OURS)


def definition_origin(*through: str) -> str:
    """``file:line`` of the call into the calling module: the place where the user defines something.

    Calls from the modules `through` are skipped, because they pass on definitions of their callers.
    """
    here = sys._getframe(1)
    skipped = {here.f_globals["__name__"], "typing", *through}
    frame: FrameType | None = here
    while frame is not None and frame.f_globals.get("__name__") in skipped:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else ""


def warn_user(text: str) -> None:
    """Warn with the place of the innermost caller outside passpilot."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, PasspilotWarning, stacklevel=level)


def error_place(error: BaseException, *, own_only: bool = False) -> str:
    """``file:line`` of the innermost frame of the user's own code; empty if there is none.

    Unless `own_only` is true, a frame of Python or of an installed package counts if there is no other.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return "" if f"line {error.lineno})" in str(error) else f"{error.filename}:{error.lineno}"
    places = [place for place in _places(error) if not place[0].startswith(_OURS)]
    own = [place for place in places if not place[0].startswith(_libraries())]
    file, line = (own or ([] if own_only else places) or [("", 0)])[-1]
    return f"{file}:{line}" if file else ""


def line_in(file: str, error: BaseException) -> int | None:
    """The line of `file` where the error was raised, or where its syntax is wrong."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    return next((line for name, line in reversed(list(_places(error))) if name == file), None)


@cache
def _libraries() -> tuple[str, ...]:
    """The folders of Python's own modules and of installed packages."""
    import sysconfig  # only errors need it

    folders = {f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return ("<frozen ", *folders, f"{os.path.normpath(sys.prefix)}/lib/")


def _places(error: BaseException) -> Iterator[tuple[str, int]]:
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next
