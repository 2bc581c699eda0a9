# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot log`: prints decision logs."""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from passpilot.cli.outputs import quiet_pipe
from passpilot.cli.parser import Parser, record
from passpilot.features.catalogue import HOOKED, LogStyle
from passpilot.features.log.reader import read_log
from passpilot.features.point import find_point
from passpilot.plugin.failures import for_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from passpilot.features.catalogue import Site
    from passpilot.features.log.reader import LoggedDecision

_EXAMPLE = """\
example:
  passpilot opt in.bc -passes='default<Oz>' --inline=random:7 --log decisions.log -o out.bc
  passpilot log show decisions.log --limit 20
"""


@dataclass(frozen=True, slots=True)
class LogOptions:
    """The command line of `passpilot log show`."""

    file: str
    json: bool
    limit: int | None


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code. Ends quietly if the reader of the output goes away.

    Raises:
        LogError: the log cannot be read to its end; the decisions before that have been printed.
    """
    options = record(LogOptions, make_parser().values(argv))
    with quiet_pipe():
        _show(options)
    return 0


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser("passpilot log", description="Print decision logs.", epilog=_EXAMPLE)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    show = commands.add_parser(
        "show",
        help="print one line per decision, and a summary",
        description="Print one line per decision of a log, and a summary.",
        epilog=_EXAMPLE,
    )
    show.add_argument("file", metavar="LOG", help="a decision log of passpilot or of MLGO")
    show.option("json", action="store_true", help="print one JSON object per decision, no summary")
    show.option("limit", type=_count, metavar="N", help="stop after N decisions")
    show.traceback_option()
    return parser


def _count(text: str) -> int:
    if not text.isdecimal():
        msg = f"expected a number of decisions, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


def _show(options: LogOptions) -> None:
    reader = read_log(options.file)
    style = _style_of(reader.features[-1].name)
    decisions = (_Decision(observation, style) for observation in islice(reader, options.limit))
    if options.json:
        for decision in decisions:
            print(decision.to_json())
    else:
        _print_table(decisions, style)


@dataclass(frozen=True, slots=True)
class _Style:
    """How to show the decisions of one point: its tensors, who decides by default, and its style."""

    advice: str
    default: str
    whose: str
    site: Site
    log: LogStyle


def _style_of(advice: str) -> _Style:
    """The style of the point with this advice tensor."""
    for name, row in HOOKED.items():
        point = find_point(name)
        if point.advice.name == advice:
            return _Style(advice, point.default.name, "LLVM", row.site, row.log)
    return _Style(advice, f"{advice}_default", "the pass", "call", LogStyle())  # a pass or another compiler


@dataclass(frozen=True, slots=True)
class _Decision:
    """A logged decision, with its advice and LLVM's default as text."""

    observation: LoggedDecision
    style: _Style

    @property
    def advice(self) -> str:
        return self._shown(self.style.advice)

    @property
    def default(self) -> str:
        return self._shown(self.style.default) if self.style.default in self.observation.tensors else ""

    def __str__(self) -> str:
        width = self.style.log.width
        line = (
            f"{self.observation.index:8} {self.default or '-':{width}} {self.advice:{width}} {self._place()}"
        )
        return for_terminal(line.rstrip())

    def _place(self) -> str:
        seen = self.observation
        if self.style.site == "register":
            return seen.register
        call = f"{seen.caller or '?'} -> {seen.callee or '?'}" if seen.caller or seen.callee else ""
        return f"{call}  {seen.location}"

    def to_json(self) -> str:
        """The whole decision as one JSON object; values that are not finite become null."""
        seen = self.observation
        names = ("register",) if self.style.site == "register" else ("caller", "callee", "location")
        fields: dict[str, object] = {
            "context": seen.context,
            "observation": seen.index,
            **{name: getattr(seen, name) for name in names},
            "tensors": {name: _plain(tensor) for name, tensor in seen.tensors.items()},
        }
        if seen.score is not None:
            fields["score"] = _plain(seen.score)
        return json.dumps(fields, allow_nan=False)

    def _shown(self, name: str) -> str:
        value = _plain(self.observation.tensors[name])
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return self.style.log.words.get(value, str(value)) if isinstance(value, int) else str(value)


def _print_table(decisions: Iterable[_Decision], style: _Style) -> None:
    width = style.log.width
    print(f"decision {'default':{width}} {'advice':{width}} {style.site}")
    advices: Counter[str] = Counter()
    agreed = compared = 0
    context = ""
    for decision in decisions:
        if decision.observation.context != context:
            context = decision.observation.context
            print(f"context {for_terminal(context)}:")
        print(decision)
        advices[decision.advice] += 1
        compared += decision.default != ""
        agreed += decision.default == decision.advice
    print(_summary(style, advices, agreed, compared))


def _summary(style: _Style, advices: Counter[str], agreed: int, compared: int) -> str:
    total = advices.total()
    parts = [f"{total} decision{'s' if total != 1 else ''}"]
    if style.log.done:
        parts.append(f"{total - advices[style.log.idle]} {style.log.done}")
    if compared:
        parts.append(f"{agreed} as {style.whose}'s default ({100 * agreed / compared:.1f} %)")
    return ", ".join(parts)


def _plain(tensor: NDArray[np.generic]) -> object:
    """A tensor as a number or as nested lists; values that are not finite become None."""
    return _finite(tensor.item() if tensor.size == 1 else tensor.tolist())


def _finite(value: object) -> object:
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
