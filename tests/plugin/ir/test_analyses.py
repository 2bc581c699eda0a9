# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Analyses on demand against opt's printers; and a change makes each say something else."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from passpilot.plugin import ir
from passpilot.plugin.errors import InputError
from passpilot.plugin.module import Module
from tests import stock
from tests.corpus.build import bindir
from tests.plugin.ir.named import block, function, instruction

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


def test_alias_by_sizes(module: Module, f: ir.Function) -> None:
    q, slot = f.arguments[1], instruction(f, "slot")
    build = ir.IRBuilder(instruction(f, "inside"))
    later = build.getelementptr(module.type("i8"), q, [module.constant("i64 4")])
    sizes = ((4, 4), (5, 4), (4, 5), (None, 4), (4, None))
    assert [f.alias(q, later, a, b) for a, b in sizes] == ["no", "partial", "no", "may", "may"]
    assert [f.alias(later, q, a, b) for a, b in sizes] == ["no", "no", "partial", "may", "may"]
    n, callee = f.arguments[3], function(module, "callee")
    with pytest.raises(InputError, match=r"alias in function f: expected a pointer .* got i32 %n$"):
        f.alias(n, q)
    for a, b in ((slot, q), (q, slot)):
        told = r"alias in function callee: expected a pointer of this function, got ptr %(slot|q) of f$"
        with pytest.raises(InputError, match=told):
            callee.alias(a, b)
    assert callee.alias(module.globals[0], module.globals[0]) == "must"


def test_costs_of_each_kind(tmp_path: Path) -> None:
    shift = "define void @f(<2 x i64> %w) {\n  %s = shl <2 x i64> %w, %w\n  ret void\n}\n"
    (tmp_path / "in.ll").write_text(f'target triple = "x86_64-pc-linux-gnu"\n{shift}')
    command = [str(bindir() / "opt"), "-passes=print<cost-model>", "-cost-kind=all", "-disable-output"]
    told = subprocess.run(
        [*command, str(tmp_path / "in.ll")], capture_output=True, check=True, text=True
    ).stderr
    found = re.search(r"RThru:(\d+) CodeSize:(\d+) Lat:(\d+) SizeLat:(\d+) +for: +%s = shl", told)
    assert found
    (f,) = Module.read(tmp_path / "in.ll").functions
    kinds = ("throughput", "code-size", "latency", "size-and-latency")
    costs = [f.instructions[0].cost(kind) for kind in kinds]
    assert costs == [int(each) for each in found.groups()]
    assert len(set(costs)) == 4


def test_what_the_target_does_not_have_costs_none() -> None:
    text = "define void @f(<vscale x 4 x i32> %a) {\n  %c = add <vscale x 4 x i32> %a, %a\n  ret void\n}\n"
    (f,) = Module.read(f'target triple = "aarch64-unknown-linux-gnu"\n{text}'.encode()).functions
    assert f.instructions[0].cost() is None
    f.add_attribute('"target-features"="+sve"')
    assert f.instructions[0].cost() == 1


def test_unreachable_blocks_and_edges_that_lead_to_one_block(module: Module, f: ir.Function) -> None:
    island, check, then = f.add_block("island"), block(f, "check"), block(f, "then")
    assert island.immediate_dominator is None
    assert check.dominates(island)
    assert not island.dominates(check)
    assert check.dominates(check)
    assert block(f, "inner").probability_to(block(f, "inner")) > 0.9
    check.set_conditional_branch(f.arguments[2], then, then)
    assert check.probability_to(then) == 1
    assert module.function("f") == f


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
    assert (cost.is_always, cost.is_never, cost.reason) == (False, False, None)
    callee = call.callee
    assert callee is not None
    callee.add_attribute("noinline")
    assert call.inline_cost.is_never
    assert call.inline_cost.reason == "noinline function attribute"
    assert not call.inline_cost
    callee.remove_attribute("noinline")
    callee.add_attribute("alwaysinline")
    assert call.inline_cost.is_always
    assert call.inline_cost
    assert (call.inline_cost.cost, call.inline_cost.threshold, call.inline_cost.is_never) == (
        None,
        None,
        False,
    )
    assert call.inline_cost.reason == "always inline attribute"


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
