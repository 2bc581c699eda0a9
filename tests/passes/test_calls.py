# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`optimize` and `emit` called as people call them at first: what is accepted, and what the others say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from llvmlite import ir

import passpilot
from passpilot.errors import InputError
from tests.command import CALLS, program

O2: Final = "default<O2>"


def never(_: passpilot.Observation) -> bool:
    return False


class Never:
    """A policy that is an object."""

    def decide(self, _: passpilot.Observation) -> bool:
        return False


def module(text: str = program()) -> passpilot.Module:
    return passpilot.Module.read(text.encode(), name="in.ll")


def calls_left(made: passpilot.Module) -> int:
    return str(made).count("call i32 @callee")


@pytest.mark.parametrize(
    "advisors",
    [
        lambda: [never],
        lambda: never,
        lambda: (Never,),
        Never,
        lambda: ["const:0"],
        lambda: "const:0",
        lambda: passpilot.InlineAdvisor(never),
        lambda: {passpilot.InlineAdvisor("const:0")},
    ],
    ids=["functions", "function", "classes", "object", "specs", "spec", "advisor", "set"],
)
def test_what_advises_the_inliner(advisors: Callable[[], object]) -> None:
    made = module()
    passpilot.optimize(made, O2, advisors())  # type: ignore[arg-type]
    assert calls_left(made) == CALLS


def test_a_runner_advises_the_inliner_and_is_closed() -> None:
    closed: list[str] = []

    class Policy(Never):
        def close(self) -> None:
            closed.append("closed")

    made = module()
    passpilot.optimize(made, O2, Policy())
    assert (calls_left(made), closed) == (CALLS, ["closed"])
    made = module()
    passpilot.optimize(made, O2, [passpilot.make_runner("const:0", passpilot.find_point("inline"))])
    assert calls_left(made) == CALLS


@pytest.mark.parametrize(("pipeline", "more"), [("no-such-pass", []), (O2, [3]), (O2, ["const:7"])])
def test_a_policy_is_closed_also_after_an_error(pipeline: str, more: list[object]) -> None:
    closed: list[str] = []

    class Policy(Never):
        def close(self) -> None:
            closed.append("closed")

    with pytest.raises(passpilot.errors.Error):
        passpilot.optimize(module(), pipeline, [Policy(), *more])  # type: ignore[list-item]
    assert closed == ["closed"]


@pytest.mark.parametrize("level", ["O2", 2, "Os"])
def test_a_level_is_a_pipeline(level: str | int) -> None:
    by_level, by_text = module(), module()
    passpilot.optimize(by_level, level)
    passpilot.optimize(by_text, "default<Os>" if level == "Os" else O2)
    assert by_level.bitcode() == by_text.bitcode()


def test_a_module_of_a_path(tmp_path: Path) -> None:
    path = tmp_path / "in.ll"
    path.write_text(program())
    assert str(passpilot.Module(path)) == str(passpilot.Module.read(path))
    assert passpilot.Module(str(path)).name == str(path)
    assert calls_left(passpilot.Module(program().encode())) == CALLS


REFUSED: Final[dict[str, tuple[Callable[[], object], str]]] = {
    "path": (
        lambda: passpilot.optimize("prog.bc", O2),  # type: ignore[arg-type]
        "optimize: expected a passpilot.Module, got the path 'prog.bc'; "
        "read it: passpilot.Module.read('prog.bc')",
    ),
    "path-object": (
        lambda: passpilot.emit(Path("prog.bc")),  # type: ignore[arg-type]
        "emit: expected a passpilot.Module, got the path 'prog.bc'; "
        "read it: passpilot.Module.read('prog.bc')",
    ),
    "llvmlite": (
        lambda: passpilot.optimize(ir.Module(), O2),
        "optimize: expected a passpilot.Module, got a module of llvmlite; use passpilot.llvmlite.optimize",
    ),
    "nothing": (
        lambda: passpilot.emit(None),  # type: ignore[arg-type]
        "emit: expected a passpilot.Module, got NoneType; read one with passpilot.Module.read",
    ),
    "number": (
        lambda: passpilot.optimize(module(), 4),
        "optimize: expected pipeline text such as 'default<O2>', or a level among O0, O1, O2, O3, Os, Oz, "
        "got 4",
    ),
    "no-text": (
        lambda: passpilot.optimize(module(), None),  # type: ignore[arg-type]
        "optimize: expected pipeline text such as 'default<O2>', or a level among O0, O1, O2, O3, Os, Oz, "
        "got None",
    ),
    "no-advisor": (
        lambda: passpilot.optimize(module(), O2, [3]),  # type: ignore[list-item]
        r"optimize: expected advisors, got 3; make one: passpilot.InlineAdvisor(runner)",
    ),
    "class": (
        lambda: passpilot.optimize(module(), O2, [passpilot.InlineAdvisor]),
        "optimize: expected advisors, got the class InlineAdvisor; make one: passpilot.InlineAdvisor(runner)",
    ),
    "emit-spec": (
        lambda: passpilot.emit(module(), advisors=["const:1"]),  # type: ignore[list-item]
        "emit: expected advisors, got 'const:1'; make one: passpilot.EvictAdvisor(runner)",
    ),
    "isolated": (
        lambda: passpilot.emit(module(), advisors=["const:1"], isolated=True),  # type: ignore[list-item]
        "emit: expected advisors, got 'const:1'; make one: passpilot.EvictAdvisor(runner)",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_understood_says_what_was_expected(case: str) -> None:
    call, told = REFUSED[case]
    with pytest.raises(InputError) as refused:
        call()
    assert str(refused.value) == told


def test_a_spec_that_is_wrong_is_refused_as_by_an_advisor() -> None:
    with pytest.raises(passpilot.errors.RunnerSpecError, match="const:0 or const:1, got '7'"):
        passpilot.optimize(module(), O2, "const:7")
