# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is evaluated: the baselines, and policies; each is one or more ways to compile a unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from passpilot.plugin.errors import InputError
from passpilot.plugin.toolchain import LEVELS

Kind = Literal["baseline", "policy"]

OUTLINER: Final = ("-mllvm", "-enable-machine-outliner=always", "-mllvm", "-enable-linkonceodr-outlining")

LEVEL: Final = "Oz"
"""The level of policies that do not name one."""


@dataclass(frozen=True, slots=True)
class CompileWay:
    """One way to compile a unit."""

    level: str = LEVEL
    flags: tuple[str, ...] = ()
    """More arguments of ``clang -cc1``."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What the plugin reads."""
    plugin: bool = False
    """Whether clang loads the plugin."""


@dataclass(frozen=True, slots=True)
class Competitor:
    """A baseline or a policy."""

    name: str
    kind: Kind
    ways: Callable[[str], Sequence[CompileWay]]
    """The ways to compile the units of a program, by its name; of several, the smallest object is taken."""
    points: tuple[str, ...] = ()
    """The decision points whose decisions are counted."""


def baseline(name: str) -> Competitor | None:
    """The baseline of this name, such as ``-Oz`` or ``-Oz+outline``; None if there is none.

    The first dash may be left out.
    """
    level, plus, feature = name.removeprefix("-").partition("+")
    if level not in LEVELS[1:] or (plus and feature != "outline"):
        return None
    way = CompileWay(level, OUTLINER if feature else ())
    return Competitor(f"-{level}{plus}{feature}", "baseline", lambda _: [way])


BASELINES: Final = ("-Oz", "-Os", "-O2", "-Oz+outline")
"""The baselines unless others are chosen; the first one is the reference."""


def check_names(competitors: Sequence[Competitor]) -> None:
    """Make sure that no two have the same name.

    Raises:
        InputError: two have.
    """
    seen: set[str] = set()
    for competitor in competitors:
        if competitor.name in seen:
            raise InputError(f"eval: expected different policies, got {competitor.name!r} twice")
        seen.add(competitor.name)
