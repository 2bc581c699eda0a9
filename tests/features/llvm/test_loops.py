# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The features of loops, against what is counted by hand in small loops."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from passpilot.features.llvm.loop import LOOP_FEATURES, body_of, observe_loop
from passpilot.features.llvm.vectorize import VECTOR_PLANS, observe
from passpilot.plugin._core import Loop
from passpilot.plugin.module import Module

VECTORIZABLE: Final = Path(__file__).parents[3] / "lit_tests" / "passes" / "Inputs" / "vectorizable.ll"

BRANCHING: Final = """
target triple = "x86_64-pc-linux-gnu"
declare void @outside(i32)
declare i32 @llvm.smax.i32(i32, i32)
define void @f(ptr %p, i32 %n, float %x, ptr %to) {attributes} {{
entry:
  br i1 {entered}, label %before, label %away
before:
  br label %loop
loop:
  %i = phi i32 [ 0, %before ], [ %next, %latch ]
  %s = phi float [ 0.0, %before ], [ %t, %latch ]
  %j = phi i32 [ %n, %before ], [ %m, %latch ]
  %m = call i32 @llvm.smax.i32(i32 %j, i32 %i)
  call void @outside(i32 %m)
  call void %to()
  %v = load i32, ptr %p
  %w = load volatile i32, ptr %p
  store i32 %m, ptr %p
  %early = icmp eq i32 %v, %w
  br i1 %early, label %away, label %body
body:
  switch i32 %v, label %latch [ i32 3, label %other ]
other:
  br label %latch
latch:
  %t = fadd float %s, %x
  %next = add i32 %i, 1
  {back}
away:
  ret void
}}
"""
ENDLESS: Final = "br label %loop"
COUNTED: Final = "%more = icmp ult i32 %next, %n\n  br i1 %more, label %loop, label %away"


def loop_of(text: str) -> Loop:
    function = Module.read(text.encode(), name="text").functions[-1]
    (loop,) = function.loops
    return loop


def branching(attributes: str = "", entered: str = "true", back: str = COUNTED) -> Mapping[str, object]:
    loop = loop_of(BRANCHING.format(attributes=attributes, entered=entered, back=back))
    return observe_loop(loop, body_of(loop))


def picked(values: Mapping[str, object], names: str) -> list[object]:
    return [values[name] for name in names.split()]


def test_shape_of_a_loop_with_branches() -> None:
    assert picked(branching(), "blocks exits latch_exits phis depth") == [4, 2, True, 3, 1]
    assert picked(branching(back=ENDLESS), "blocks exits latch_exits phis") == [4, 1, False, 3]


def test_one_of_several_latches_may_leave_the_loop() -> None:
    text = """
define void @f(i32 %n, i1 %c) {
entry:
  br label %loop
loop:
  br i1 %c, label %one, label %two
one:
  br label %loop
two:
  br i1 %c, label %loop, label %away
away:
  ret void
}
"""
    loop = loop_of(text)
    assert picked(observe_loop(loop, body_of(loop)), "blocks exits latch_exits") == [3, 1, True]


def test_mix_of_a_loop_with_branches() -> None:
    seen = branching(back=ENDLESS)
    assert picked(seen, "instructions loads stores") == [13, 2, 1]
    assert seen["calls"] == 2, "one through a pointer, none of the intrinsic"
    assert seen["branches"] == 2, "a branch and a switch"
    assert picked(seen, "floating_point divisions function_instructions") == [1, 0, 13 + 3 + 3]


@pytest.mark.parametrize(("attributes", "for_size"), [("", False), ("optsize", True), ("minsize", True)])
def test_loops_of_functions_for_size(attributes: str, for_size: bool) -> None:
    assert branching(attributes)["for_size"] is for_size


def test_a_trip_count_that_data_decide_is_unknown() -> None:
    names = "trip_count max_trip_count trip_multiple is_countable"
    assert picked(branching(back=ENDLESS), names) == [0, 0, 1, False]


SIMPLE: Final = """
target triple = "x86_64-pc-linux-gnu"
define void @f(ptr %p, i32 %n, i1 %c) {{
entry:
  {count}
  br i1 %c, label %before, label %away
before:
  {before}
loop:
  %i = phi i32 [ 0, %before ], [ %next, %loop ]
  %to = getelementptr i32, ptr %p, i32 %i
  store volatile i32 %i, ptr %to
  %next = add nuw nsw i32 %i, 1
  %more = icmp {compare} i32 %next, %count
  br i1 %more, label %loop, label %away
away:
  ret void
}}
"""


@pytest.mark.parametrize(
    ("count", "compare", "expected"),
    [
        ("%count = and i32 %n, 7", "ult", [0, 7, 1, True]),
        ("%some = shl nuw i32 %n, 2\n  %count = or i32 %some, 64", "ne", [0, 2**32 - 4, 4, True]),
        ("%count = add i32 3, 2", "ult", [5, 5, 5, True]),
    ],
)
def test_trip_counts_that_are_partly_known(count: str, compare: str, expected: list[object]) -> None:
    loop = loop_of(SIMPLE.format(count=count, before="br label %loop", compare=compare))
    seen = observe_loop(loop, body_of(loop))
    assert picked(seen, "trip_count max_trip_count trip_multiple is_countable") == expected


def test_frequency_is_per_call_and_iterations_are_per_entry() -> None:
    """Every second call enters the loop."""
    count = "%count = add i32 %n, 0"
    loop = loop_of(SIMPLE.format(count=count, before="br label %loop", compare="ult"))
    seen = observe_loop(loop, body_of(loop))
    assert seen["iterations"] == pytest.approx(32, rel=0.01)
    assert seen["frequency"] == pytest.approx(16, rel=0.01)


def test_a_loop_without_a_preheader_has_no_iterations() -> None:
    before = "br i1 %c, label %loop, label %away"
    loop = loop_of(SIMPLE.format(count="%count = add i32 %n, 0", before=before, compare="ult"))
    seen = observe_loop(loop, body_of(loop))
    assert seen["iterations"] == 0
    assert seen["frequency"] != 0


OPERATIONS: Final = {
    **{f"{name} float %x, %x": (1, 0, 0) for name in ("fadd", "fsub", "fmul")},
    **{f"{name} float %x, %x": (1, 1, 0) for name in ("fdiv", "frem")},
    **{f"{name} i32 %n, %n": (0, 1, 0) for name in ("sdiv", "udiv", "srem", "urem")},
    "fneg float %x": (1, 0, 0),
    "fcmp oeq float %x, %x": (1, 0, 0),
    "icmp eq i32 %n, %n": (0, 0, 0),
    "mul i32 %n, %n": (0, 0, 0),
    "trunc i32 %n to i8": (0, 0, 1),
    "zext i32 %n to i64": (0, 0, 1),
    "sext i32 %n to i64": (0, 0, 1),
    "fptrunc double %d to float": (0, 0, 1),
    "fpext float %x to double": (0, 0, 1),
    "fptosi float %x to i32": (0, 0, 1),
    "fptoui float %x to i32": (0, 0, 1),
    "sitofp i32 %n to float": (0, 0, 1),
    "uitofp i32 %n to float": (0, 0, 1),
    "bitcast i32 %n to float": (0, 0, 0),
}
"""How many floating-point operations, divisions and conversions each of them is."""

SUM: Final = """
target triple = "{triple}"
define void @f(ptr %p, i32 %n, float %x, double %d) {{
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %to = getelementptr i32, ptr %p, i64 %i
  %more = {operation}
  store i32 1, ptr %to
  %next = add nuw nsw i64 %i, 1
  %again = icmp ult i64 %next, {count}
  br i1 %again, label %loop, label %done
done:
  ret void
}}
"""


def vectorized(
    operation: str = "add i32 %n, 1", *, count: int = 64, triple: str = "x86_64-pc-linux-gnu"
) -> Mapping[str, object]:
    """The features of a loop that LLVM can vectorize."""
    loop = loop_of(SUM.format(operation=operation, count=count, triple=triple))
    known = loop.vectorization
    assert known is not None
    return observe(loop, known)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_kinds_of_operations(operation: str) -> None:
    found = picked(vectorized(operation), "floating_point divisions conversions")
    assert tuple(found) == OPERATIONS[operation]


def test_costs_are_those_of_their_kinds() -> None:
    loop = loop_of(SUM.format(operation="fdiv float %x, %x", count=64, triple="x86_64-pc-linux-gnu"))
    seen = observe_loop(loop, body_of(loop))
    kinds = {"size": "code-size", "throughput": "throughput", "latency": "latency"}
    costs = {
        name: sum(inst.cost(kind) or 0 for block in loop.blocks for inst in block.instructions)
        for name, kind in kinds.items()
    }
    assert {name: seen[name] for name in kinds} == costs
    assert len(set(costs.values())) == 3, "no two can be taken for each other"


def plans(seen: Mapping[str, object]) -> list[tuple[int, int]]:
    assert isinstance(seen["mask"], list)
    return [plan for plan, allowed in zip(VECTOR_PLANS, seen["mask"][0], strict=True) if allowed]


@pytest.mark.parametrize(("count", "most"), [(15, 8), (16, 16), (17, 16)])
def test_a_plan_needs_no_more_iterations_than_there_are(count: int, most: int) -> None:
    assert max(width * times for width, times in plans(vectorized(count=count))) == most


def test_a_target_without_vectors_copies_the_body_for_each_lane() -> None:
    seen = vectorized(count=10**6, triple="riscv64")
    assert seen["register_bits"] == 0
    assert isinstance(seen["size"], int)
    most = max(lanes for lanes in (2**power for power in range(11)) if lanes * seen["size"] <= 1024)
    assert max(width * times for width, times in plans(seen)) == most < 1024


def test_footprint_of_an_unknown_trip_count_is_by_iterations() -> None:
    functions = {each.name: each for each in Module.read(VECTORIZABLE).functions}
    (loop,) = functions["add"].loops
    assert loop.vectorization is not None
    seen = observe(loop, loop.vectorization)
    assert picked(seen, "trip_count bytes") == [0, 12]
    assert seen["footprint"] == pytest.approx(12 * 32)


def test_checks_and_masks_of_a_loop() -> None:
    functions = {each.name: each for each in Module.read(VECTORIZABLE).functions}
    (loop,) = functions["hinted"].loops
    assert loop.vectorization is not None
    seen = observe(loop, loop.vectorization)
    assert picked(seen, "consecutive strided pointer_checks masked_blocks early_exit") == [1, 1, 1, 1, False]
    assert {row.spec.name for row in LOOP_FEATURES} < seen.keys()
