# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Describes an exception on one line, with the place in the user's code; suggests misspelt names."""

from __future__ import annotations

import codecs
import io
import re
import sys
from collections.abc import Iterable

from passpilot.plugin.errors import Error
from passpilot.plugin.origin import error_place

TYPE_CHECKING = False  # type checkers take it as true

_SECRET = re.compile(r"""(?<=[?&]token=)(?!@)[^&\s"']*[^&\s"':;,]""", re.IGNORECASE)

_CALLBACK = re.compile(
    r'Exception raised in callback: Traceback .*File "([^"\n]+)", line (\d+), in .*\n(\S.*?)\s*\Z', re.DOTALL
)
"""What MLIR's bindings make of an exception in a function that `walk` calls: a traceback as text."""

_OF_REPR = re.compile(r"\\udc([89a-f][0-9a-f])")


def headline(error: BaseException) -> str:
    """The exception's type and text on one line."""
    try:
        text = " ".join(str(error).splitlines())
        if isinstance(error, AttributeError) and error.obj is not None and error.name:
            text += did_you_mean(error.name, (name for name in dir(error.obj) if name[0] != "_"), 0.75)
    except Exception as second:  # noqa: BLE001  (a broken __str__ must not hide the error)
        text = f"(its text cannot be read: {type(second).__name__})"
    return printable(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def describe_exception(error: BaseException) -> str:
    """Type, text, and ``file:line`` of the innermost frame of the user's own code, on one line."""
    if type(error) is RuntimeError and (in_callback := _CALLBACK.match(str(error))):
        file, line, text = in_callback.groups()
        return printable(f"{' '.join(text.splitlines())} ({file}:{line})")
    place = error_place(error)
    return f"{headline(error)} ({printable(place)})" if place else headline(error)


def describe_failure(error: BaseException) -> str:
    """The text of an error that passpilot raised; for other exceptions, type, text and place."""
    own = isinstance(error, Error) and not error_place(error, own_only=True)
    return printable(str(error)) if own else describe_exception(error)


def did_you_mean(name: str, known: Iterable[str], close: float = 0.6) -> str:
    """``; did you mean 'opt'?``, or nothing if no known name is close."""
    from difflib import get_close_matches  # only errors need it

    found = get_close_matches(name, list(known), 1, close)
    return f"; did you mean '{found[0]}'?" if found else ""


def shown(text: str) -> str:
    """The text without the tokens of the runner specs in it."""
    return _SECRET.sub("...", text)


def for_terminal(text: str) -> str:
    """The text for people: without tokens, with escapes such as ``\\x1b`` for what a terminal could obey."""
    text = _OF_REPR.sub(r"\\x\1", shown(text))
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape(c) for c in text)


def printable(text: str) -> str:
    """The text with escapes such as ``\\xff`` for bytes that are not UTF-8, also those that `repr` shows."""
    return _OF_REPR.sub(r"\\x\1", "".join(_escape(c) if "\ud800" <= c <= "\udfff" else c for c in text))


def utf8(text: str) -> bytes:
    """The text in UTF-8. Bytes that were not UTF-8 stay as they were; other surrogates become escapes."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


def decoded(text: bytes | bytearray) -> str:
    """The text, with surrogate escapes for bytes that are not UTF-8."""
    return text.decode("utf-8", "surrogateescape")


def _escape(character: str) -> str:
    """An escape of Python; that of the byte for one that is not UTF-8."""
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode()


def guard_names() -> None:
    """Let names that are not UTF-8 go to standard output as they are, and to standard error with escapes."""
    codecs.register_error("passpilot", _escaped)
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "passpilot")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    return printable(text).encode("ascii", "backslashreplace").decode(), error.end
