# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The decisions of logs as columns for the page.

A run is what one argument of `passpilot report` names: a log, or a folder of logs. Logs that are named one by
one belong to the same run if they are of the same point and of different modules.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

from passpilot.features.catalogue import HOOKED, PASS_POINTS
from passpilot.features.log.reader import LogReader, read_log
from passpilot.features.log.shown import Style, style_of
from passpilot.features.point import find_point, find_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from passpilot.features.spec import TensorSpec

    Arrays = Mapping[str, NDArray[np.generic]]
    Value = float | int | None

_TEXTS: Final = {
    "call": ("context", "caller", "callee", "location"),
    "register": ("context", "register", "registers"),
}
"""The texts of a decision, by its site."""

_ALIKE: Final = 0.5
"""Two logs are of the same modules if they share this part of their contexts."""

_FEW: Final = 4
"""Tensors with at most so many elements get a column for every element, others one for their mean."""

_DIGITS: Final = 6


class Strings(dict[str, int]):
    """The texts of a page with their numbers; a new text gets the next one. The empty text has 0."""

    def __init__(self) -> None:
        super().__init__({"": 0})

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self)
        return number


@dataclass(slots=True)
class PageColumn:
    """One column of decisions; the values of texts are the numbers of strings."""

    key: str
    kind: str
    """``text``, ``word`` (a text of a few) or ``number``."""
    doc: str = ""
    feature: bool = False
    values: list[Value] = field(default_factory=list)

    def to_json(self) -> dict[str, object]:
        """The column as the page reads it; equal values are written once."""
        alike = len(set(self.values)) == 1 and len(self.values) > 1
        values = {"values": self.values[0], "size": len(self.values)} if alike else {"values": self.values}
        rest = {"doc": self.doc} if self.doc else {}
        return {"key": self.key, "kind": self.kind, **rest, "feature": self.feature, **values}


class PageRun:
    """The decisions of one run, by columns; modules are counted on their own.

    Attributes:
        name: how the page calls it.
        style: how its decisions are shown.
        point: the decision point; the name of the advice's tensor where the point is not known.
        size: the number of decisions in the columns; all are counted.
    """

    has_name_of_log: ClassVar = False
    """Whether the page need not say which log a decision is from if there is only one."""

    def __init__(self, name: str, style: Style, point: str, strings: Strings) -> None:
        self.name = name
        self.style: Final = style
        self.point: Final = point
        self.size = 0
        self._strings = strings
        self._columns: dict[str, PageColumn] = {}
        self._tallies: dict[tuple[str, str], dict[str, int]] = {}

    def count(self, log: str, context: str, advice: str, default: str) -> None:
        """Count a decision of a module, which is a log's context."""
        tally = self._tallies.setdefault((log, context), {"total": 0, "done": 0, "unlike": 0})
        tally["total"] += 1
        tally["done"] += bool(self.style.log.idle) and advice != self.style.log.idle
        tally["unlike"] += bool(default) and advice != default

    def put(
        self, key: str, kind: str, values: Iterable[Value], doc: str = "", *, feature: bool = False
    ) -> None:
        """Add values to a column; those of texts are the numbers of strings."""
        self._columns.setdefault(key, PageColumn(key, kind, doc, feature)).values.extend(values)

    def put_texts(self, key: str, texts: Iterable[str], kind: str = "text") -> None:
        self.put(key, kind, [self._strings[text] for text in texts])

    def to_json(self) -> dict[str, object]:
        one = self.has_name_of_log and len({log for log, _ in self._tallies}) == 1
        return {
            "name": self.name,
            "point": self.point,
            "site": self.style.site,
            "whose": self.style.whose,
            "idle": self.style.log.idle,
            "done": self.style.log.done,
            "total": sum(tally["total"] for tally in self._tallies.values()),
            "size": self.size,
            "tallies": [
                {"name": " · ".join(filter(None, ("" if one else log, context))), **tally}
                for (log, context), tally in self._tallies.items()
            ],
            "columns": [
                column.to_json()
                for key, column in self._columns.items()
                if column.kind != "text" or (any(column.values) and not (one and key == "log"))
            ],
        }


class LoggedRun(PageRun):
    """The decisions of one or more logs of the same point.

    Attributes:
        contexts: the modules of the decisions; for register allocation the functions.
    """

    has_name_of_log = True

    def __init__(self, name: str, reader: LogReader, strings: Strings) -> None:
        style = style_of(reader.features)
        super().__init__(name, style, _point_of(style, reader.features), strings)
        self.contexts: set[str] = set()
        features = find_table(self.point) if self.point in (*HOOKED, *PASS_POINTS) else ()
        self._docs = {feature.spec.name: feature.doc for feature in features}
        self._is_worded = "int" in reader.features[-1].dtype  # others are quantities

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
        scores = [reader.score.name] if reader.score else []
        for arrays in reader.batches(
            (*_TEXTS[self.style.site], *(spec.name for spec in reader.features), *scores)
        ):
            advice, default = (self._words(name, arrays) for name in (self.style.advice, self.style.default))
            modules = arrays["context"].tolist() if self.style.site == "call" else [""] * len(advice)
            for decision in zip(modules, advice, default, strict=True):
                self.count(log, *decision)
            if room := max(0, limit - self.size):
                kept = {name: array[:room] for name, array in arrays.items()}
                self._keep(log, reader, kept, {"default": default[:room], "advice": advice[:room]})

    def _words(self, tensor: str, arrays: Arrays) -> list[str]:
        """Advice or default in words: the style's, registers, or numbers; empty texts without a tensor."""
        if not tensor:
            return [""] * len(arrays["context"])
        values = arrays[tensor].ravel().tolist()
        registers = arrays["registers"].tolist() if "registers" in arrays else [""] * len(values)
        return [self.style.word(value, names.split()) for value, names in zip(values, registers, strict=True)]

    def _keep(self, log: str, reader: LogReader, arrays: Arrays, words: Mapping[str, Sequence[str]]) -> None:
        size = len(words["advice"])
        self.put_texts("log", [log] * size)
        for name in _TEXTS[self.style.site]:
            if name != "registers":
                self.put_texts(name, arrays[name].tolist())
        for key, tensor in (("default", self.style.default), ("advice", self.style.advice)):
            if tensor and self._is_worded:
                self.put_texts(key, words[key], "word")
            elif tensor:
                self.put(key, "number", _numbers(arrays[tensor].ravel()))
        if reader.score:
            self.put("score", "number", _numbers(arrays[reader.score.name].reshape(size, -1)[:, 0]))
        advice = arrays[self.style.advice].ravel()
        choices = next((spec.size for spec in reader.features if spec.name == "mask"), 0)
        for spec in reader.features:
            if spec.name not in (self.style.advice, self.style.default):
                doc = self._docs.get(spec.name, "")
                for suffix, values in _columns_of(arrays[spec.name].reshape(size, -1), advice, choices):
                    own = f"mean of: {doc}" if suffix == "@mean" else doc
                    self.put(spec.name + suffix, "number", _numbers(values), own, feature=True)
        self.size += size


def _columns_of(
    values: NDArray[np.generic], advice: NDArray[np.generic], choices: int
) -> Iterator[tuple[str, NDArray[np.generic]]]:
    """The columns of a tensor, whose elements are `values[decision]`, with the suffixes of their names."""
    size = values.shape[1]
    if size == 1:
        yield "", values[:, 0]
    elif size == choices:
        yield "@advice", values[range(len(advice)), advice.astype(int).clip(0, choices - 1)]
    elif size <= _FEW:
        for at in range(size):
            yield f"[{at}]", values[:, at]
    else:
        yield "@mean", values.astype(float).mean(axis=1)


def add_log(runs: list[LoggedRun], path: str, name: str, limit: int, strings: Strings) -> None:
    """Add a log to the first run that it belongs to, or as a run of its own.

    Raises:
        LogError: the file is not a decision log, or is malformed.
    """
    reader = read_log(path)
    contexts = {context for arrays in reader.batches(["context"]) for context in arrays["context"].tolist()}
    run = next((run for run in runs if run.fits(reader, contexts)), None)
    if run is None:
        run = LoggedRun(name, reader, strings)
        runs.append(run)
    run.add(reader, name, limit, contexts)


def _point_of(style: Style, features: Sequence[TensorSpec]) -> str:
    """The point with this advice and most of these features."""
    names = {spec.name for spec in features}
    points = {name: find_point(name) for name in (*HOOKED, *PASS_POINTS)}
    common = {
        name: len(names & {spec.name for spec in point.features})
        for name, point in points.items()
        if point.advice.name == style.advice
    }
    best = max(common, key=common.__getitem__, default="")
    return best if common.get(best) else style.advice


def _numbers(values: NDArray[np.generic]) -> list[Value]:
    """Values with few digits; None for those that are not finite."""
    plain: list[float | int] = values.tolist()
    return [
        value if isinstance(value, int) else float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
        for value in plain
    ]
