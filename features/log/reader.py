# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""Reads decision logs, passpilot's or MLGO's, as numpy arrays.

The format is lines of JSON with blocks of tensors between them:

    {"features":[{"name":"callee_users","type":"int64_t","port":0,"shape":[1]},...],"score":{...}}\n
    {"context":"..."}\n                                whenever the context changes
    {"observation":0,"caller":"f","callee":"g","location":"a.c:3:7"}\n
    <the tensors in the header's order, packed, in the writer's byte order>\n
    {"outcome":0}\n
    <the score>\n                                      outcome and score only if the header has a score

In passpilot's logs the last feature is the advice, and the one before it LLVM's own decision
(`inlining_default`, `evict_default`, `priority_default`).
passpilot adds `caller`, `callee` and `location` to LLVM's format and leaves out what is unknown. Logs of
register allocation have `"register":"%12"` instead, and the function as context; an eviction also has the
physical registers of its columns, `"registers":"rax rcx"`. MLGO's readers look only at
`observation`. Names in LLVM need not be UTF-8: other bytes are surrogate escapes, in JSON and in what this
reader returns.

Source: llvm/Analysis/Utils/TrainingLogger.h.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, cast

from passpilot.features.spec import TensorSpec, by_name, parse_table
from passpilot.plugin.errors import FeatureError, InputError, LogError
from passpilot.plugin.json_and_toml import parse_json

if TYPE_CHECKING:
    import os

    import numpy as np
    from numpy.typing import NDArray

TEXTS: Final = ("context", "caller", "callee", "location", "register", "registers")
"""The texts that a decision may have besides its tensors."""

_CHUNK: Final = 1024
_LONGEST_LINE: Final = 1 << 24
_OBSERVATION: Final = re.compile(rb'\{"observation": ?\d+[,}]')


def read_log(path: str | os.PathLike[str]) -> LogReader:
    """The reader of the decision log at `path`.

    Raises:
        LogError: the file cannot be read, or its header is not that of a decision log.
    """
    return LogReader(path)


class Tensors(Mapping[str, "NDArray[np.generic]"]):
    """The tensors of one decision by name: read-only arrays, created on access."""

    __slots__ = ("_fields", "_record")

    def __init__(self, fields: Mapping[str, tuple[np.dtype[np.generic], int]], record: bytes) -> None:
        self._fields = fields
        self._record = record

    def __getitem__(self, name: str) -> NDArray[np.generic]:
        import numpy as np

        dtype, offset = self._fields[name]
        return np.ndarray(dtype.shape, dtype.base, self._record, offset)

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


@dataclass(slots=True, eq=False)  # frozen would double the cost of reading
class LoggedDecision:
    """One decision of a log; texts that the log does not have are empty.

    Logs of `inline` have `caller`, `callee` and `location`; logs of `evict` and `priority` have the function
    as `context` and the live range as `register`. `registers` names the physical registers of the columns of
    an eviction.
    """

    context: str
    """The name of what was compiled; for register allocation the function."""
    index: int
    """The number of the decision in its context, from 0."""
    caller: str
    """The name of the calling function."""
    callee: str
    """The name of the called function."""
    location: str
    """The place in the source, as ``file:line:column``."""
    register: str
    """The live range that needed a register."""
    registers: tuple[str, ...]
    """The physical registers of an eviction's columns."""
    tensors: Tensors
    """The features, the default and the advice, by name."""
    score: NDArray[np.generic] | None
    """The reward, in logs that have one."""


class LogReader:
    """A decision log: `features` and `score` from its header; iterating yields the decisions.

    Iterating holds one decision in memory. It raises `LogError`, naming file and offset, where the log is
    truncated or malformed.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Final = Path(path)
        """The file."""
        with LogStream(self.path) as stream:
            features, score = read_header(stream)
        self.features: Final = features
        """The tensors of a decision; the last one is the advice."""
        self.score: Final = score
        """The tensor of the reward; None in a log without rewards."""
        self._dtype: Final = _packed(features)

    def __iter__(self) -> Iterator[LoggedDecision]:
        import numpy as np

        fields = _fields(self._dtype)
        for record in self._records():
            event, spec = record.event, self.score
            score = np.ndarray(spec.shape, spec.numpy_dtype, record.score) if spec else None
            yield LoggedDecision(
                record.context,
                event.number("observation"),
                event.text("caller"),
                event.text("callee"),
                event.text("location"),
                event.text("register"),
                tuple(event.text("registers").split()),
                Tensors(fields, record.tensors),
                score,
            )

    def to_arrays(self, names: Iterable[str] | None = None) -> dict[str, NDArray[np.generic]]:
        """The named tensors of all N decisions as arrays of shape [N, ...]; None means all and the score.

        The names ``context``, ``caller``, ``callee``, ``location``, ``register`` and ``registers`` give
        arrays of texts.

        Raises:
            LogError: the log lacks one of the tensors, is truncated, or is malformed.
        """
        import numpy as np

        dtype, wanted = self._chosen(names)
        empty = {name: np.empty(0, dtype[name] if name in _fields(dtype) else np.str_) for name in wanted}
        batches = [empty, *self.batches(wanted)]
        return {name: np.concatenate([batch[name] for batch in batches]) for name in wanted}

    def batches(self, names: Iterable[str] | None = None) -> Iterator[dict[str, NDArray[np.generic]]]:
        """The same arrays as `to_arrays`, in parts of up to 1024 decisions; holds one part in memory.

        Raises:
            LogError: the log lacks one of the tensors, is truncated, or is malformed.
        """
        import numpy as np

        dtype, wanted = self._chosen(names)
        records, tensors = self._records(), _fields(dtype)
        while chunk := list(islice(records, _CHUNK)):
            rows = np.frombuffer(b"".join([r.tensors + r.score for r in chunk]), dtype)
            yield {
                name: rows[name].copy()
                if name in tensors
                else np.array([r.context if name == "context" else r.event.text(name) for r in chunk])
                for name in wanted
            }

    def _chosen(self, names: Iterable[str] | None) -> tuple[np.dtype[np.void], tuple[str, ...]]:
        """The dtype of a decision with its score, and the names that are wanted of it and of the texts."""
        dtype = _packed((*self.features, self.score) if self.score else self.features)
        wanted = tuple(_fields(dtype) if names is None else dict.fromkeys(names))
        known = dict.fromkeys((*_fields(dtype), *TEXTS))
        if unknown := [name for name in wanted if name not in known]:
            msg = f"log {self.path}: expected names among {', '.join(known)}, got {', '.join(unknown)}"
            raise LogError(msg)
        return dtype, wanted

    def _records(self) -> Iterator[_Record]:
        context = ""
        with LogStream(self.path) as stream:
            stream.event()
            while event := stream.event():
                if not event.is_observation:
                    context = event.text("context", None)
                    continue
                tensors = stream.block(self._dtype.itemsize)
                yield _Record(context, event, tensors, self._read_score(stream, event))

    def _read_score(self, stream: LogStream, event: Event) -> bytes:
        if self.score is None:
            return b""
        outcome = stream.event()
        if outcome is None:
            raise stream.cut()
        if outcome.number("outcome") != event.number("observation"):
            raise outcome.error("the outcome of the observation before it")
        return stream.block(self.score.nbytes)


class _Record(NamedTuple):
    context: str
    event: Event
    tensors: bytes
    score: bytes


def _packed(specs: Iterable[TensorSpec]) -> np.dtype[np.void]:
    """The dtype of a record in which the tensors follow each other without gaps."""
    import numpy as np

    return np.dtype([(spec.name, spec.numpy_dtype, spec.shape) for spec in specs])


def _fields(dtype: np.dtype[np.void]) -> Mapping[str, tuple[np.dtype[np.generic], int]]:
    """Type and offset of each tensor in a record."""
    return cast("Mapping[str, tuple[np.dtype[np.generic], int]]", dtype.fields)


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
            try:
                self._fields = parse_line(self.line)
            except FeatureError as error:
                raise self.error(str(error)) from error
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
        return value

    def error(self, expected: str) -> LogError:
        """An error at this line."""
        return _malformed(self.path, self.offset, expected, repr(self.line[:60]))


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
        fields = parse_json(line.decode("utf-8", "surrogateescape"), "line")
    except InputError as error:
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


_OTHERS: Final = {
    b"BC\xc0\xde": "LLVM bitcode",
    b"\x7fELF": "an ELF file",
    b"!<arch>\n": "an archive",
    b"PK": "a zip file",
}
"""What people take for a log, by its first bytes."""


def _malformed(path: Path, offset: int, expected: str, got: str) -> LogError:
    if offset == 0:
        with path.open("rb") as file:
            start = file.read(8)
        text = "other text" if start.isascii() and start.split() and got.startswith("b'") else got
        got = next((kind for magic, kind in _OTHERS.items() if start.startswith(magic)), text)
    return LogError(f"log {path} at byte {offset}: expected {expected}, got {got}")
