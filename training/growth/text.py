# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of `Contents` and `Growth`, for terminals and for job summaries and comments of pull requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from passpilot.training.evaluation.tables import aligned, escaped, table
from passpilot.training.growth.contents import NO_UNIT, Contents, shown
from passpilot.training.growth.growth import Change, Growth, GrowthBudget

MARK: Final = "<!-- passpilot size -->"
"""The first line of a comment, by which a workflow finds it again."""


class SizeTable(NamedTuple):
    """A table, and what stands below it."""

    rows: Sequence[Sequence[str]]
    note: str = ""

    def lines(self) -> list[str]:
        """The block for a terminal."""
        return ["", *(aligned(self.rows) if self.rows else []), *filter(None, [self.note])]

    def markdown(self) -> str:
        """The block as Markdown."""
        if not self.rows:
            return escaped(self.note)
        heads, *rows = ([escaped(cell) for cell in row] for row in self.rows)
        return "\n\n".join([table(heads, rows), *filter(None, [escaped(self.note)])])


FROM_DEBUG: Final = f"{NO_UNIT}: debug information (-g) or a linker map (--map) tells the source files"


def _is_mostly_unknown(contents: Contents) -> bool:
    """Whether no source file is known of most bytes of the symbols."""
    sizes = [(symbol.size, bool(symbol.unit)) for symbol in contents.symbols.values()]
    return sum(size if is_known else -size for size, is_known in sizes) < 0


def content_blocks(contents: Contents, limit: int) -> Iterator[SizeTable]:
    """The largest source files and symbols of a program."""
    sizes = {name: symbol.size for name, symbol in contents.symbols.items() if symbol.size}
    for head, found in (("source file or member", contents.units), ("symbol", sizes)):
        if found:
            rows = sorted(found.items(), key=lambda item: (-item[1], item[0]))
            cells = [
                [_short(shown(name) if found is sizes else name), f"{size:,}"] for name, size in rows[:limit]
            ]
            note = _rest(len(rows), limit)
            if found is contents.units and _is_mostly_unknown(contents):
                note = f"{note}\n{FROM_DEBUG}".strip()
            yield SizeTable([[head, "bytes"], *cells], note)
    if not contents.symbols:
        yield SizeTable([], no_symbols(contents.name))


def no_symbols(name: str) -> str:
    """What is said of a stripped file."""
    return f"{name} has no symbols, so functions are not known; give the file as it is before strip"


def verdict(growth: Growth, budget: GrowthBudget | None) -> str:
    """The growth in one sentence, and whether the budget allows it."""
    before, now = growth.before.allocated, growth.now.allocated
    text = f"{now:,} bytes are loaded, {now - before:+,} ({_percent(before, now)})"
    if budget is None:
        return f"{text}."
    most = f"+{budget.text}" if budget.percent is not None else f"+{budget.bytes:,} bytes"
    return f"{text}: {'within' if budget.allows(growth) else 'OVER'} the budget of {most}."


def size_block(before: Mapping[str, int | None], now: Mapping[str, int | None]) -> SizeTable:
    """The four sizes of a program, before and now."""
    rows = []
    for name, size in now.items():
        old = before.get(name)
        if size is None or old is None:
            rows.append([name, *("-" if one is None else f"{one:,}" for one in (old, size)), "-", "-"])
        else:
            rows.append([name, f"{old:,}", f"{size:,}", f"{size - old:+,}", _percent(old, size)])
    return SizeTable([["size", "before", "now", "change", ""], *rows])


def growth_blocks(growth: Growth, limit: int) -> Iterator[SizeTable]:
    """What changed: sections, source files, symbols."""
    for head, found in (("section", growth.sections()), ("source file or member", growth.units())):
        if found:
            yield SizeTable([[head, "before", "now", "change", ""], *map(_row, found[:limit])],
                        _rest(len(found), limit))  # fmt: skip
    symbols = growth.symbols()
    if symbols:
        rows = [_row(change._replace(name=shown(change.name))) for change in symbols[:limit]]
        yield SizeTable([["symbol", "before", "now", "change", ""], *rows], _rest(len(symbols), limit))
    for side in (growth.before, growth.now):
        if not side.symbols:
            yield SizeTable([], no_symbols(side.name))


def growth_markdown(growth: Growth, sizes: SizeTable, limit: int, budget: GrowthBudget | None) -> str:
    """A comment of a pull request, which is also a job summary: the sizes, and behind a fold what changed."""
    words = escaped(verdict(growth, budget))
    head = f"{MARK}\n### {escaped(growth.now.name)}\n\n{words}\n\n{sizes.markdown()}\n"
    blocks = [block.markdown() for block in growth_blocks(growth, limit)]
    if not blocks:
        return head
    return f"{head}\n<details><summary>What changed</summary>\n\n" + "\n\n".join(blocks) + "\n\n</details>\n"


def _row(change: Change) -> list[str]:
    return [_short(change.name), f"{change.before:,}", f"{change.now:,}", f"{change.bytes:+,}", change.what]


def _short(name: str) -> str:
    """A name that leaves room for numbers beside it."""
    return name if len(name) <= 80 else f"{name[:50]}...{name[-27:]}"


def _percent(before: int, now: int) -> str:
    return f"{(now - before) / before:+.2%}" if before else "new" if now else ""


def _rest(count: int, limit: int) -> str:
    return f"and {count - limit:,} more; --limit=N shows N" if count > limit else ""
