# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes in Python that tests define on the spot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from passpilot.passes.optimize import optimize
from passpilot.passes.point_advisor import PointAdvisor
from passpilot.passes.python import api as llvm
from passpilot.plugin.ir import Function, Loop
from passpilot.plugin.module import Module

LOOPS: Final = Path(__file__).parents[3] / "lit_tests" / "passes" / "Inputs" / "loops.ll"
LEVELS: Final = ("module", "cgscc", "function", "loop")

Run = Callable[..., object]


def define(level: str, run: Run, name: str = "") -> str:
    """Register a pass that calls `run`; its name."""

    @dataclass(frozen=True)
    class Made:
        limit: int = 3

        def run(self, unit: object) -> object:
            return run(unit)

    name = name or f"test-{level}"
    getattr(llvm, f"{level}_pass")(name)(Made)
    return name


def run_once(level: str, run: Run, module: Module, advisors: Sequence[PointAdvisor] = ()) -> None:
    """Run a pass that calls `run` on the module, and unregister it."""
    name = define(level, run)
    try:
        optimize(module, name, advisors)
    finally:
        llvm.unregister(name)


def label(unit: object) -> str:
    if isinstance(unit, tuple):
        return "+".join(sorted(each.name for each in unit))
    if isinstance(unit, Loop):
        return f"{unit.header.name}"
    return unit.name if isinstance(unit, Function) else "module"


def recorder(seen: list[str]) -> Run:
    def run(unit: object) -> bool:
        seen.append(label(unit))
        return False

    return run


def loops() -> Module:
    return Module.read(LOOPS)


def cold(function: Function) -> bool:
    function.add_attribute("cold")
    return True
