# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Features that nobody reads are not computed, and change nothing: not the questions, not what is read."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from passpilot.features.point import find_point
from passpilot.passes.llvm_advisors import InlineAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin.module import Module
from passpilot.runners.native import function_runner
from tests import stock
from tests.corpus.programs import programs
from tests.passes.inline import crafted

if TYPE_CHECKING:
    from passpilot.runners.python import Observation

pytestmark = pytest.mark.filterwarnings("ignore::passpilot.PasspilotWarning")  # the budget is small

POINT: Final = find_point("inline")
NAMES: Final = tuple(spec.name for spec in POINT.features if spec.name != "inlining_default")
CHEAP: Final = tuple(name for name in NAMES[25:] if name != "cost_estimate")
CALLBACK: Final = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.POINTER(ctypes.c_int64)),
    ctypes.POINTER(ctypes.c_int64),
)
SUBSETS: Final[dict[str, tuple[str, ...]]] = {
    "none": (),
    "without-cost-analysis": CHEAP,
    **{name: (name,) for name in CHEAP},
    "cost_estimate": ("cost_estimate",),
    "a-part-of-the-cost": ("callsite_cost", "edge_count"),
}
REFUSED: Final = (
    crafted.HEAD
    + """
declare void @llvm.va_start.p0(ptr)
declare i32 @setjmp(ptr) returns_twice
declare void @once() noduplicate
@out = global i32 0
@label = global ptr null

define internal i32 @leaf(i32 %x) {
  store volatile i32 %x, ptr @out
  ret i32 %x
}
define internal void @dynamic(i64 %n) {
  %p = alloca i8, i64 %n
  store volatile ptr %p, ptr @label
  ret void
}
define internal void @variadic(i32 %n, ...) {
  %p = alloca ptr
  call void @llvm.va_start.p0(ptr %p)
  ret void
}
define internal i32 @twice(ptr %p) {
  %x = call i32 @setjmp(ptr %p) returns_twice
  ret i32 %x
}
define internal void @moved() {
  call void @once()
  ret void
}
define internal void @jumps(ptr %to) {
entry:
  indirectbr ptr %to, [label %a, label %b]
a:
  ret void
b:
  ret void
}
define internal void @labelled(i1 %c) {
entry:
  store ptr blockaddress(@labelled, %a), ptr @label
  br i1 %c, label %a, label %b
a:
  ret void
b:
  ret void
}
define internal i32 @calls(ptr %f, i32 %x) {
  %y = call i32 %f(ptr %f, i32 %x)
  ret i32 %y
}
define internal i32 @large(i32 %x) {
  %p = alloca [2048 x i8]
  store volatile i8 0, ptr %p
  ret i32 %x
}
define i32 @recursive(ptr %p, i32 %x) {
  %a = call i32 @large(i32 %x)
  %b = call i32 @recursive(ptr %p, i32 %a)
  ret i32 %b
}
define i32 @caller(ptr %p, i64 %n, i1 %c) {
  call void @dynamic(i64 %n)
  call void @dynamic(i64 8)
  call void (i32, ...) @variadic(i32 1, i32 2)
  %a = call i32 @twice(ptr %p)
  call void @moved()
  call void @moved()
  call void @jumps(ptr %p)
  call void @labelled(i1 %c)
  %b = call i32 @calls(ptr @calls, i32 %a)
  %d = call i32 @calls(ptr @leaf, i32 %b)
  %e = call i32 @large(i32 %d)
  %f = call i32 @leaf(i32 %e)
  ret i32 %f
}
"""
)

MODULES: Final = {**crafted.ALL, "refused": REFUSED}


def advised(
    source: Path, names: Sequence[str], level: str, log: Path | None
) -> tuple[list[tuple[int, ...]], bytes, dict[str, float]]:
    """What a native runner of these features was told, the module that its answers made, and the counts."""
    told: list[tuple[int, ...]] = []

    def decide(_: object, inputs: Sequence[Sequence[int]], output: list[int]) -> int:
        values = tuple(inputs[i][0] for i in range(len(names)))
        told.append(values)
        output[0] = (hash(values) ^ len(told)) % 3 != 0
        return 0

    made = CALLBACK(decide)
    address = ctypes.cast(made, ctypes.c_void_p).value
    assert address is not None
    runner = function_runner(address, POINT.select(list(names)), POINT.advice)
    module = Module.read(source)
    with InlineAdvisor(runner, log=str(log) if log else None, size_budget=1.5) as advisor:
        optimize(module, f"default<{level}>", [advisor])
        assert advisor._core is not None
        counts = {name: advisor._core.counts[name] for name in ("asked", "not_askable", "budget_hits")}
    return told, module.bitcode(), counts


def same_with_a_log(source: Path, names: Sequence[str], level: str, folder: Path) -> int:
    """A log makes passpilot compute all features. Returns the number of questions."""
    told, code, counts = advised(source, names, level, None)
    logged_told, logged_code, logged_counts = advised(source, names, level, folder / "all.log")
    assert (told, counts) == (logged_told, logged_counts)
    assert stock.same(code, logged_code)
    return len(told)


@pytest.mark.parametrize("subset", SUBSETS)
@pytest.mark.parametrize("name", MODULES)
def test_small_modules(name: str, subset: str, tmp_path: Path) -> None:
    source = tmp_path / "module.ll"
    source.write_text(MODULES[name])
    same_with_a_log(source, SUBSETS[subset], "O2", tmp_path)


def test_what_llvm_refuses_is_not_asked(tmp_path: Path) -> None:
    source = tmp_path / "module.ll"
    source.write_text(REFUSED)
    told, _, counts = advised(source, (), "O2", None)
    assert len(told) == counts["asked"]
    assert 1 <= counts["asked"] < 12


@pytest.mark.parametrize("subset", ["none", "without-cost-analysis", "edge_count"])
@pytest.mark.parametrize(("program", "level"), [("lz4", "Oz"), ("libsvm", "O2")])
def test_programs(program: str, level: str, subset: str, tmp_path: Path) -> None:
    assert same_with_a_log(programs()[program].whole(level), SUBSETS[subset], level, tmp_path) > 100


@pytest.mark.parametrize(("program", "level"), [("lz4", "Oz"), ("libsvm", "O2")])
def test_a_policy_reads_what_it_did_not_declare(program: str, level: str) -> None:
    """The feature is computed when the policy reads it, and not before."""

    def told(declared: tuple[str, ...]) -> tuple[list[list[int]], list[bool]]:
        values: list[list[int]] = []
        computed: list[bool] = []

        def policy(obs: Observation) -> bool:
            there = views["cost_estimate"].item()
            values.append([int(obs[name].item()) for name in NAMES])
            computed.append(there == obs["cost_estimate"].item())
            return len(values) % 3 != 0

        policy.features = declared  # type: ignore[attr-defined]
        with InlineAdvisor(policy) as advisor:
            assert advisor._core is not None
            views = advisor._core.views(False)
            optimize(Module.read(programs()[program].whole(level)), f"default<{level}>", [advisor])
        return values, computed

    (expected, before), (found, late) = told(NAMES), told(())
    assert len(found) > 100
    assert found == expected
    assert all(before)
    assert late.count(False) > len(late) / 2


LATER: Final = """\
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare ptr @next()
declare i64 @llvm.expect.i64(i64, i64)

define ptr @outer(ptr %p, i1 %asked) minsize {
  %kept = alloca ptr
  %unused = call ptr @inner(ptr null)
  br i1 %asked, label %look, label %join

look:
  %kind = load i32, ptr %p
  %some = icmp ne i32 %kind, 0
  br label %join

join:
  %found = phi i1 [ false, %0 ], [ %some, %look ]
  %wide = zext i1 %found to i64
  %likely = call i64 @llvm.expect.i64(i64 %wide, i64 0)
  %taken = icmp ne i64 %likely, 0
  br i1 %taken, label %end, label %keep

keep:
  store ptr null, ptr %kept
  br label %end

end:
  %result = phi ptr [ %p, %keep ], [ null, %join ]
  ret ptr %result
}

define ptr @inner(ptr %p) {
  %unused = call ptr @next()
  %kind = load i32, ptr %p
  %none = icmp eq i32 %kind, 0
  br i1 %none, label %read, label %end

read:
  br label %end

end:
  %result = phi ptr [ %p, %read ], [ null, %0 ]
  ret ptr %result
}
"""
"""Reduced from duktape: a pass behind the inliner makes other code if somebody has left loops for it."""


def test_nothing_is_left_for_later_passes(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(LATER)
    stock.run("opt", "-passes=default<O2>", tmp_path / "in.ll", "-o", tmp_path / "out.bc")
    module = Module.read(tmp_path / "in.ll")
    with InlineAdvisor("default", log=str(tmp_path / "log")) as advisor:
        optimize(module, "default<O2>", [advisor])
        assert advisor.stats.decisions == 1
    assert module.bitcode() == (tmp_path / "out.bc").read_bytes()
