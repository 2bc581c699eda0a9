# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `passpilot eval` compares: reads policies; and its result as a table for the terminal."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from passpilot.cli.cc.best_of import POLICY, VARIANTS, variants_of
from passpilot.cli.cc.options import Options
from passpilot.features.catalogue import HOOKED
from passpilot.plugin.errors import UsageError
from passpilot.plugin.failures import for_terminal
from passpilot.runners.policy.installed import find_bundle
from passpilot.training.evaluation.competitors import Competitor, CompileWay, baseline
from passpilot.training.evaluation.markdown import HEADS, decision_text, mean_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from passpilot.training.evaluation.results import EvaluationResult

PROGRAM: Final = "{program}"
"""Stands for the name of a program."""

_POINT: Final = re.compile(r"([a-z][\w-]*)=(.+)", re.DOTALL)


def competitor(text: str) -> Competitor:
    """The competitor that a policy of the command line stands for.

    Raises:
        UsageError: it is none.
        Error: an option in it is wrong, or a file of it is missing.
    """
    if known := baseline(text):
        return known
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"eval: --policy: expected closed quotes, got {text!r}: {error}") from error
    level = words.pop(0) if words and (reference := baseline(words[0])) else ""
    ways = reference.ways("") if level and reference else [CompileWay()]
    if not words:
        raise UsageError(f"eval: --policy: expected a runner, a decision file or a level, got {text!r}")
    if words[0].startswith("best-of:"):
        best = _best_of(words, ways[0])
        return Competitor(text, "policy", lambda _: best)
    flags = [flag for word in words for flag in _flags(word)]
    if PROGRAM not in text:
        made = _ways(flags, ways[0])
        return Competitor(text, "policy", lambda _: made, _points(flags))
    return Competitor(
        text,
        "policy",
        lambda program: _ways([flag.replace(PROGRAM, program) for flag in flags], ways[0]),
        _points(flags),
    )


def _flags(word: str) -> Iterator[str]:
    """The options of `passpilot cc` for a word of a policy."""
    if word.startswith("-"):
        yield word
    elif word.startswith("@"):
        yield f"--policy={word}"
    elif word.startswith("decisions:"):
        yield f"--decisions={word.removeprefix('decisions:')}"
    elif found := _POINT.fullmatch(word):
        yield f"--{word}" if found[1] in HOOKED else f"--advise={word}"
    else:
        yield f"--inline={word}"


def _points(flags: Sequence[str]) -> tuple[str, ...]:
    """The points at which a policy with these options decides."""
    found = []
    for flag in flags:
        name, _, value = flag.lstrip("-").partition("=")
        if name in HOOKED:
            found.append(name)
        elif name == "decisions":
            found.append("inline")
        elif name == "policy":
            found += [point for point in find_bundle(value).points if point in HOOKED]
        elif name == "advise":
            found.append(value.partition("=")[0])
    return tuple(dict.fromkeys(found))


def _ways(flags: Sequence[str], base: CompileWay) -> list[CompileWay]:
    """The way that options of `passpilot cc` stand for; several for a policy with tries."""
    options = Options("eval", flags)
    if options.rest:
        raise UsageError(f"eval: --policy: expected options of passpilot cc, got {options.rest[0]!r}")
    told = options.environment()
    made = [{**told, POLICY: each} for each in variants_of(options) if each] or [told]
    return [CompileWay(base.level, base.flags, each, plugin=True) for each in made]


def _best_of(words: Sequence[str], base: CompileWay) -> list[CompileWay]:
    count = words[0].removeprefix("best-of:")
    if len(words) > 1 or not count.isdecimal() or not int(count):
        raise UsageError(f"eval: --policy: expected best-of:N, got {' '.join(words)!r}")
    return [
        CompileWay(base.level, base.flags, {POLICY: policy} if policy else {}, plugin=bool(policy))
        for policy in VARIANTS[: int(count)]
    ]


def table_text(result: EvaluationResult) -> str:
    """The means against the first baseline."""
    base = result.baselines[0]
    summary = result.summary(base)
    heads = [f"against {base}", *HEADS.values(), "decisions", "as LLVM"]
    rows = [
        [
            name,
            *mean_texts(summary, name),
            *decision_text(result.programs, name),
        ]
        for name in result.names
        if name != base
    ]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = [
        "  ".join(f"{cell:{'>' if at else '<'}{widths[at]}}" for at, cell in enumerate(row))
        for row in (heads, *rows)
    ]
    count = len(result.programs)
    title = f"{count} program{'s' * (count != 1)}, geometric means with 95 % intervals; smaller is better"
    return "\n".join([title, *(for_terminal(line).rstrip() for line in lines), ""])
