# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Growth`: what grew from one build to the next, and `GrowthBudget`: how much it may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from passpilot.plugin.errors import UsageError
from passpilot.plugin.numbers import finite_number, whole_number
from passpilot.training.growth.contents import Contents, SymbolSize, shown
from passpilot.training.growth.inlined import inlined_into, inliners, newly_inlined


class Change(NamedTuple):
    """A section, a source file or a symbol, with its bytes before and now."""

    name: str
    before: int
    now: int
    what: str
    """``grew``, ``shrank``, ``new``, ``gone``, ``moved to SECTION``, or ``folded into NAME``."""

    @property
    def bytes(self) -> int:
        """The bytes that came."""
        return self.now - self.before


class GrowthBudget(NamedTuple):
    """How much a program may grow: bytes, or a percentage of what it was."""

    text: str
    bytes: int | None
    percent: float | None

    @classmethod
    def parse(cls, text: str) -> GrowthBudget:
        """Read ``0.5%`` or ``2048``.

        Raises:
            UsageError: the text is neither.
        """
        count = whole_number(text)
        percent = finite_number(text[:-1]) if text.endswith("%") else None
        if count is None and (percent is None or percent < 0):
            raise UsageError(f"size: --fail-over: expected bytes or a percentage, such as 0.5%, got {text!r}")
        return cls(text, count, percent)

    def allows(self, growth: Growth) -> bool:
        """Whether the growth is within the budget."""
        before = growth.before.allocated
        most = before * self.percent / 100 if self.percent is not None else self.bytes or 0
        return growth.now.allocated - before <= most


@dataclass(frozen=True, slots=True)
class Growth:
    """Two builds of a program."""

    before: Contents
    now: Contents

    def sections(self) -> list[Change]:
        """The sections that changed, the largest change first."""
        return _changes(self.before.sections, self.now.sections)

    def units(self) -> list[Change]:
        """The source files or objects that changed, the largest change first."""
        return _changes(self.before.units, self.now.units)

    def symbols(self) -> list[Change]:
        """The functions and variables that changed, the largest change first.

        Nothing if one of the two builds has no symbols: all would be new or gone.
        """
        old, new = self.before.symbols, self.now.symbols
        if not old or not new:
            return []
        sizes = [{name: symbol.size for name, symbol in side.items()} for side in (old, new)]
        places = inliners(self.now.inlined)
        found = [
            change._replace(
                what=_what(change, old.get(change.name), new.get(change.name)) + self._why(change, places)
            )
            for change in _changes(*sizes)
        ]
        known = {change.name for change in found}
        for name in sorted(old.keys() & new.keys() - known):
            was, now = old[name], new[name]
            change = Change(name, was.size, now.size, "")
            what = _what(change, was, now)
            if what:
                found.append(change._replace(what=what))
        return found

    def _why(self, change: Change, places: Mapping[str, Sequence[str]]) -> str:
        """What inlining has to do with a change, as far as logs say it."""
        if change.what in ("grew", "new"):
            more = newly_inlined(change.name, self.before.inlined, self.now.inlined)
            return f"; inlines {more}" if more else ""
        into = inlined_into(change.name, places) if change.what == "gone" else ""
        return f"; inlined into {into}" if into else ""

    def to_json(self) -> dict[str, object]:
        """All changes."""
        return {
            "name": self.now.name,
            "before": self.before.allocated,
            "now": self.now.allocated,
            **{kind: [change._asdict() for change in found]
               for kind, found in (("sections", self.sections()), ("units", self.units()),
                                   ("symbols", self.symbols()))},
        }  # fmt: skip


def _what(change: Change, was: SymbolSize | None, now: SymbolSize | None) -> str:
    """What happened to a symbol."""
    if was and now:
        if now.folded and not was.folded:
            return f"folded into {shown(now.folded)}"
        if was.section != now.section:
            return f"moved to {now.section}"
    return change.what


def _changes(old: Mapping[str, int], new: Mapping[str, int]) -> list[Change]:
    found = []
    for name in old.keys() | new.keys():
        before, now = old.get(name, 0), new.get(name, 0)
        if before != now:
            known = "shrank" if now < before else "grew"
            what = "new" if name not in old else "gone" if name not in new else known
            found.append(Change(name, before, now, what))
    return sorted(found, key=lambda change: (-abs(change.bytes), change.name))
