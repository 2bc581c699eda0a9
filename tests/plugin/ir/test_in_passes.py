# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The IR inside passes: LLVM's own analyses, what each kind of pass may change, and LLVM going on with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from passpilot import llvm
from passpilot.passes.optimize import optimize
from passpilot.plugin import ir
from passpilot.plugin.compile import PipelineOptions
from passpilot.plugin.errors import IRError
from passpilot.plugin.module import Module
from tests.plugin.ir.named import function as named

DEBUG = PipelineOptions(debug_pass_manager=True)
TEXT = """
target triple = "x86_64-pc-linux-gnu"
@g = internal global i32 0
define internal i32 @leaf(i32 %x) {
  %y = mul i32 %x, 3
  ret i32 %y
}
define i32 @f(i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %j = add nuw nsw i32 %i, 1
  store volatile i32 %i, ptr @g
  %c = icmp ult i32 %j, %n
  br i1 %c, label %loop, label %done
done:
  %r = call i32 @leaf(i32 %n)
  ret i32 %r
}
"""


@pytest.fixture
def module() -> Iterator[Module]:
    module = Module.read(TEXT.encode(), name="text")
    yield module
    module.verify()


BODY: list[Callable[..., bool]] = []


def body_class() -> type:
    """The class of a pass whose body the test gives."""

    @dataclass(frozen=True)
    class Body:
        def run(self, unit: object) -> bool:
            return BODY[0](unit)

    return Body


@pytest.fixture
def passes() -> Iterator[Callable[[Module, str, Callable[..., bool]], None]]:
    """`passes(module, level, body)` runs the body as a pass of the level."""
    made = {
        "module": llvm.module_pass("ir-module")(body_class()),
        "cgscc": llvm.cgscc_pass("ir-cgscc")(body_class()),
        "function": llvm.function_pass("ir-function")(body_class()),
        "loop": llvm.loop_pass("ir-loop")(body_class()),
    }

    def run(module: Module, text: str, body: Callable[..., bool]) -> None:
        BODY[:] = [body]
        optimize(module, text)

    yield run
    BODY.clear()
    for level in made:
        llvm.unregister(f"ir-{level}")


Passes = Callable[[Module, str, Callable[..., bool]], None]


def test_answers_follow_changes_within_a_pass(module: Module, passes: Passes) -> None:
    seen: list[object] = []

    def body(function: ir.Function) -> bool:
        if function.name != "f":
            return False
        (loop,) = function.loops
        seen.append(loop.trip_count)
        function.arguments[0].replace_all_uses_with(module.constant("i32 9"))
        seen.append(loop.trip_count)
        loop.header.set_branch(loop.exit_blocks[0])
        seen.append(function.loops)
        seen.append(function.blocks[2].immediate_dominator == function.blocks[1])
        return True

    passes(module, "function(loop-simplify,require<scalar-evolution>,ir-function,verify<domtree>)", body)
    assert seen == [None, 9, [], True]


def test_llvm_takes_up_what_a_pass_left(module: Module, passes: Passes) -> None:
    """Stale loops or trip counts would keep LLVM from unrolling the loop away."""

    def body(function: ir.Function) -> bool:
        if function.name == "f":
            assert function.loops[0].trip_count is None
            function.arguments[0].replace_all_uses_with(module.constant("i32 3"))
        return False  # not believed

    passes(module, "function(require<scalar-evolution>,ir-function,loop-unroll)", body)
    assert str(module).count("store volatile") == 3


def printed(capfd: pytest.CaptureFixture[str], module: Module, pipeline: str) -> str:
    """What LLVM's printers say of the module, without numbers that a tree has once it has been asked."""
    capfd.readouterr()
    optimize(module, pipeline)
    return re.sub(r"DFSNumbers invalid: \d+ slow queries\.|\{\d+,\d+\}", "", capfd.readouterr().err)


def claimed(claim: str) -> object:
    """What a pass answers that says too much; no parameter of a test, for pytest would let it leak."""
    return False if claim == "nothing" else getattr(llvm.PreservedAnalyses, claim)()


PRINTERS = "function(print<domtree>,print<loops>,print<branch-prob>,print<scalar-evolution>)"


@pytest.mark.parametrize("claim", ["nothing", "all", "cfg"])
@pytest.mark.parametrize("level", ["module", "cgscc", "function"])
@pytest.mark.parametrize("change", ["operand", "weights", "branch", "split", "inline"])
@pytest.mark.usefixtures("passes")
def test_a_pass_that_says_too_much_is_not_believed(
    capfd: pytest.CaptureFixture[str], change: str, level: str, claim: str
) -> None:
    """What LLVM has cached before the pass is not what it says after it."""
    required = PRINTERS.replace("print", "require")
    module = Module.read(TEXT.encode(), name="text")

    def body(unit: object) -> object:
        f = named(module, "f")
        if level == "module" or f in (unit if isinstance(unit, tuple) else (unit,)):
            changed(f, change)
            return claimed(claim)
        return False

    BODY[:] = [body]  # type: ignore[list-item]
    around = f"{level}(ir-{level})" if level != "module" else "ir-module"
    told = printed(capfd, module, f"{required},{around},{PRINTERS}")
    assert told == printed(capfd, module.copy(), PRINTERS)


@pytest.mark.usefixtures("passes")
def test_callers_see_an_attribute_that_a_function_pass_adds(capfd: pytest.CaptureFixture[str]) -> None:
    module = Module.read(TEXT.encode(), name="text")

    def body(function: ir.Function) -> bool:
        if function.name == "leaf":
            function.add_attribute("memory(none)")
        return False

    BODY[:] = [body]
    memory = "function(print<memoryssa>)"
    told = printed(capfd, module, f"function(require<memoryssa>),function(ir-function),{memory}")
    assert told == printed(capfd, module.copy(), memory)


def changed(f: ir.Function, change: str) -> None:
    """Make one change in the function `f` of the text."""
    loop = f.blocks[1]
    if change == "operand":
        f.arguments[0].replace_all_uses_with(f.module.constant("i32 9"))  # type: ignore[attr-defined]
    elif change == "weights":
        loop.terminator.set_metadata("prof", ("branch_weights", 1, 1))
    elif change == "branch":
        loop.set_branch(f.blocks[2])
    elif change == "split":
        f.blocks[2].instructions[0].split_before("more")
    else:
        f.call_sites[0].inline()


@pytest.mark.parametrize("claim", ["all", "cfg"])
def test_a_pass_that_says_what_is_so_is_believed(
    module: Module, passes: Passes, capfd: pytest.CaptureFixture[str], claim: str
) -> None:
    def body(function: ir.Function) -> object:
        function.instructions[0].set_metadata("mine", ())
        return claimed(claim)

    BODY[:] = [body]  # type: ignore[list-item]
    del passes
    optimize(module, "function(require<domtree>,ir-function,require<domtree>)", options=DEBUG)
    assert capfd.readouterr().err.count("Running analysis: DominatorTreeAnalysis on f") == 1


@pytest.mark.usefixtures("passes")
def test_analyses_are_none_of_llvms(module: Module, capfd: pytest.CaptureFixture[str]) -> None:
    def body(function: ir.Function) -> bool:
        return bool(function.loops) and function.loops[0].trip_count == 0

    BODY[:] = [body]
    optimize(module, "function(require<loops>,ir-function,require<loops>)", options=DEBUG)
    told = capfd.readouterr().err
    assert told.count("Running analysis: LoopAnalysis on f") == 1
    assert "ScalarEvolutionAnalysis" not in told
    assert "Running pass: ir-function on f" in told


def test_a_function_pass_keeps_to_its_function(module: Module, passes: Passes) -> None:
    refused = []

    def body(function: ir.Function) -> bool:
        other = named(module, "leaf" if function.name == "f" else "f")
        for change, match in (
            (lambda: other.add_attribute("cold"), "a function that the pass runs on, got another one"),
            (lambda: other.instructions[0].set_metadata("mine", ()), "a function that the pass runs on"),
            (lambda: setattr(function, "linkage", "internal"), "a module pass"),
            (lambda: function.clone("new"), "a module pass"),
            (lambda: module.add_global("new", "i32"), "a module pass"),
            (function.erase, "a module pass"),
        ):
            with pytest.raises(IRError, match=match):
                change()
            refused.append(match)
        function.add_attribute("cold")
        outside = module.declare("outside", "void ()")
        ir.IRBuilder(function.instructions[-1]).call(outside, [])
        return True

    passes(module, "function(ir-function)", body)
    assert len(refused) == 12
    assert str(module).count("call void @outside()") == 2
    assert named(module, "f").attributes == ["cold"]


def test_a_loop_pass_sets_metadata_and_leaves_the_body(module: Module, passes: Passes) -> None:
    def body(loop: ir.Loop) -> bool:
        assert loop.depth == 1
        assert loop.trip_count is None
        with pytest.raises(IRError, match="a loop pass leaves instructions as they are"):
            loop.header.instructions[0].erase()
        with pytest.raises(IRError, match="a loop pass leaves instructions as they are"):
            module.declare("outside", "void ()")
        assert loop.header.frequency > 1
        loop.set_metadata((..., ("llvm.loop.unroll.count", 2)))
        return True

    passes(module, "function(loop(ir-loop))", body)
    assert "llvm.loop.unroll.count" in str(module)
    assert ", !llvm.loop !" in str(module)


def test_a_cgscc_pass_inlines(module: Module, passes: Passes) -> None:
    """LLVM's inliner, which walks the same call graph, goes on with it."""
    order: list[str] = []

    def body(functions: tuple[ir.Function, ...]) -> bool:
        order.extend(each.name for each in functions)
        calls = [each for function in functions for each in function.call_sites]
        for call in calls:
            call.inline()
        return bool(calls)

    passes(module, "cgscc(ir-cgscc,inline),globaldce", body)
    assert order == ["leaf", "f"]
    assert "@leaf" not in str(module)


def test_a_module_pass_may_do_everything(module: Module, passes: Passes) -> None:
    def body(unit: Module) -> bool:
        assert unit == module
        f = named(unit, "f")
        assert len(f.loops) == 1
        f.call_sites[0].inline()
        named(unit, "leaf").erase()
        copied = f.clone("copied")
        copied.arguments[0].replace_all_uses_with(unit.constant("i32 4"))
        assert copied.loops[0].trip_count == 4
        f.linkage = "weak"
        return True

    passes(module, "function(require<loops>),ir-module,function(loop-unroll)", body)
    assert "define weak i32 @f" in str(module)
    assert "@leaf" not in str(module)


def test_handles_outlive_the_pass(module: Module, passes: Passes) -> None:
    kept: list[ir.Instruction] = []

    def body(function: ir.Function) -> bool:
        kept.extend(function.instructions)
        return False

    passes(module, "function(ir-function)", body)
    assert [each.opcode for each in kept][:2] == ["mul", "ret"]
    kept[0].function.arguments[0].replace_all_uses_with(module.constant("i32 1"))


def test_a_pass_that_only_reads_leaves_the_bytes(passes: Passes) -> None:
    def body(function: ir.Function) -> bool:
        for each in function.instructions:
            assert len((each.operands, each.users, each.metadata, each.flags)) == 4
            each.cost()
        for block in function.blocks:
            assert block.frequency >= 0
        assert function.properties
        assert [loop.blocks for loop in function.loops if not loop.trip_count] or not function.loops
        return False

    with_pass, without = (Module.read(TEXT.encode()) for _ in range(2))
    passes(with_pass, "function(ir-function),default<O2>,function(ir-function)", body)
    optimize(without, "default<O2>")
    assert with_pass.bitcode() == without.bitcode()
