# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`inlined_calls`: what was inlined into which function, by the decision logs of a build."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from passpilot.plugin.errors import InputError
from passpilot.plugin.files import files_below
from passpilot.training.growth.contents import shown

InlinedCalls = Mapping[str, Mapping[str, int]]
"""How many calls of a callee were inlined, by caller and callee."""


def inlined_calls(folder: str) -> InlinedCalls:
    """Read the logs in a folder, which ``passpilot cc --inline=default --log=FOLDER/`` has written.

    Raises:
        InputError: the folder has no log of the inliner.
        LogError: a log cannot be read.
    """
    from passpilot.features.log.reader import read_log  # other reports read no log
    from passpilot.features.point import find_point

    advice = find_point("inline").advice.name
    found: dict[str, Counter[str]] = {}
    logs = 0
    for path in files_below(folder, ".log"):
        log = read_log(str(path))
        if log.features[-1].name != advice:
            continue
        logs += 1
        for batch in log.batches(("caller", "callee", advice)):
            for caller, callee, inlines in zip(
                batch["caller"], batch["callee"], batch[advice].ravel(), strict=True
            ):
                if inlines:
                    found.setdefault(str(caller), Counter())[str(callee)] += 1
    if not logs:
        raise InputError(
            f"{folder}: expected logs of the inliner, got none; build with "
            f"`passpilot cc --inline=default --log={folder}/`"
        )
    return found


def newly_inlined(symbol: str, before: InlinedCalls, now: InlinedCalls) -> str:
    """What a function inlines more than before, in words; empty if that is nothing."""
    name = _function(symbol)
    earlier = before.get(name, {})
    more = {callee: count - earlier.get(callee, 0) for callee, count in now.get(name, {}).items()}
    return ", ".join(_calls(more))


def _function(symbol: str) -> str:
    """The name in logs; the symbol of a local function has its source file before it."""
    return symbol.rpartition(":")[2]


def _calls(more: Mapping[str, int]) -> Iterator[str]:
    for callee, count in sorted(more.items(), key=lambda item: (-item[1], item[0])):
        if count > 0:
            yield shown(callee) if count == 1 else f"{shown(callee)} ({count} calls)"


def inliners(calls: InlinedCalls) -> Mapping[str, Sequence[str]]:
    """The functions into which a function was inlined, by its name."""
    found: dict[str, list[str]] = {}
    for caller, callees in calls.items():
        for callee in callees:
            found.setdefault(callee, []).append(caller)
    return found


def inlined_into(symbol: str, places: Mapping[str, Sequence[str]]) -> str:
    """The functions of `inliners` into which a function was inlined, in words; empty if there is none."""
    return ", ".join(sorted(map(shown, places.get(_function(symbol), ()))))
