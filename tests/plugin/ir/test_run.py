# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`run`: pipelines of LLVM's passes inside a pass in Python, on what it may change."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from passpilot import InlineAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin import ir
from passpilot.plugin.errors import Error, IRError, StaleViewError
from passpilot.plugin.module import Module
from tests.plugin.ir.named import function as named
from tests.plugin.ir.test_in_passes import BODY, TEXT, Passes, module, passes

__all__ = ["module", "passes"]  # fixtures


def raising(passes: Passes, module: Module, text: str, body: Callable[..., bool]) -> str:
    """What the error says that ends the compilation."""
    with pytest.raises(IRError) as caught:
        passes(module, text, body)
    return str(caught.value)


@pytest.mark.parametrize("pipeline", ["default<Oz>", "function(sroa,instcombine),globaldce", "cgscc(inline)"])
def test_a_module_pipeline_gives_what_it_gives_in_the_pass_own_place(passes: Passes, pipeline: str) -> None:
    inside, outside = (Module.read(TEXT.encode(), name="text") for _ in range(2))
    passes(inside, "ir-module", lambda unit: bool(unit.run(pipeline)))
    optimize(outside, pipeline)
    assert inside.bitcode() == outside.bitcode()


@pytest.mark.parametrize("around", ["ir-module", "function(ir-function)", "cgscc(ir-cgscc)"])
def test_a_function_pipeline_runs_in_a_pass_of_each_level(passes: Passes, around: str) -> None:
    inside, outside = (Module.read(TEXT.encode(), name="text") for _ in range(2))

    def body(unit: object) -> bool:
        functions = (
            unit.functions if isinstance(unit, Module) else unit if isinstance(unit, tuple) else (unit,)
        )
        changes = [function.run("instcombine,loop(indvars),simplifycfg") for function in functions]
        return any(changes)

    passes(inside, around, body)
    optimize(outside, "function(instcombine,loop(indvars),simplifycfg)")
    assert inside.assembly() == outside.assembly()


def test_it_tells_whether_anything_has_changed(module: Module, passes: Passes) -> None:
    told: list[bool] = []

    def body(unit: Module) -> bool:
        told.extend(unit.run("always-inline,cgscc(inline),globaldce") for _ in range(2))
        return told[0]

    passes(module, "ir-module", body)
    assert told == [True, False]
    assert module.function("leaf") is None


def test_what_llvm_deletes_meanwhile_is_stale(module: Module, passes: Passes) -> None:
    def body(unit: Module) -> bool:
        leaf = named(unit, "leaf")
        (call,) = named(unit, "f").call_sites
        unit.run("cgscc(inline),globaldce")
        for handle in (leaf, call):
            assert not handle.is_valid
            with pytest.raises(StaleViewError):
                _ = handle.name
        return True

    passes(module, "ir-module", body)


def test_analyses_are_those_of_the_ir_after_it(module: Module, passes: Passes) -> None:
    """Once of the function pipeline's IR, once of that of a module pipeline that drops the managers' own."""
    seen: list[object] = []

    def body(unit: Module) -> bool:
        f = named(unit, "f")
        seen.append((len(f.loops), f.properties["BasicBlockCount"]))
        f.arguments[0].replace_all_uses_with(unit.constant("i32 1"))
        f.run("loop-simplify,loop(loop-deletion),simplifycfg,instcombine,simplifycfg")
        seen.append((len(f.loops), f.properties["BasicBlockCount"]))
        unit.run("cgscc(inline)")
        seen.append(f.properties["DirectCallsToDefinedFunctions"])
        return True

    passes(module, "require<globals-aa>,function(require<loops>),ir-module,function(verify<domtree>)", body)
    assert seen[0] == (1, 3)
    assert seen[-1] == 0


def test_llvm_sees_what_the_pass_changed_before_it(module: Module, passes: Passes) -> None:
    """The call graph that an earlier pass cached knows nothing of the new caller."""

    def body(unit: Module) -> bool:
        copy = named(unit, "leaf").clone("copy")
        named(unit, "f").call_sites[0].add_attribute("noinline")
        copy.linkage = "external"
        unit.run("cgscc(inline),globaldce")
        assert unit.function("leaf") is not None
        assert unit.function("copy") is not None
        return False

    passes(module, "require<lcg>,ir-module,cgscc(inline)", body)


def test_a_pass_that_denies_the_change_is_not_believed(module: Module, passes: Passes) -> None:
    def body(unit: Module) -> bool:
        named(unit, "f").run("loop-simplify,loop(loop-deletion,loop-unroll-full),simplifycfg")
        unit.run("cgscc(inline),globaldce")
        return False

    passes(
        module, "require<lcg>,function(require<loops>),ir-module,cgscc(inline),function(verify<loops>)", body
    )


@pytest.mark.usefixtures("passes")
def test_an_inliner_inside_asks_the_advisor() -> None:
    asked: list[str] = []

    def policy(obs: object) -> bool:
        asked.append(type(obs).__name__)
        return False

    inside = Module.read(TEXT.encode(), name="text")
    BODY[:] = [lambda unit: bool(unit.run("inliner-wrapper"))]
    optimize(inside, "ir-module", [InlineAdvisor(policy)])
    assert asked == ["Observation"]
    assert named(inside, "f").call_sites


@pytest.mark.usefixtures("passes")
def test_an_advisor_that_fails_inside_ends_the_pass() -> None:
    def body(unit: Module) -> bool:
        while True:
            unit.run("inliner-wrapper")

    BODY[:] = [body]
    with pytest.raises(Error, match=r"inline advisor at decision 0 .*: expected True, False"):
        optimize(Module.read(TEXT.encode(), name="text"), "ir-module", [InlineAdvisor(lambda _: "no")])


@pytest.mark.parametrize(
    ("around", "pipeline", "told"),
    [
        ("ir-module", "no-such-pass", "unknown pass name 'no-such-pass'"),
        ("ir-module", "ir-module", "ir-module is a pass in Python: call its run()"),
        ("ir-module", "function(", "invalid pipeline 'function('"),
        ("function(ir-function)", "globaldce", "unknown function pass 'globaldce'"),
        ("loop(ir-loop)", "instcombine", "expected a pass that may change its blocks"),
    ],
)
def test_a_pipeline_that_cannot_run_is_refused(
    module: Module, passes: Passes, around: str, pipeline: str, told: str
) -> None:
    def body(unit: object) -> bool:
        ran: bool = (unit.header.function if isinstance(unit, ir.Loop) else unit).run(pipeline)  # type: ignore[attr-defined]
        return ran

    before = module.assembly()
    assert told in raising(passes, module, around, body)
    if "loop" not in around:  # whose loops LLVM brings into its form
        assert module.assembly() == before


@pytest.mark.usefixtures("passes")
def test_a_pass_at_an_extension_point_does_not_run_inside_itself() -> None:
    runs: list[object] = []

    def body(unit: Module) -> bool:
        runs.append(unit)
        return unit.run("default<Oz>")

    BODY[:] = [body]
    optimize(Module.read(TEXT.encode(), name="text"), "default<Oz>", at={"pipeline-start": "ir-module"})
    assert len(runs) == 1


def test_outside_a_module_pass_a_module_runs_nothing(module: Module, passes: Passes) -> None:
    def body(function: ir.Function) -> bool:
        assert isinstance(function.module, Module)
        return function.module.run("globaldce")

    assert "expected a module pass to run it, got another" in raising(
        passes, module, "function(ir-function)", body
    )
    with pytest.raises(IRError, match=r"module pass to run it, got none; elsewhere passpilot\.optimize"):
        module.run("globaldce")
    with pytest.raises(IRError, match="expected a pass that may change its blocks to run it, got none"):
        named(module, "f").run("instcombine")


def test_what_a_pass_has_no_body_or_no_right_for(module: Module, passes: Passes) -> None:
    declared = module.declare("outside", "void ()")
    told = raising(passes, module, "ir-module", lambda _: declared.run("instcombine"))
    assert 'run("instcombine") on function outside: expected a body, got a declaration' in told
    told = raising(passes, module, "ir-module", lambda unit: bool(unit.run("no-such")))
    assert 'run("no-such") on module text: ' in told
    leaf = named(module, "leaf")

    def skips(function: ir.Function) -> bool:
        if function.name == "f":
            leaf.skip("gvn")
        return False

    told = raising(passes, module, "function(ir-function)", skips)
    assert 'skip("gvn") on function leaf: expected a pass that may change the function, got another' in told


def test_a_call_graph_pass_keeps_to_its_functions(module: Module, passes: Passes) -> None:
    told: list[str] = []

    def body(functions: tuple[ir.Function, ...]) -> bool:
        other = named(module, "f" if functions[0].name == "leaf" else "leaf")
        for change in (lambda: other.run("instcombine"), lambda: other.add_attribute("cold")):
            with pytest.raises(IRError) as caught:
                change()
            told.append(str(caught.value))
        functions[0].add_attribute("cold")
        return True

    passes(module, "cgscc(ir-cgscc)", body)
    assert len(told) == 4
    assert all("expected a pass that may change its blocks" in each for each in told[::2])
    assert all("expected a function that the pass runs on, got another one" in each for each in told[1::2])
    assert [named(module, name).attributes for name in ("leaf", "f")] == [["cold"], ["cold"]]


def test_a_function_pass_runs_nothing_on_another_function(module: Module, passes: Passes) -> None:
    def body(function: ir.Function) -> bool:
        other = named(module, "f" if function.name == "leaf" else "leaf")
        return other.run("instcombine")

    told = raising(passes, module, "function(ir-function)", body)
    assert 'run("instcombine") on function f: expected a pass that may change its blocks' in told


def test_a_skipped_pass_runs_no_more_in_this_compilation(module: Module, passes: Passes) -> None:
    def body(function: ir.Function) -> bool:
        if function.name == "f":
            function.skip("instcombine")
        return False

    text = "define i32 @NAME(i32 %x) {\n  %y = add i32 %x, 0\n  ret i32 %y\n}\n"
    module = Module.read("".join(text.replace("NAME", name) for name in "fg").encode())
    for pipeline, left in (("ir-function,instcombine,instcombine", [2, 1]), ("instcombine", [1, 1])):
        passes(module, f"function({pipeline})", body)
        assert [function.instruction_count for function in module.functions] == left


def test_only_a_pass_of_llvm_can_be_skipped(module: Module, passes: Passes) -> None:
    with pytest.raises(IRError, match=r"skip\(\"gvn\"\) on function f: expected a pass .*, got none"):
        named(module, "f").skip("gvn")
    told = raising(passes, module, "function(ir-function)", lambda unit: bool(unit.skip("slop")))
    assert "expected the name of one of LLVM's function passes, got: unknown function pass 'slop'" in told
