# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`waterfall_picture`: from the recorded build down to the end, as SVG."""

from __future__ import annotations

from html import escape
from typing import Final

from passpilot.runners.plurals import size_change
from passpilot.training.ladder.ladder import LadderResult, LadderRow, size_ratio
from passpilot.training.ladder.tables import step_ratio, verdict

LEFT: Final = 150
WIDTH: Final = 440
RIGHT: Final = 430
ROW: Final = 28
TOP: Final = 56
REST: Final = "#c9ced6"
FREE: Final = "#2c8a4b"
PAID: Final = "#c2571a"
SOFT: Final = "#666"
"""Readable on white, which the picture brings along for dark pages."""


def waterfall_picture(result: LadderResult) -> str:
    """The levers that are taken, from the top; then those that wait for `--allow`, in outline."""
    start, end = (sizes.of(result.reward) for sizes in (result.start, result.end))
    lines = _key(waiting=bool(result.waiting))
    lines += _row(0, "as it is", 1, 1, REST, f"{start:,} bytes")
    before, whole = start, size_ratio(end, start)
    for place, row in enumerate(result.taken, 1):
        size = row.on_top.of(result.reward) if row.on_top else before
        colour, text = PAID if row.group else FREE, f"{size_change(size_ratio(size, before), 1)}  {row.loses}"
        lines += _row(place, row.lever, size_ratio(size, start), size_ratio(before, start), colour, text)
        before = size
    place = len(result.taken) + 1
    lines += _row(place, "all of these", whole, whole, REST, f"{end:,} bytes, {size_change(whole, 1)}")
    for row in result.waiting:
        place += 1
        lines += _waiting(place, row, whole, step_ratio(row, result.taken, result.reward))
    title = f"{result.program}: {result.reward} bytes by lever"
    area = f'width="{LEFT + WIDTH + RIGHT}" height="{TOP + ROW * (place + 1) + 6}"'
    font = 'font-family="sans-serif" font-size="12"'
    body = "\n".join(lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {area} role="img" {font}>\n'
        f'<title>{escape(title)}</title>\n<rect width="100%" height="100%" fill="#fff"/>\n'
        f'<text x="10" y="18" font-weight="bold">{escape(title)}</text>\n{body}\n</svg>\n'
    )


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y}" {more}>{escape(text.strip())}</text>'


def _box(x: float, y: float, width: float, fill: str, more: str = "") -> str:
    return f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 8}" fill="{fill}" {more}/>'


_DASHED: Final = f'stroke="{PAID}" stroke-dasharray="3 2"'


def _key(*, waiting: bool) -> list[str]:
    """What the colours mean."""
    words = [("what is left", REST, ""), ("costs nothing", FREE, ""), ("something is lost", PAID, "")]
    lines, at = [], LEFT
    for text, fill, more in [*words, *[("not allowed", "none", _DASHED)] * waiting]:
        lines.append(f'<rect x="{at}" y="30" width="12" height="12" fill="{fill}" {more}/>')
        lines.append(_text(at + 18, 40, text))
        at += 34 + 7 * len(text)
    return lines


def _row(place: int, name: str, size: float, before: float, colour: str, text: str) -> list[str]:
    """What is left of the start, and what the lever took, in its colour."""
    y = TOP + ROW * place
    return [
        _text(LEFT - 10, y + 15, name, 'text-anchor="end"'),
        _box(LEFT, y, WIDTH * size, REST),
        _box(LEFT + WIDTH * size, y, max(WIDTH * (before - size), before > size), colour),
        _text(LEFT + WIDTH * before + 8, y + 15, text),
    ]


def _waiting(place: int, row: LadderRow, end: float, ratio: float) -> list[str]:
    """What a lever that is not allowed would take from the end."""
    y, right, took = TOP + ROW * place, LEFT + WIDTH * end, WIDTH * end * (1 - ratio)
    return [
        _text(LEFT - 10, y + 15, row.lever, f'text-anchor="end" fill="{SOFT}"'),
        _box(right - took, y, max(took, 1), "none", _DASHED),
        _text(right + 8, y + 15, f"{size_change(ratio, 1)} with {verdict(row)}", f'fill="{SOFT}"'),
    ]
