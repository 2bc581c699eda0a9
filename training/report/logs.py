# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The decisions of logs as columns for the page.

A run is what one argument of `passpilot report` names: a log, or a folder of logs. Logs that are named one by
one belong to the same run if they are of the same point and of different modules.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from passpilot.features.catalogue import HOOKED, PASS_POINTS
from passpilot.features.log.reader import read_log
from passpilot.features.log.shown import style_of
from passpilot.features.point import find_point, find_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from passpilot.features.log.reader import LogReader
    from passpilot.features.log.shown import Style
    from passpilot.features.spec import TensorSpec

    Arrays = Mapping[str, NDArray[np.generic]]

_PLACES: Final = {"call": ("context", "caller", "callee", "location"), "register": ("context", "register")}
"""The texts that say what a decision is about."""

_ALIKE: Final = 0.5
"""Two logs are of the same modules if they share this part of their contexts."""

_FEW: Final = 4
"""Tensors with at most so many elements get a column for every element, others one for their mean."""

_DIGITS: Final = 6


class Strings:
    """The texts of a page, each once; 0 is the empty one."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {"": 0}

    def number(self, text: str) -> int:
        """The number of a text."""
        return self.numbers.setdefault(text, len(self.numbers))


@dataclass(slots=True)
class PageColumn:
    """One column of decisions; the values of texts are the numbers of strings."""

    key: str
    kind: str
    """``text``, ``word`` (a text of a few) or ``number``."""
    doc: str = ""
    feature: bool = False
    values: list[float | int | None] = field(default_factory=list)

    def to_json(self) -> dict[str, object]:
        """The column as the page reads it; equal values are written once."""
        alike = len(set(self.values)) == 1 and len(self.values) > 1
        values = {"values": self.values[0], "size": len(self.values)} if alike else {"values": self.values}
        rest = {"doc": self.doc} if self.doc else {}
        return {"key": self.key, "kind": self.kind, **rest, "feature": self.feature, **values}


@dataclass(slots=True)
class RunTally:
    """The decisions of one module of a run."""

    total: int = 0
    done: int = 0
    unlike: int = 0


class LoggedRun:
    """The decisions of one or more logs of the same point.

    Attributes:
        name: how the page calls it.
        point: the decision point; the name of the advice's tensor where the point is not known.
        contexts: the modules of the decisions; for register allocation the functions.
    """

    def __init__(self, name: str, reader: LogReader, strings: Strings) -> None:
        self.name = name
        self.style: Final = style_of(reader.features)
        self.point: Final = _point_of(self.style, reader.features)
        self.contexts: set[str] = set()
        self.total = self.size = 0
        self._docs = _docs_of(self.point)
        self._is_worded = "int" in reader.features[-1].dtype  # others are quantities
        self._strings = strings
        self._columns: dict[str, PageColumn] = {}
        self._tallies: dict[tuple[str, str], RunTally] = {}

    def fits(self, reader: LogReader, contexts: set[str]) -> bool:
        """Whether another log belongs to this run: it has the same tensors, and is of other modules."""
        if style_of(reader.features) != self.style or not contexts:
            return False
        return len(contexts & self.contexts) / len(contexts) < _ALIKE

    def add(self, reader: LogReader, log: str, limit: int, contexts: set[str]) -> None:
        """Add the decisions of a log; the page gets `limit` of them, all are counted.

        Raises:
            LogError: the log is truncated or malformed.
        """
        self.contexts |= contexts
        texts = (*_PLACES[self.style.site], *(["registers"] if self.style.site == "register" else []))
        names = (
            *texts,
            *(spec.name for spec in reader.features),
            *([reader.score.name] if reader.score else []),
        )
        for arrays in reader.batches(names):
            words = list(self._words(arrays))
            self._count(log, arrays, words)
            room = max(0, min(len(words), limit - self.size))
            if room:
                self._keep(log, reader, {name: array[:room] for name, array in arrays.items()}, words[:room])

    def _count(self, log: str, arrays: Arrays, words: Sequence[tuple[str, str]]) -> None:
        self.total += len(words)
        contexts = arrays["context"].tolist() if self.style.site == "call" else [""] * len(words)
        for context, (advice, default) in zip(contexts, words, strict=True):
            tally = self._tallies.setdefault((log, context), RunTally())
            tally.total += 1
            tally.done += bool(self.style.log.idle) and advice != self.style.log.idle
            tally.unlike += bool(default) and advice != default

    def _words(self, arrays: Arrays) -> Iterator[tuple[str, str]]:
        """Advice and default in words: of the style, the names of registers, or numbers."""
        sides = [
            arrays[name].ravel().tolist() if name else None
            for name in (self.style.advice, self.style.default)
        ]
        registers = arrays["registers"].tolist() if "registers" in arrays else [""] * len(sides[0] or ())
        for at, names in enumerate(registers):
            known = names.split()
            advice, default = ("" if side is None else self._word(side[at], known) for side in sides)
            yield advice, default

    def _word(self, value: float, registers: Sequence[str]) -> str:
        number = int(value) if math.isfinite(value) and value == int(value) else None
        if number is None:
            return f"{value:g}"
        if number in self.style.log.words:
            return self.style.log.words[number]
        return registers[number] if 0 <= number < len(registers) else str(number)

    def _keep(self, log: str, reader: LogReader, arrays: Arrays, words: Sequence[tuple[str, str]]) -> None:
        number = self._strings.number
        self._put("log", "text", [number(log)] * len(words))
        for name in _PLACES[self.style.site]:
            self._put(name, "text", [number(text) for text in arrays[name].tolist()])
        for at, (key, tensor) in enumerate((("default", self.style.default), ("advice", self.style.advice))):
            if tensor and self._is_worded:
                self._put(key, "word", [number(pair[1 - at]) for pair in words])
            elif tensor:
                self._put(key, "number", _numbers(arrays[tensor].ravel()))
        if reader.score:
            self._put("score", "number", _numbers(arrays[reader.score.name].reshape(len(words), -1)[:, 0]))
        self._keep_features(reader.features, arrays)
        self.size += len(words)

    def _keep_features(self, features: Sequence[TensorSpec], arrays: Arrays) -> None:
        advice = arrays[self.style.advice].ravel()
        columns = next((spec.size for spec in features if spec.name == "mask"), 0)
        for spec in features:
            if spec.name in (self.style.advice, self.style.default):
                continue
            doc, values = self._docs.get(spec.name, ""), arrays[spec.name].reshape(len(advice), -1)
            if spec.size == 1:
                self._put(spec.name, "number", _numbers(values[:, 0]), doc, feature=True)
            elif spec.size == columns:
                chosen = values[range(len(advice)), advice.astype(int).clip(0, columns - 1)]
                self._put(f"{spec.name}@advice", "number", _numbers(chosen), doc, feature=True)
            elif spec.size <= _FEW:
                for at in range(spec.size):
                    self._put(f"{spec.name}[{at}]", "number", _numbers(values[:, at]), doc, feature=True)
            else:
                mean = values.astype(float).mean(axis=1)
                self._put(f"{spec.name}@mean", "number", _numbers(mean), f"mean of: {doc}", feature=True)

    def _put(
        self, key: str, kind: str, values: list[float | int | None], doc: str = "", *, feature: bool = False
    ) -> None:
        column = self._columns.setdefault(key, PageColumn(key, kind, doc, feature))
        column.values += values

    def to_json(self) -> dict[str, object]:
        """The run as the page reads it."""
        one = len({log for log, _ in self._tallies}) == 1  # which the run is called by
        columns = [
            each
            for key, each in self._columns.items()
            if each.kind != "text" or (any(each.values) and not (one and key == "log"))
        ]
        tallies = [
            {
                "name": " · ".join(filter(None, ("" if one else log, context))),
                "total": each.total,
                "done": each.done,
                "unlike": each.unlike,
            }
            for (log, context), each in self._tallies.items()
        ]
        return {
            "name": self.name,
            "point": self.point,
            "site": self.style.site,
            "whose": self.style.whose,
            "idle": self.style.log.idle,
            "done": self.style.log.done,
            "total": self.total,
            "size": self.size,
            "tallies": tallies,
            "columns": [each.to_json() for each in columns],
        }


def contexts_of(reader: LogReader) -> set[str]:
    """The contexts of a log's decisions.

    Raises:
        LogError: the log is truncated or malformed.
    """
    counts: Counter[str] = Counter()
    for arrays in reader.batches(["context"]):
        counts.update(arrays["context"].tolist())
    return set(counts)


def add_log(runs: list[LoggedRun], path: str, name: str, limit: int, strings: Strings) -> None:
    """Add a log to the first run that it belongs to, or as a run of its own.

    Raises:
        LogError: the file is not a decision log, or is malformed.
    """
    reader = read_log(path)
    contexts = contexts_of(reader)
    found = next((run for run in runs if run.fits(reader, contexts)), None)
    if found is None:
        found = LoggedRun(name, reader, strings)
        runs.append(found)
    found.add(reader, name, limit, contexts)


def _point_of(style: Style, features: Sequence[TensorSpec]) -> str:
    """The point with this advice and most of these features."""
    names = {spec.name for spec in features}
    best, most = style.advice, 0
    for name in (*HOOKED, *PASS_POINTS):
        point = find_point(name)
        common = (
            len(names & {spec.name for spec in point.features}) if point.advice.name == style.advice else 0
        )
        if common > most:
            best, most = name, common
    return best


def _docs_of(point: str) -> dict[str, str]:
    """What the features of a known point mean."""
    if point not in (*HOOKED, *PASS_POINTS):
        return {}
    return {row.spec.name: row.doc for row in find_table(point)}


def _numbers(values: NDArray[np.generic]) -> list[float | int | None]:
    """Values with few digits; None for those that are not finite."""
    plain: list[float | int] = values.tolist()
    return [
        each if isinstance(each, int) else float(f"{each:.{_DIGITS}g}") if math.isfinite(each) else None
        for each in plain
    ]
