# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads decision logs, passpilot's or MLGO's, as numpy arrays.

In passpilot's logs the last feature is the advice, and the one before it LLVM's own decision
(`inlining_default`, `evict_default`, `priority_default`). The docstring of `stream.py` describes the format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot.features.log.stream import LogStream, read_header
from passpilot.features.spec import by_name
from passpilot.plugin.errors import LogError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from passpilot.features.log.stream import Event
    from passpilot.features.spec import TensorSpec

TEXTS: Final = ("context", "caller", "callee", "location", "register", "registers")
"""The texts that a decision may have besides its tensors."""

_CHUNK: Final = 1024


def read_log(path: str | os.PathLike[str]) -> LogReader:
    """The reader of the decision log at `path`.

    Raises:
        LogError: the file cannot be read, or its header is not that of a decision log.
    """
    return LogReader(path)


class Tensors(Mapping[str, "NDArray[np.generic]"]):
    """The tensors of one decision by name: read-only arrays, created on access."""

    __slots__ = ("_record", "_table")

    def __init__(self, table: _Table, record: bytes) -> None:
        self._table = table
        self._record = record

    def __getitem__(self, name: str) -> NDArray[np.generic]:
        return self._table.tensor(name, self._record)

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.specs)

    def __len__(self) -> int:
        return len(self._table.specs)


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
        self._table: Final = _Table(features)
        self._score_table: Final = _Table((score,) if score else ())

    def __iter__(self) -> Iterator[LoggedDecision]:
        for record in self._records():
            event = record.event
            score = self._score_table.tensor(self.score.name, record.score) if self.score else None
            yield LoggedDecision(
                record.context,
                event.number("observation"),
                event.text("caller"),
                event.text("callee"),
                event.text("location"),
                event.text("register"),
                tuple(event.text("registers").split()),
                Tensors(self._table, record.tensors),
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

        table, wanted = self._chosen(names)
        empty = {name: np.empty(0, table.dtype[name] if name in table.specs else np.str_) for name in wanted}
        batches = [empty, *self.batches(wanted)]
        return {name: np.concatenate([batch[name] for batch in batches]) for name in wanted}

    def batches(self, names: Iterable[str] | None = None) -> Iterator[dict[str, NDArray[np.generic]]]:
        """The same arrays as `to_arrays`, in parts of up to 1024 decisions; holds one part in memory.

        Raises:
            LogError: the log lacks one of the tensors, is truncated, or is malformed.
        """
        import numpy as np

        table, wanted = self._chosen(names)
        records = self._records()
        while chunk := list(islice(records, _CHUNK)):
            rows = np.frombuffer(b"".join([r.tensors + r.score for r in chunk]), table.dtype)
            yield {
                name: rows[name].copy()
                if name in table.specs
                else np.array([r.context if name == "context" else r.event.text(name) for r in chunk])
                for name in wanted
            }

    def _chosen(self, names: Iterable[str] | None) -> tuple[_Table, tuple[str, ...]]:
        """The table with the score, and the names that are wanted of it and of the texts."""
        table = _Table((*self.features, *self._score_table.specs.values()))
        wanted = tuple(table.specs if names is None else dict.fromkeys(names))
        known = dict.fromkeys((*table.specs, *TEXTS))
        if unknown := [name for name in wanted if name not in known]:
            msg = f"log {self.path}: expected names among {', '.join(known)}, got {', '.join(unknown)}"
            raise LogError(msg)
        return table, wanted

    def _records(self) -> Iterator[_Record]:
        context = ""
        with LogStream(self.path) as stream:
            stream.event()
            while event := stream.event():
                if not event.is_observation:
                    context = event.text("context", None)
                    continue
                tensors = stream.block(self._table.nbytes)
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


class _Table:
    """The offsets of the tensors in a packed record."""

    def __init__(self, specs: Iterable[TensorSpec]) -> None:
        import numpy as np

        self.specs = by_name(specs)
        self.dtype = np.dtype([(name, spec.numpy_dtype, spec.shape) for name, spec in self.specs.items()])
        self.nbytes = self.dtype.itemsize
        self._places = {
            name: (spec.numpy_dtype, spec.size, offset, spec.shape)
            for (name, spec), offset in zip(self.specs.items(), self._offsets(), strict=False)
        }

    def tensor(self, name: str, record: bytes) -> NDArray[np.generic]:
        import numpy as np

        dtype, size, offset, shape = self._places[name]
        return np.frombuffer(record, dtype, size, offset).reshape(shape)

    def _offsets(self) -> Iterator[int]:
        return accumulate((spec.nbytes for spec in self.specs.values()), initial=0)
