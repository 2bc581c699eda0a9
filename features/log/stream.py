# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""Reads the framing of a decision log: lines of JSON with blocks of tensors between them.

    {"features":[{"name":"callee_users","type":"int64_t","port":0,"shape":[1]},...],"score":{...}}\n
    {"context":"..."}\n                                whenever the context changes
    {"observation":0,"caller":"f","callee":"g","location":"a.c:3:7"}\n
    <the tensors in the header's order, packed, in the writer's byte order>\n
    {"outcome":0}\n
    <the score>\n                                      outcome and score only if the header has a score

passpilot adds `caller`, `callee` and `location` to LLVM's format and leaves out what is unknown. Logs of
register allocation have `"register":"%12"` instead, and the function as context; an eviction also has the
physical registers of its columns, `"registers":"rax rcx"`. MLGO's readers look only at
`observation`. Names in LLVM need not be UTF-8, so the writer escapes each byte above ASCII; this reader turns
such escapes back into UTF-8.

Source: llvm/Analysis/Utils/TrainingLogger.h.
"""

from __future__ import annotations

import json
import re
import stat
from typing import TYPE_CHECKING, BinaryIO, Final

from passpilot.features.spec import TensorSpec, by_name, parse_table
from passpilot.plugin.errors import FeatureError, LogError

if TYPE_CHECKING:
    from pathlib import Path

_LONGEST_LINE: Final = 1 << 24
_OBSERVATION: Final = re.compile(rb'\{"observation": ?\d+[,}]')


class Event:
    """One line of JSON, decoded on the first access to a field."""

    __slots__ = ("_fields", "line", "offset", "path")

    def __init__(self, path: Path, offset: int, line: bytes) -> None:
        self.path = path
        self.offset = offset
        self.line = line
        self._fields: dict[str, object] | None = None

    @property
    def is_observation(self) -> bool:
        """Whether a block of tensors follows."""
        return _OBSERVATION.match(self.line) is not None or "observation" in self.fields

    @property
    def fields(self) -> dict[str, object]:
        """The decoded JSON object."""
        if self._fields is None:
            self._fields = self._decoded()
        return self._fields

    def number(self, key: str) -> int:
        """The integer field `key`."""
        value = self.fields.get(key)
        if type(value) is not int:
            raise self.error(f"a line with {key!r} and its number")
        return value

    def text(self, key: str, default: str | None = "") -> str:
        """The text field `key`; with None as `default`, the field is mandatory."""
        value = self.fields.get(key, default)
        if not isinstance(value, str):
            raise self.error(f"a line with {key!r} and its text")
        return value if value.isascii() else _as_utf8(value)

    def error(self, expected: str) -> LogError:
        """An error at this line."""
        return _malformed(self.path, self.offset, expected, repr(self.line[:60]))

    def _decoded(self) -> dict[str, object]:
        try:
            return parse_line(self.line)
        except FeatureError as error:
            raise self.error(str(error)) from error


class LogStream:
    """Reads a log file and tracks the offset for error messages; every short read is an error."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _opened(path)
        self._offset = 0

    def __enter__(self) -> LogStream:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def event(self) -> Event | None:
        """The next line, or None at the end of the file."""
        line = self._file.readline(_LONGEST_LINE)
        if not line:
            return None
        event = Event(self._path, self._offset, line)
        if line[-1:] != b"\n":
            raise event.error("a whole line") if len(line) == _LONGEST_LINE else self.cut(len(line))
        self._offset += len(line)
        return event

    def block(self, nbytes: int) -> bytes:
        """The next `nbytes` bytes, which a newline must follow."""
        block = self._file.read(nbytes)
        end = self._file.read(1)
        if end != b"\n":
            if not end:
                raise self.cut(len(block))
            raise _malformed(self._path, self._offset + nbytes, "a newline after the tensors", repr(end))
        self._offset += nbytes + 1
        return block

    def cut(self, got: int = 0) -> LogError:
        """The error that the file ends `got` bytes after the present offset."""
        where = self._offset + got
        return _malformed(self._path, where, "more of the log", "its end; was the writer interrupted?")


def _opened(path: Path) -> BinaryIO:
    try:
        if stat.S_ISREG(path.stat().st_mode):
            return path.open("rb")
        got = "something else"
    except OSError as error:
        got = error.strerror or str(error)
    raise LogError(f"log {path}: expected a regular file that can be read, got: {got}")


def read_header(stream: LogStream) -> tuple[tuple[TensorSpec, ...], TensorSpec | None]:
    """The features and the score, if any, that the first line declares.

    Raises:
        LogError: the line declares no features, or the file is empty.
    """
    event = stream.event()
    if event is None:
        raise stream.cut()
    if not event.fields.get("features"):
        raise event.error("a header with its features")
    try:
        return parse_specs(event.fields, "score")
    except FeatureError as error:
        raise _malformed(event.path, event.offset, "a header of tensors", str(error)) from error


def parse_line(line: bytes) -> dict[str, object]:
    """The JSON object of a line.

    Raises:
        FeatureError: the line is not a JSON object; its text says what was expected.
    """
    try:
        fields: object = json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError) as error:
        raise FeatureError("a line of JSON") from error
    if not isinstance(fields, dict):
        raise FeatureError("a JSON object")
    return fields


def parse_specs(header: dict[str, object], other: str) -> tuple[tuple[TensorSpec, ...], TensorSpec | None]:
    """The features of a header, and its optional tensor `other`: ``score`` or ``advice``.

    Raises:
        FeatureError: a spec is malformed, two share a name, or they are too large.
    """
    features = header.get("features")
    if not isinstance(features, list) or not features:
        raise FeatureError(f"header: expected a list of features, got {repr(features)[:60]}")
    specs = parse_table(features)
    last = TensorSpec.from_json(header[other]) if other in header else None
    if last is not None:
        by_name((*specs, last))
    return specs, last


def _as_utf8(text: str) -> str:
    """Undoes the writer's escapes of single bytes; other text stays unchanged."""
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text


def _malformed(path: Path, offset: int, expected: str, got: str) -> LogError:
    return LogError(f"log {path} at byte {offset}: expected {expected}, got {got}")
