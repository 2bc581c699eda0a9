# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Logged decisions as text: one line each, rows of CSV, JSON, and the totals of a log."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from passpilot.features.catalogue import HOOKED, LogStyle
from passpilot.features.point import find_point
from passpilot.plugin.failures import for_terminal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from passpilot.features.catalogue import Site
    from passpilot.features.log.reader import LoggedDecision
    from passpilot.features.spec import TensorSpec

_TEXTS = {"call": ("caller", "callee", "location"), "register": ("register",)}


@dataclass(frozen=True, slots=True)
class Style:
    """How to show the decisions of one point: its tensors, who decides by default, and its style."""

    advice: str
    default: str
    """The tensor of the default decision; empty if the log has none."""
    whose: str
    site: Site
    log: LogStyle

    @property
    def heading(self) -> str:
        """The line above the decisions."""
        width = self.log.width
        where = "place" if self.whose == "the pass" and not self.log.words else self.site
        return f"decision {'default':{width}} {'advice':{width}} {where}"

    def word(self, value: object, registers: Sequence[str]) -> str:
        """A decision in words: the point's, the name of a register, or the value itself."""
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int):
            return str(value)
        if value in self.log.words:
            return self.log.words[value]
        return registers[value] if 0 <= value < len(registers) else str(value)


def style_of(features: Sequence[TensorSpec]) -> Style:
    """The style of a log with these features: the last is the advice, the one before it the default."""
    advice = features[-1].name
    before = features[-2].name if len(features) > 1 else ""
    default = before if before.endswith("_default") else ""
    for name, row in HOOKED.items():
        point = find_point(name)
        if point.advice.name == advice:  # MLIR's inliner has LLVM's advice, but its own default
            whose = "LLVM" if default in ("", point.default.name) else "the pass"
            return Style(advice, default, whose, row.site, row.log)
    return Style(advice, default, "the pass", "call", LogStyle())  # a pass or another compiler


@dataclass(frozen=True, slots=True)
class ShownDecision:
    """A logged decision, with its advice and the default decision as text."""

    observation: LoggedDecision
    style: Style

    @property
    def advice(self) -> str:
        """The advice in the words of the style; for an eviction, the register."""
        return self._worded(self.style.advice)

    @property
    def default(self) -> str:
        """The default decision in the same words; empty if the log has none."""
        return self._worded(self.style.default) if self.style.default else ""

    def __str__(self) -> str:
        width = self.style.log.width
        line = f"{self.observation.index:8} {self.default or '-':{width}} {self.advice:{width}} {self.place}"
        return for_terminal(line.rstrip())

    @property
    def place(self) -> str:
        """The call or the live range."""
        seen = self.observation
        if self.style.site == "register":
            return seen.register
        call = f"{seen.caller or '?'} -> {seen.callee or '?'}" if seen.caller or seen.callee else ""
        return f"{call}  {seen.location}".strip()

    def to_json(self, log: str = "") -> str:
        """The whole decision as one JSON object; values that are not finite become null."""
        seen = self.observation
        fields: dict[str, object] = {
            **({"log": log} if log else {}),
            "context": seen.context,
            "observation": seen.index,
            **{name: getattr(seen, name) for name in _TEXTS[self.style.site]},
            **({"registers": list(seen.registers)} if seen.registers else {}),
            "tensors": {name: _plain(tensor) for name, tensor in seen.tensors.items()},
        }
        if seen.score is not None:
            fields["score"] = _plain(seen.score)
        return json.dumps(fields, allow_nan=False)

    def cells(self) -> Iterator[object]:
        """The cells of a row of CSV, under `columns`."""
        seen = self.observation
        yield from (for_terminal(seen.context), seen.index)
        yield from (for_terminal(getattr(seen, name)) for name in _TEXTS[self.style.site])
        for tensor in seen.tensors.values():
            yield from tensor.ravel().tolist()
        if seen.score is not None:
            yield from seen.score.ravel().tolist()

    def _worded(self, name: str) -> str:
        return self.style.word(_plain(self.observation.tensors[name]), self.observation.registers)


def columns(style: Style, features: Sequence[TensorSpec]) -> list[str]:
    """The heads of a log's columns in CSV; an element of a larger tensor is ``mask[3]``."""
    names = ["context", "observation", *_TEXTS[style.site]]
    for spec in features:
        names += [spec.name] if spec.size == 1 else [f"{spec.name}[{index}]" for index in range(spec.size)]
    return names


@dataclass(slots=True)
class Totals:
    """Counts the decisions of a log, or of several logs of one point."""

    style: Style
    advices: Counter[str] = field(default_factory=Counter)
    agreed: int = 0
    compared: int = 0

    def add(self, decision: ShownDecision) -> None:
        advice, default = decision.advice, decision.default
        self.advices[advice] += 1
        self.compared += default != ""
        self.agreed += default == advice

    def add_all(self, other: Totals) -> None:
        """Count the decisions of another log."""
        self.advices += other.advices
        self.compared += other.compared
        self.agreed += other.agreed

    def __str__(self) -> str:
        total, log = self.advices.total(), self.style.log
        parts = [f"{total} decision{'s' if total != 1 else ''}"]
        if log.done:
            parts.append(f"{total - self.advices[log.idle]} {log.done}")
        if self.compared:
            share = 100 * self.agreed / self.compared
            parts.append(f"{self.agreed} as {self.style.whose}'s default ({share:.1f} %)")
        return ", ".join(parts)


def _plain(tensor: NDArray[np.generic]) -> object:
    """A tensor as a number or as nested lists; values that are not finite become None."""
    return _finite(tensor.item() if tensor.size == 1 else tensor.tolist())


def _finite(value: object) -> object:
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
