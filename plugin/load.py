# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a user's Python file once, as a module; its decorators register passes, features and runners."""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final

from passpilot.plugin.errors import Error, InputError
from passpilot.plugin.failures import headline
from passpilot.plugin.files import read_regular
from passpilot.plugin.origin import line_in
from passpilot.plugin.process_end import is_interrupt

_LOADED: Final[dict[Path, ModuleType]] = {}
_LOCK: Final = threading.RLock()


def load_file(path: str | os.PathLike[str]) -> ModuleType:
    """The module of the Python file at `path`; the first call runs the file.

    The file's folder is appended to ``sys.path``, so that the file can import its neighbours. No bytecode is
    written.

    Raises:
        InputError: the file is missing or unreadable, or raised an exception; names file and line.
        Error: an error of passpilot's own that the file raised.
    """
    place = Path(os.path.realpath(path))  # Path.resolve raises RuntimeError for links in a circle
    with _LOCK:
        if place not in _LOADED:
            _run(place, str(path))
        return _LOADED[place]


@contextlib.contextmanager
def folder_kept() -> Iterator[None]:
    """Return to the current folder after the block, in which the user's Python may go to another one."""
    folder = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield
    finally:
        if not os.path.samestat(os.fstat(folder), os.stat(".")):
            os.fchdir(folder)
        os.close(folder)


def _run(place: Path, shown: str) -> None:
    source = _read(place, shown)
    name = _free_name(place.stem)
    loader = importlib.machinery.SourceFileLoader(name, str(place))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None, "a loader was given"
    module = importlib.util.module_from_spec(spec)
    if str(place.parent) not in sys.path:
        sys.path.append(str(place.parent))
    _LOADED[place] = sys.modules[name] = module
    try:
        with folder_kept():
            exec(loader.source_to_code(source, str(place)), module.__dict__)
    except BaseException as error:
        del _LOADED[place], sys.modules[name]
        if isinstance(error, Error) or is_interrupt(error):
            raise
        raise _refused(error, place, shown) from error


def _read(place: Path, shown: str) -> bytes:
    try:
        return read_regular(place)
    except OSError as error:
        msg = f"file {shown}: expected a Python file that can be read, got: {error.strerror}"
        raise InputError(msg) from error


def _free_name(stem: str) -> str:
    """A module name that no import statement can name and no other loaded file has."""
    name = wanted = f"passpilot-load:{stem}"
    number = 2
    while name in sys.modules:
        name = f"{wanted}#{number}"
        number += 1
    return name


def _refused(error: BaseException, place: Path, shown: str) -> InputError:
    line = line_in(str(place), error)
    who = f"file {shown}:{line}" if line is not None else f"file {shown}"
    text = headline(error)
    if isinstance(error, SyntaxError):  # its text repeats the place
        text = f"{type(error).__name__}: {error.msg}"
    return InputError(f"{who}: expected Python that runs, got {text}")
