# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A plot of how ratios are distributed, as SVG: a curve rises by one step for each program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from statistics import median
from typing import Final

from bench.pages.dots import COLOURS, legend

LEFT: Final = 60
WIDTH: Final = 620
HEIGHT: Final = 300
STEP: Final = 0.05


@dataclass(frozen=True, slots=True)
class RatioPlane:
    """Where ratios and shares are in the picture.

    Attributes:
        low: the ratio at the left.
        high: that at the right.
        top: where the share of 100 % is.
    """

    low: float
    high: float
    top: float

    def x(self, ratio: float) -> float:
        return round(LEFT + (ratio - self.low) / (self.high - self.low) * WIDTH, 1)

    def y(self, share: float) -> float:
        return round(self.top + (1 - share) * HEIGHT, 1)

    def grid(self) -> Iterator[str]:
        """The lines and their marks; that of a ratio of 1 is dark."""
        for number in range(round((self.high - self.low) / STEP) + 1):
            ratio = self.low + number * STEP
            at, grey = self.x(ratio), "#444" if abs(ratio - 1) < STEP / 2 else "#ddd"
            yield f'<line x1="{at}" x2="{at}" y1="{self.y(1)}" y2="{self.y(0)}" stroke="{grey}"/>'
            yield f'<text x="{at}" y="{self.y(0) + 16}" text-anchor="middle">{ratio:.2f}</text>'
        for number in range(5):
            at = self.y(number / 4)
            yield f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{at}" y2="{at}" stroke="#ddd"/>'
            yield f'<text x="{LEFT - 8}" y="{at + 4}" text-anchor="end">{25 * number} %</text>'

    def curve(self, name: str, ratios: Sequence[float], colour: str) -> str:
        """A line that rises at each of the ratios."""
        points = [(self.low, 0.0)]
        for number, ratio in enumerate(sorted(ratios)):
            points += [(ratio, number / len(ratios)), (ratio, (number + 1) / len(ratios))]
        places = " ".join(f"{self.x(ratio)},{self.y(share)}" for ratio, share in [*points, (self.high, 1)])
        line = f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2">'
        return f"{line}<title>{escape(name)}</title></polyline>"


def distribution(title: str, axis: str, curves: Mapping[str, Sequence[float]]) -> str:
    """The plot: at a ratio stands the share of programs whose ratio is at most that.

    Args:
        title: stands above it.
        axis: what the ratios are.
        curves: the ratios, by the name of a curve.
    """
    every = [ratio for ratios in curves.values() for ratio in ratios]
    names = [f"{name}, median {median(ratios):.3f}" for name, ratios in curves.items()]
    key, below = legend(names, LEFT)
    low, high = int(min(every) / STEP) * STEP, (int(max(*every, 1.0) / STEP) + 1) * STEP
    plane = RatioPlane(low, high, 56 + below)
    lines = [*plane.grid(), *key]
    lines += (plane.curve(*row) for row in zip(curves, curves.values(), COLOURS, strict=False))
    lines.append(
        f'<text x="{LEFT + WIDTH / 2}" y="{plane.y(0) + 36}" text-anchor="middle">{escape(axis)}</text>'
    )
    size = f'width="{LEFT + WIDTH + 30}" height="{plane.y(0) + 48}" role="img"'
    font = 'font-family="sans-serif" font-size="12"'
    body = "\n".join(lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>\n'
        f"<title>{escape(title)}</title>\n"
        f'<rect width="100%" height="100%" fill="#fff"/>\n'
        f'<text x="10" y="18" font-weight="bold">{escape(title)}</text>\n{body}\n</svg>\n'
    )
