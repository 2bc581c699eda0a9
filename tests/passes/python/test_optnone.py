# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes in Python on functions that clang -O0 has marked optnone: a warning if they ran on nothing."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import pytest

import passpilot

NONE = "define i32 @f() noinline optnone {\n  ret i32 1\n}\n"
PLAIN = "define i32 @g() {\n  ret i32 1\n}\n"
DECLARED = "declare i32 @h()\n"


@pytest.fixture
def seen(registry: object) -> list[str]:  # noqa: ARG001  (it forgets the passes)
    """The names of the functions that the passes ran on."""
    found: list[str] = []
    for name, required in (("look", False), ("must-look", True)):

        @passpilot.llvm.function_pass(name, required=required)
        @dataclass(frozen=True)
        class Look:
            def run(self, function: passpilot.ir.Function) -> bool:
                found.append(function.name)
                return False

    return found


def test_a_pass_that_ran_on_nothing(seen: list[str]) -> None:
    module = passpilot.Module((NONE + DECLARED).encode())
    told = (
        "pass look: expected functions to run on, got 1 marked optnone, as by clang -O0; compile with "
        "-Xclang -disable-O0-optnone, or register it with required=True"
    )
    with pytest.warns(passpilot.PasspilotWarning, match="^" + told.replace("(", "[(]") + "$"):
        passpilot.optimize(module, "look")
    assert seen == []


@pytest.mark.parametrize(
    ("text", "pipeline", "ran"),
    [(NONE + PLAIN, "look", ["g"]), (NONE, "must-look", ["f"]), (DECLARED, "look", []), (NONE, "verify", [])],
)
def test_no_warning(seen: list[str], text: str, pipeline: str, ran: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        passpilot.optimize(passpilot.Module(text.encode()), pipeline)
    assert seen == ran
