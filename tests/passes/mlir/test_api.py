# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot.mlir`: what can be registered as a pass, and what a pass gets and may do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest

import passpilot
from passpilot.passes.mlir import api as mlir
from passpilot.passes.mlir.pipeline import listing
from passpilot.passes.python.registry import MLIR
from passpilot.plugin.errors import InputError, PipelineError, RegistrationError
from tests.passes.mlir.passes import TEXT, define, parsed, symbol

HERE = Path(__file__).name

pytestmark = pytest.mark.usefixtures("restored_registries")


class Colour(Enum):
    RED = "red"
    DARK_BLUE = 2


@dataclass(frozen=True)
class Plain:
    """Does nothing.

    At length.
    """

    limit: int = 3
    colour: Colour = Colour.RED
    mode: Literal["fast", "slow"] = "fast"
    scale: float | None = None
    verbose: bool = False

    def run(self, operation: object) -> None:
        SEEN.append(self)
        assert operation


SEEN: list[Plain] = []


def test_it_has_a_public_name() -> None:
    from passpilot.mlir import pass_

    assert passpilot.mlir is mlir
    assert pass_ is mlir.pass_


def test_a_decorated_class_is_found() -> None:
    assert mlir.pass_("test-plain", anchor="func.func")(Plain) is Plain
    found = MLIR.find("test-plain")
    assert found
    assert (found.kind, found.level, found.doc) == (Plain, "func.func", "Does nothing.")
    options = "limit=int colour=red|dark-blue mode=fast|slow scale=float verbose"
    listed = listing().partition("on func.func:\n")[2]
    assert f"\n  test-plain{{{options}}}  Does nothing.\n" in listed


def test_passes_are_listed_by_operation_and_name() -> None:
    for name, anchor in (("test-b", "func.func"), ("test-c", ""), ("test-a", "func.func"), ("test-d", "a.b")):
        mlir.pass_(name, anchor=anchor)(Plain)
    lines = [line.partition("{")[0] for line in listing().splitlines()]
    assert [line for line in lines if "advised" not in line] == [
        *("Passes in Python on any operation:", "  test-c"),
        *("Passes in Python on a.b:", "  test-d"),
        "Passes in Python on builtin.module:",
        *("Passes in Python on func.func:", "  test-a", "  test-b"),
    ]


@pytest.mark.parametrize("name", ["cse", "inline", "any", "symbol-dce", "convert-func-to-llvm", "sparsifier"])
def test_names_of_mlir_are_taken(name: str) -> None:
    with pytest.raises(RegistrationError, match="expected a new name, got one that MLIR itself owns"):
        mlir.pass_(name)(Plain)
    assert MLIR.find(name) is None


def test_a_name_has_one_owner() -> None:
    mlir.pass_("test-twice")(Plain)
    with pytest.raises(
        RegistrationError, match=rf"{HERE}:\d+: expected a new name, got one that the pass at"
    ):
        mlir.pass_("test-twice")(Plain)
    with pytest.raises(RegistrationError, match=r"got one that .*mlir[./]inline"):
        mlir.pass_("advised-inline")(Plain)


@pytest.mark.parametrize("name", ["", "MyPass", "my_pass", "func.func", "a b", 3])
def test_names_are_kebab_case(name: str) -> None:
    with pytest.raises(RegistrationError, match=rf"at .*{HERE}:\d+: expected a name in kebab-case"):
        mlir.pass_(name)


@pytest.mark.parametrize("anchor", ["func func", "func.func(", "{", "3", "é"])
def test_anchors_are_names_of_operations(anchor: str) -> None:
    with pytest.raises(RegistrationError, match=r"expected an operation such as func.func as anchor, got"):
        mlir.pass_("test-plain", anchor=anchor)


def test_classes_that_do_not_fit() -> None:
    class Bare:
        def run(self, operation: object) -> None: ...

    @dataclass(frozen=True)
    class Odd:
        limit: list[int]

        def run(self, operation: object) -> None: ...

    with pytest.raises(RegistrationError, match="expected a frozen dataclass, got a plain class, Bare"):
        mlir.pass_("test-bare")(Bare)
    with pytest.raises(RegistrationError, match="expected bool, int, float, str, an enum, a Literal, or one"):
        mlir.pass_("test-odd")(Odd)
    assert MLIR.added() == set()


def test_the_fields_are_options() -> None:
    mlir.pass_("test-plain")(Plain)
    SEEN.clear()
    options = "limit=5 colour=dark-blue scale=0.5 verbose mode=slow"
    mlir.run_pipeline(parsed(), f"builtin.module(test-plain{{{options}}},test-plain)")
    assert [Plain(5, Colour.DARK_BLUE, "slow", 0.5, True), Plain()] == SEEN


@pytest.mark.parametrize(
    ("options", "told", "column"),
    [
        ("limit=x", "expected int for limit, got 'x'", 33),
        ("colour=green", "expected red|dark-blue for colour, got 'green'", 34),
        ("mode", "expected mode=fast|slow, got 'mode' alone", 27),
        ("speed=1", "expected options among limit=int, ", 27),
        ("limit=1 limit=2", "expected one value for limit, got another", 35),
        ("limit={1}", "expected int for limit, got '{1}'", 33),
    ],
)
def test_wrong_options_have_a_place(options: str, told: str, column: int) -> None:
    mlir.pass_("test-plain")(Plain)
    text = f"builtin.module(test-plain{{{options}}},cse)"
    with pytest.raises(PipelineError) as caught:
        mlir.run_pipeline(parsed(), text)
    where = f"--pass-pipeline at column {column}: pass test-plain: "
    assert str(caught.value).startswith(where + told)
    shown, marks = caught.value.excerpt.splitlines()
    assert (shown, marks.index("^") + 1) == (text, column)


def test_a_pass_gets_operations_of_the_bindings() -> None:
    seen: list[Any] = []
    define(seen.append, "func.func")
    module = parsed()
    mlir.run_pipeline(module, "builtin.module(func.func(test-pass))")
    assert all(type(each) is mlir.bindings().ir.Operation for each in seen)
    assert [symbol(each) for each in seen] == ["small", "big"]
    assert seen[0] == module.body.operations[0].operation


def test_what_a_pass_changes_is_there_for_the_next() -> None:
    def double(operation: Any) -> None:
        ir = mlir.bindings().ir
        (block,) = operation.regions[0].blocks
        last = list(block.operations)[-1].operation
        with ir.InsertionPoint(last), last.location:
            value = last.operands[0]
            new = ir.Operation.create("arith.addi", [value.type], [value, value])
        last.operands[0] = new.results[0]

    define(double, "func.func")
    module = parsed()
    mlir.run_pipeline(module, "builtin.module(func.func(test-pass),inline,symbol-dce)")
    assert str(module).count("arith.addi") == 3
    assert "call" not in str(module)


def test_a_pipeline_on_something_else_than_a_module() -> None:
    seen: list[str] = []
    define(lambda operation: seen.append(symbol(operation)))
    module = parsed()
    function = module.body.operations[1]
    mlir.run_pipeline(function, "func.func(test-pass,cse)")
    mlir.run_pipeline(function, "any(test-pass)")
    assert seen == ["big", "big"]


@pytest.mark.parametrize("module", ["text", None, TEXT])
def test_what_is_no_operation_is_refused(module: Any) -> None:
    told = r"^run_pipeline: expected an operation of MLIR's Python bindings, got builtins\."
    with pytest.raises(InputError, match=told):
        mlir.run_pipeline(module, "builtin.module(cse)")


def test_a_class_can_be_registered_again() -> None:
    mlir.pass_("test-plain")(Plain)
    mlir.unregister("test-plain")
    with pytest.raises(PipelineError, match="pass test-plain: expected a pass of MLIR's or one in Python"):
        mlir.run_pipeline(parsed(), "builtin.module(test-plain)")
    mlir.register(Plain)
    mlir.run_pipeline(parsed(), "builtin.module(test-plain)")
    with pytest.raises(RegistrationError, match=re.escape("passpilot.mlir.register: expected a class under")):
        mlir.register(Colour)
