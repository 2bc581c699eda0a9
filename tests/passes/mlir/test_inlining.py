# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-inline`: what is asked, and what comes of the answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from passpilot.features import custom
from passpilot.features.mlir.inline import CallSite
from passpilot.passes.mlir.api import bindings, register_call, run_pipeline, unregister_call
from passpilot.passes.mlir.inline import MLIR_INLINE
from passpilot.plugin.errors import (
    InputError,
    PasspilotWarning,
    PipelineError,
    RegistrationError,
    RunnerSpecError,
)
from passpilot.runners.python import Observation
from tests.features.mlir.recount import LLVM as ALIASES
from tests.features.mlir.recount import NESTED
from tests.passes.mlir.passes import parsed
from tests.passes.mlir.programs import Program, calls

BOTH = pytest.mark.parametrize("engine", ["bottom-up", "mark-and-run"])

TEXT = """\
func.func private @a(%x: i64) -> i64 {
  %y = arith.addi %x, %x : i64
  return %y : i64
}
func.func private @b(%x: i64) -> i64 {
  %y = call @a(%x) : (i64) -> i64
  return %y : i64
}
func.func @main(%x: i64) -> i64 {
  %0 = call @b(%x) : (i64) -> i64
  %1 = call @a(%0) {no_inline} : (i64) -> i64
  %2 = call @a(%1) : (i64) -> i64
  return %2 : i64
}
"""

LLVM = """\
llvm.func internal @straight(%x: i64) -> i64 {
  %y = llvm.add %x, %x : i64
  llvm.return %y : i64
}
llvm.func internal @both(%x: i64, %t: i1) -> i64 {
  llvm.cond_br %t, ^one, ^two
^one:
  %y = llvm.call @straight(%x) : (i64) -> i64
  llvm.return %y : i64
^two:
  llvm.return %x : i64
}
llvm.func @main(%x: i64, %t: i1) -> i64 {
  %0 = llvm.call @straight(%x) : (i64) -> i64
  %1 = llvm.call @both(%0, %t) : (i64, i1) -> i64
  llvm.return %1 : i64
}
"""

TOY = """\
"toy.func"() ({
^entry(%x: i32):
  %y = "toy.add"(%x, %x) : (i32, i32) -> i32
  "toy.return"(%y) : (i32) -> ()
}) {sym_name = "straight", sym_visibility = "private"} : () -> ()
"toy.func"() ({
^entry(%x: i32):
  "toy.br"()[^next] : () -> ()
^next:
  "toy.return"(%x) : (i32) -> ()
}) {sym_name = "two", sym_visibility = "private"} : () -> ()
"toy.func"() ({
^entry(%x: i64):
  "toy.return"(%x) : (i64) -> ()
}) {sym_name = "other_type"} : () -> ()
"toy.func"() ({
^entry(%x: i32):
  "toy.region"() ({
    "toy.return"(%x) : (i32) -> ()
  }) : () -> ()
}) {sym_name = "returns_within"} : () -> ()
"toy.func"() ({
^entry(%x: i32):
}) {sym_name = "has_no_end"} : () -> ()
"toy.func"() ({
^entry(%x: i32):
  %0 = "toy.call"(%x) {callee = @straight} : (i32) -> i32
  %1 = "toy.call"(%0) {callee = @two} : (i32) -> i32
  %2 = "toy.call"(%1) {callee = @other_type} : (i32) -> i32
  %3 = "toy.call"(%1) {callee = @returns_within} : (i32) -> i32
  %4 = "toy.call"(%1) {callee = @has_no_end} : (i32) -> i32
  %5 = "toy.call"(%1) {callee = @nobody} : (i32) -> i32
  %6 = "toy.call"(%1) {callee = 7} : (i32) -> i32
  %7 = "toy.call"(%1) : (i32) -> i32
  %8 = "toy.region"() ({
    %9 = "toy.call"(%1) {callee = @straight} : (i32) -> i32
    %10 = "toy.call"(%9) {callee = @two} : (i32) -> i32
    "toy.yield"(%10) : (i32) -> ()
  }) : () -> i32
  "toy.return"(%8) : (i32) -> ()
}) {sym_name = "main"} : () -> ()
"""


def asked(text: str, answer: object = 1, options: str = "", module: Any = None) -> tuple[Any, list[str]]:
    """A module after inlining what `answer` says yes to, a policy or always the same, and what was asked."""
    module = module or parsed(text)
    questions: list[str] = []

    def decide(obs: Observation) -> object:
        site = obs.site
        assert isinstance(site, CallSite)
        questions.append(f"{site.caller_name}->{site.callee_name}")
        return answer(obs) if callable(answer) else answer

    with MLIR_INLINE.advisor(decide) as advisor:
        run_pipeline(module, f"builtin.module(advised-inline{{{options}}})", [advisor])
    assert module.operation.verify()
    return module, questions


def native(text: str) -> Any:
    """A module after MLIR's own pass."""
    module = parsed(text)
    run_pipeline(module, "builtin.module(inline)")
    return module


def test_callees_come_first_and_the_present_ir_counts() -> None:
    module, questions = asked(TEXT)
    assert questions == ["b->a", "main->b", "main->a"]
    assert calls(module) == {"a": {}, "main": {"@a": 1}} == calls(native(TEXT))
    _, questions = asked(TEXT, lambda obs: obs["caller_height"].item() == 2)
    assert questions == ["b->a", "main->b", "main->a", "main->a"], (
        "the call that comes with @b is asked about"
    )


def test_all_is_asked_beforehand() -> None:
    module, questions = asked(TEXT, lambda obs: obs["caller_height"].item() == 2, "engine=mark-and-run")
    assert questions == ["b->a", "main->b", "main->a"]
    assert calls(module)["main"] == {"@a": 2}, "what comes with @b stays refused"
    assert str(module).count("no_inline") == 1, "the mark of the program's own"


@pytest.mark.parametrize("options", ["engine=mark-and-run", "default-pipeline=none", "default-pipeline="])
def test_nothing_changes_where_all_is_refused_and_nothing_simplified(options: str) -> None:
    module, questions = asked(TEXT, 0, options)
    assert len(questions) >= 3
    assert str(module) == str(parsed(TEXT))


def test_functions_are_simplified_whatever_is_decided() -> None:
    text = TEXT.replace("return %2", "%useless = arith.muli %2, %2 : i64\n  return %2")
    module, questions = asked(text, 0)
    assert len(questions) >= 3
    assert str(module) == str(parsed(TEXT))


@BOTH
def test_functions_are_simplified_where_nothing_is_asked(engine: str) -> None:
    """As MLIR does; only answers that are all no leave the module as it is."""
    text = TEXT.replace("{no_inline} ", "").replace(" : (i64)", " {no_inline} : (i64)")
    text = text.replace("return %2", "%useless = arith.muli %2, %2 : i64\n  return %2")
    with pytest.warns(PasspilotWarning, match="was never asked"):
        module, questions = asked(text, 0, f"engine={engine}")
    assert questions == []
    assert str(module) == str(native(text))
    assert "useless" not in str(module)
    assert "muli" not in str(module)


@BOTH
def test_nobody_advises(engine: str) -> None:
    module = parsed(TEXT)
    run_pipeline(module, f"builtin.module(advised-inline{{engine={engine}}})")
    assert str(module) == str(native(TEXT))


@BOTH
def test_runner_of_the_pass_is_nearer_than_that_of_the_compilation(engine: str) -> None:
    module = parsed(TEXT)
    pipeline = f"builtin.module(advised-inline{{runner=const:0 engine={engine}}},advised-inline)"
    with MLIR_INLINE.advisor("const:1") as advisor:
        run_pipeline(module, pipeline, [advisor])
        assert advisor.stats.decisions == 3
    assert str(module) == str(native(TEXT))


@BOTH
def test_calls_of_llvm(engine: str) -> None:
    module, questions = asked(LLVM, 1, f"engine={engine}")
    assert set(questions) == {"both->straight", "main->straight", "main->both"}
    assert str(module) == str(native(LLVM))
    module, _ = asked(LLVM, lambda obs: obs["callee_blocks"].item() == 3, f"engine={engine}")
    assert calls(module)["main"] == {"@straight": 2}
    assert "no_inline" not in str(module)


@pytest.mark.filterwarnings("ignore:.*was never asked")
@pytest.mark.parametrize("pipeline", ["canonicalize", ""])
@pytest.mark.parametrize("text", [TEXT, LLVM, NESTED, ALIASES, *(Program(seed).text() for seed in range(8))])
def test_locations_blocks_and_scopes_are_those_of_mlir(text: str, pipeline: str) -> None:
    options = f"default-pipeline={pipeline}"
    made, native = parsed(text), parsed(text)
    run_pipeline(made, f"builtin.module(advised-inline{{runner=const:1 {options}}})")
    run_pipeline(native, f"builtin.module(inline{{{options}}})")
    with_locations = native.operation.get_asm(enable_debug_info=True)
    assert made.operation.get_asm(enable_debug_info=True) == with_locations
    assert "callsite" in with_locations or text not in (TEXT, LLVM, NESTED, ALIASES)


@pytest.fixture
def toy() -> Iterator[None]:
    """Calls of a dialect that MLIR does not know."""
    register_call("toy.call", function="toy.func", terminator="toy.return")
    yield
    unregister_call("toy.call")


def toy_module() -> Any:
    """A module of that dialect."""
    context = bindings().ir.Context()
    context.allow_unregistered_dialects = True
    return bindings().ir.Module.parse(TOY, context)


@pytest.mark.usefixtures("toy")
def test_calls_of_a_dialect_that_is_registered() -> None:
    module, questions = asked("", 1, module=toy_module())
    assert questions == ["main->straight", "main->two", "main->straight"], (
        "what does not fit is not asked about"
    )
    kept = {
        "@other_type": 1,
        "@returns_within": 1,
        "@has_no_end": 1,
        "@nobody": 1,
        "7 : i64": 1,
        "?": 1,
        "@two": 1,
    }
    assert calls(module)["main"] == kept
    assert "straight" not in calls(module)
    module, questions = asked("", 0, module=toy_module())
    assert str(module) == str(toy_module())


def test_calls_are_registered_once() -> None:
    with pytest.raises(
        RegistrationError, match=r"call 'func\.call' at .*test_inlining\.py:\d+: expected a new name"
    ):
        register_call("func.call", function="func.func", terminator="func.return")
    for name in ("func.call", "toy.call"):
        with pytest.raises(RegistrationError, match="expected a registered call, got none"):
            unregister_call(name)


def test_custom_features() -> None:
    @custom.feature("int64[1]", point="mlir-inline")
    def additions(site: CallSite) -> int:
        return str(site.callee).count("arith.addi")

    try:
        module, _ = asked(TEXT, lambda obs: obs["additions"].item() == 0)
    finally:
        custom.unregister("additions", point="mlir-inline")
    assert calls(module)["main"] == {"@a": 3}


def test_nested_modules_have_graphs_of_their_own() -> None:
    text = f"module @outer {{ module @inner {{ {TEXT} }} {TEXT} }}"
    module, questions = asked(text)
    assert questions == 2 * ["b->a", "main->b", "main->a"]
    assert str(module) == str(native(text))


def test_user_of_an_insertion_point_gets_no_copies() -> None:
    module = parsed(TEXT)
    with bindings().ir.InsertionPoint.at_block_begin(module.body):
        asked("", 1, module=module)
    assert str(module) == str(native(TEXT))


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ("engine=both", PipelineError, r"expected bottom-up\|mark-and-run for engine, got 'both'"),
        ("runner=nosuch:1", RunnerSpecError, "runner scheme 'nosuch': expected one of"),
        ("default-pipeline=nosuch", InputError, "expected passes as default-pipeline, got 'nosuch'"),
        ("default-pipeline=convert-func-to-llvm", InputError, "expected passes that run on func.func as "),
        ("default-pipeline=no engine=mark-and-run", InputError, "expected passes as default-pipeline"),
        ("runner=python:/no/such.py:decide", InputError, "/no/such.py"),
    ],
)
def test_wrong_options(options: str, error: type[Exception], told: str) -> None:
    module = parsed(TEXT)
    with pytest.raises(error, match=told):
        run_pipeline(module, f"builtin.module(advised-inline{{{options}}})")
    assert str(module) == str(parsed(TEXT))


def test_it_runs_on_modules() -> None:
    with pytest.raises(PipelineError, match=r"expected to be in builtin\.module"):
        run_pipeline(parsed(TEXT), "builtin.module(func.func(advised-inline))")
