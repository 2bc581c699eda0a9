# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Analyses on demand against opt's printers; and a change makes each say something else."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from passpilot.plugin import ir
from passpilot.plugin.errors import InputError
from passpilot.plugin.module import Module
from tests import stock
from tests.plugin.ir.named import block, instruction

TEXT = """
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"
@g = internal global i32 0
define internal i32 @callee(i32 %x) {
  %y = mul i32 %x, 3
  ret i32 %y
}
define i32 @f(ptr noalias %p, ptr %q, i1 %flag, i32 %n) {
entry:
  %slot = alloca i32
  %inside = load ptr, ptr %q
  br label %outer
outer:
  %i = phi i32 [ 0, %entry ], [ %i1, %latch ]
  br label %inner
inner:
  %j = phi i32 [ 0, %outer ], [ %j1, %inner ]
  %s = load i32, ptr %p
  %j1 = add nuw nsw i32 %j, 1
  %cj = icmp ult i32 %j1, 12
  br i1 %cj, label %inner, label %latch
latch:
  %i1 = add nuw nsw i32 %i, 1
  %ci = icmp ult i32 %i1, %n
  br i1 %ci, label %outer, label %check
check:
  br i1 %flag, label %then, label %else, !prof !0
then:
  %r = call i32 @callee(i32 %n)
  br label %done
else:
  %d = sdiv i32 %n, 7
  br label %done
done:
  ret i32 0
}
!0 = !{!"branch_weights", i32 3, i32 1}
"""


@pytest.fixture
def module() -> Module:
    return Module.read(TEXT.encode(), name="text")


@pytest.fixture
def f(module: Module) -> ir.Function:
    found = module.function("f")
    assert found is not None
    return found


def trips(loop: ir.Loop) -> int | None:
    return loop.trip_count


def test_dominators(f: ir.Function) -> None:
    check, then, done = block(f, "check"), block(f, "then"), block(f, "done")
    assert check.dominates(done)
    assert not then.dominates(done)
    assert done.immediate_dominator == check
    assert f.blocks[0].immediate_dominator is None
    assert instruction(f, "j").dominates(instruction(f, "s"))
    assert not instruction(f, "r").dominates(instruction(f, "d"))
    check.set_branch(then)
    assert then.dominates(done)
    assert done.immediate_dominator == then


def test_loops(f: ir.Function) -> None:
    outer, inner = f.loops
    assert (outer.header.name, inner.header.name) == ("outer", "inner")
    assert (outer.depth, inner.depth) == (1, 2)
    assert inner.parent == outer
    assert outer.subloops == [inner]
    assert outer.parent is None
    assert [each.name for each in outer.blocks] == ["outer", "inner", "latch"]
    assert [each.name for each in outer.latches] == ["latch"]
    assert [each.name for each in outer.exiting_blocks] == ["latch"]
    assert [each.name for each in outer.exit_blocks] == ["check"]
    assert outer.preheader == f.blocks[0]
    assert outer.function == f
    assert block(f, "inner").loop == inner
    assert block(f, "inner").loop_depth == 2
    assert block(f, "done").loop is None
    block(f, "latch").set_branch(block(f, "check"))
    assert f.loops == [inner]
    assert inner.depth == 1
    assert inner.parent is None


def test_trip_counts(module: Module, f: ir.Function) -> None:
    outer, inner = f.loops
    assert (inner.trip_count, inner.max_trip_count, inner.trip_multiple) == (12, 12, 12)
    assert inner.backedge_taken_count == "11"
    assert trips(outer) is None
    assert outer.backedge_taken_count == "(-1 + (1 umax %n))"
    constant = module.constant("i32 5")
    f.arguments[3].replace_all_uses_with(constant)
    assert trips(outer) == 5
    assert outer.backedge_taken_count == "4"


def test_frequency_and_probability(f: ir.Function) -> None:
    check, then, other = block(f, "check"), block(f, "then"), block(f, "else")
    assert check.probability_to(then) == pytest.approx(0.75)
    assert then.frequency == pytest.approx(0.75, rel=1e-3)
    assert check.frequency == pytest.approx(1, rel=1e-3)
    assert block(f, "inner").frequency > 20
    with pytest.raises(InputError, match="expected a successor of the block, got label %done"):
        check.probability_to(block(f, "done"))
    check.terminator.set_metadata("prof", ("branch_weights", 1, 3))
    assert check.probability_to(then) == pytest.approx(0.25)
    assert then.frequency == pytest.approx(0.25, rel=1e-3)
    check.set_branch(other)
    assert then.frequency == 0
    assert check.probability_to(other) == 1


def test_alias(f: ir.Function) -> None:
    p, q = f.arguments[:2]
    slot, inside = instruction(f, "slot"), instruction(f, "inside")
    assert f.alias(p, q) == "no"
    assert f.alias(p, p) == "must"
    assert f.alias(inside, slot) == "no"  # its address goes nowhere
    assert f.alias(slot, slot, 4, 2) == "must"
    with pytest.raises(InputError, match=r"alias in function f: expected a pointer .* got i32 %n"):
        f.alias(p, f.arguments[3])
    p.remove_attribute("noalias")
    assert f.alias(p, q) == "may"
    ir.IRBuilder(inside).store(slot, q)
    assert f.alias(inside, slot) == "may"


def test_costs(f: ir.Function) -> None:
    divide, load = instruction(f, "d"), instruction(f, "s")
    assert divide.cost("latency") > load.cost("code-size")  # type: ignore[operator]
    assert load.cost() == load.cost("throughput") == 1
    with pytest.raises(
        InputError, match="expected throughput, latency, code-size or size-and-latency, got x"
    ):
        load.cost("x")
    vectors = "define <8 x i32> @g(<8 x i32> %a) {\n  %c = mul <8 x i32> %a, %a\n  ret <8 x i32> %c\n}\n"
    g = Module.read(f'target triple = "x86_64-pc-linux-gnu"\n{vectors}'.encode()).functions[0]
    multiply = g.instructions[0]
    assert (before := multiply.cost()) is not None
    g.add_attribute('"target-features"="+avx2"')
    assert multiply.cost() < before  # type: ignore[operator]


def test_properties(f: ir.Function) -> None:
    callee = f.call_sites[0].callee
    assert callee is not None
    before = f.properties
    assert before["BasicBlockCount"] == len(f.blocks)
    assert before["MaxLoopDepth"] == 2
    assert before["LoadInstCount"] == 2
    assert before["DirectCallsToDefinedFunctions"] == 1
    assert callee.properties["Uses"] == 1
    f.call_sites[0].inline()
    assert f.properties["DirectCallsToDefinedFunctions"] == 0
    assert callee.properties["Uses"] == 0


def test_inline_cost(f: ir.Function) -> None:
    (call,) = f.call_sites
    cost = call.inline_cost
    assert cost
    assert cost.cost is not None
    assert cost.threshold is not None
    assert cost.cost < cost.threshold
    assert not cost.is_always
    callee = call.callee
    assert callee is not None
    callee.add_attribute("noinline")
    assert call.inline_cost.is_never
    assert call.inline_cost.reason == "noinline function attribute"
    assert not call.inline_cost
    callee.remove_attribute("noinline")
    callee.add_attribute("alwaysinline")
    assert call.inline_cost.is_always
    assert call.inline_cost.cost is None


def test_questions_that_have_no_answer(module: Module, f: ir.Function) -> None:
    declared = module.declare("outside", "i32 (i32)")
    with pytest.raises(InputError, match="analysis of function outside: expected a body, got a declaration"):
        _ = declared.loops
    call = ir.IRBuilder(instruction(f, "d")).call(declared, [f.arguments[3]])
    with pytest.raises(InputError, match="expected a direct call of a function with a body"):
        _ = call.inline_cost
    callee = module.function("callee")
    assert callee is not None
    with pytest.raises(InputError, match="two blocks of one function"):
        f.blocks[0].dominates(callee.blocks[0])
    with pytest.raises(InputError, match="two instructions of one function"):
        instruction(f, "d").dominates(callee.instructions[0])


def test_a_real_program_against_opt(corpus: Callable[[str, str], Path]) -> None:
    path = corpus("lz4", "O2")
    told = stock.printed(path, "function(print<loops>)")
    printed: dict[str, list[int]] = {}
    for line in told.splitlines():
        if found := re.match(r"Loop info for function '(.*)':", line):
            depths = printed[found[1]] = []
        elif found := re.match(r" *Loop at depth (\d+) containing:", line):
            depths.append(int(found[1]))
    module = Module.read(path)
    defined = [each for each in module.functions if not each.is_declaration]
    assert {each.name: sorted(loop.depth for loop in each.loops) for each in defined} == {
        name: sorted(depths) for name, depths in printed.items()
    }
    assert sum(map(len, printed.values())) > 20
