# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes of blocks and instructions that the rules of LLVM forbid, and what is close to them and allowed."""

from __future__ import annotations

import pytest

from passpilot.plugin import ir
from passpilot.plugin.module import Module
from tests.plugin.ir.named import block, function, instruction
from tests.plugin.ir.test_mutations import check, refused

PADS = """
declare i32 @__gxx_personality_v0(...)
declare i32 @__CxxFrameHandler3(...)
declare void @may_throw()
define void @itanium() personality ptr @__gxx_personality_v0 {
entry:
  invoke void @may_throw() to label %out unwind label %pad
out:
  ret void
pad:
  %caught = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %caught
}
define void @funclets() personality ptr @__CxxFrameHandler3 {
entry:
  invoke void @may_throw() to label %out unwind label %dispatch
dispatch:
  %cs = catchswitch within none [label %handler] unwind to caller
handler:
  %cp = catchpad within %cs [ptr null, i32 64, ptr null]
  catchret from %cp to label %out
out:
  ret void
}
define void @jumps(ptr %p, i1 %c) {
entry:
  br i1 %c, label %go, label %there
go:
  indirectbr ptr blockaddress(@jumps, %island), [label %there]
there:
  ret void
island:
  ret void
}
declare ptr @next(i32)
define ptr @last(i32 %n) {
  %m = add i32 %n, 1
  %r = musttail call ptr @next(i32 %m)
  %b = bitcast ptr %r to ptr
  ret ptr %b
}
declare void @llvm.localescape(...)
declare void @llvm.gcroot(ptr, ptr)
declare token @llvm.experimental.convergence.entry()
declare token @llvm.experimental.convergence.anchor()
declare double @llvm.fabs.f64(double)
declare void @use() convergent
define void @escapes(i32 %n, double %d) {
entry:
  %slot = alloca i32
  %a = add i32 %n, 1
  call void (...) @llvm.localescape(ptr %slot)
  %after = add i32 %n, 2
  %abs = call double @llvm.fabs.f64(double %d)
  ret void
}
define void @roots(i32 %n) gc "erlang" {
entry:
  %slot = alloca ptr
  %a = add i32 %n, 1
  call void @llvm.gcroot(ptr %slot, ptr null)
  ret void
}
define void @converges(i32 %n) convergent {
entry:
  %t = call token @llvm.experimental.convergence.entry()
  %a = add i32 %n, 1
  ret void
island:
  %u = call token @llvm.experimental.convergence.anchor()
  br label %shore
shore:
  call void @use() [ "convergencectrl"(token %u) ]
  ret void
}
"""


@pytest.fixture
def module() -> Module:
    return Module.read(PADS.encode(), name="text")


def test_blocks_that_are_not_split(module: Module) -> None:
    for name, position, after in (("escapes", "a", "after"), ("roots", "a", None), ("converges", "t", "a")):
        f = function(module, name)
        told = f"^split_before at function {name}: expected a position after what the entry block must have"
        refused(module, told, instruction(f, position).split_before)
        allowed = instruction(f, after) if after else f.blocks[0].terminator
        assert allowed.split_before("tail") == f.blocks[1]
    module.verify()


@pytest.mark.parametrize(
    ("name", "place", "told"),
    [
        ("itanium", "caught", "a position after the exception pad, got"),
        ("funclets", "cp", "a position after the exception pad, got"),
        ("last", "b", "a position before the musttail call, got"),
        ("last", "", "a position before the musttail call, got   ret ptr %b"),
    ],
)
def test_positions_where_nothing_can_be(module: Module, name: str, place: str, told: str) -> None:
    f = function(module, name)
    position = instruction(f, place) if place else f.blocks[-1].terminator
    zero = module.constant("i32 0")
    refused(module, f"binary at function {name}: expected {told}", lambda: _add(position, zero))
    refused(module, f"split_before at function {name}: expected {told}", position.split_before)


def _add(position: ir.Instruction, value: ir.Value) -> ir.Instruction:
    return ir.IRBuilder(position).binary("add", value, value)


def test_blocks_that_are_not_erased(module: Module) -> None:
    jumps, converges = function(module, "jumps"), function(module, "converges")
    refused(
        module, "a block whose address is not taken, got block label %island", block(jumps, "island").erase
    )
    island = block(converges, "island")
    refused(module, "a block whose tokens are not used elsewhere, got   %u = call", island.erase)
    island.set_unreachable()
    refused(module, "a block whose tokens are not used elsewhere", island.erase)
    told = "erase at function jumps: expected a block without predecessors, got block label %there; change"
    refused(module, told, block(jumps, "there").erase)
    block(converges, "shore").erase()
    island.erase()
    module.verify()


@pytest.mark.parametrize(
    ("name", "place", "told"),
    [
        ("itanium", "entry", "a block that ends in a branch, switch or return, got   invoke"),
        ("funclets", "dispatch", "a block that ends in a branch, switch or return, got   %cs = catchswitch"),
        ("jumps", "go", "a block that ends in a branch, switch or return, got   indirectbr"),
        ("last", "", "a block without a musttail call, got   ret ptr %b"),
    ],
)
def test_terminators_that_stay(module: Module, name: str, place: str, told: str) -> None:
    from_ = block(function(module, name), place)
    refused(module, f"^set_unreachable at function {name}: expected {told}", from_.set_unreachable)


def test_targets_of_branches(module: Module) -> None:
    f, jumps = function(module, "itanium"), function(module, "jumps")
    out, pad, entry = block(f, "out"), block(f, "pad"), block(jumps, "entry")
    refused(module, "a block other than an exception pad, got label %pad", lambda: out.set_branch(pad))
    flag, there = jumps.arguments[1], block(jumps, "there")
    for targets in ((entry, there), (there, entry)):
        refused(module, "a block other than the entry, got label %entry",
                lambda t=targets: there.set_conditional_branch(flag, *t))  # type: ignore[misc]  # fmt: skip
    for targets in ((out, there), (there, out)):
        refused(module, "a block of that function, got label %out",
                lambda t=targets: there.set_conditional_branch(flag, *t))  # type: ignore[misc]  # fmt: skip
    late = instruction(function(module, "escapes"), "after")
    refused(module, "a value of that function, got i32 %after of escapes",
            lambda: there.set_conditional_branch(late, there, there))  # fmt: skip
    refused(module, "a value of the type void, got i32 1", lambda: there.set_return(module.constant("i32 1")))
    entry.set_return()
    assert str(entry.terminator) == "  ret void"
    declared = function(module, "may_throw")
    told = "^add_block at function may_throw: expected a function with a body, got a declaration$"
    refused(module, told, declared.add_block)


@pytest.mark.parametrize(
    ("name", "moved", "to"),
    [
        ("escapes", "slot", "after"),
        ("escapes", "abs", "after"),
        ("converges", "t", ""),
        ("itanium", "caught", ""),
        ("last", "b", "m"),
        ("last", "r", "m"),
    ],
)
def test_instructions_whose_place_is_not_free(module: Module, name: str, moved: str, to: str) -> None:
    f = function(module, name)
    what = instruction(f, moved)
    position = instruction(f, to) if to else what.block.terminator
    refused(module, f"move_before at function {name}: expected an instruction whose place is free, got",
            lambda: what.move_before(position))  # fmt: skip
    if to != "m":
        last = what.block.terminator
        refused(module, "whose place is free", lambda: last.move_before(what))


def test_instructions_that_are_not_erased(module: Module) -> None:
    pad = instruction(function(module, "itanium"), "caught")
    refused(module, "an instruction other than an exception pad, got   %caught", pad.erase)
    escape = function(module, "escapes").call_sites[0]
    refused(module, "a call that other functions do not refer to, got   call", escape.erase)
    f = function(module, "last")
    told = (
        "^erase at function last: expected an instruction without users, got 1 of  %m = add i32 %n, 1; "
        "replace_all_uses_with first$"
    )
    refused(module, told, instruction(f, "m").erase)
    told = "got   ret ptr %b; use set_branch, set_return or set_unreachable of its block$"
    refused(module, told, f.blocks[0].terminator.erase)


def test_values_that_nothing_else_can_use(module: Module) -> None:
    last, converges = function(module, "last"), function(module, "converges")
    r = instruction(last, "r")
    refused(
        module,
        "a value other than a musttail call's, got   %r",
        lambda: r.replace_all_uses_with(_null(module)),
    )
    token = instruction(converges, "u")
    refused(module, "a value that can be copied, got token %u", lambda: token.replace_all_uses_with(token))
    absolute = function(module, "llvm.fabs.f64")
    build = ir.IRBuilder(last.instructions[0])
    refused(module, "a function that has an address, got ptr @llvm.fabs.f64",
            lambda: build.compare("eq", absolute, _null(module)))  # fmt: skip
    build.compare("eq", function(module, "next"), _null(module), "same")
    assert str(instruction(last, "same")) == "  %same = icmp eq ptr @next, null"


def _null(module: Module) -> ir.Constant:
    return module.constant("ptr null")


PARTICULAR = """
declare void @llvm.lifetime.start.p0(ptr)
declare void @swift(ptr swifterror)
declare void @stack(ptr inalloca(i32))
declare void @many(i32, ...)
define void @lives(ptr %p, ptr %q) {
  %slot = alloca i32
  call void @llvm.lifetime.start.p0(ptr %slot)
  ret void
}
define void @gives(ptr %p) {
  %slot = alloca i32
  call void @stack(ptr inalloca(i32) %p)
  ret void
}
define void @pushes() {
  %slot = alloca i32
  %arg = alloca inalloca i32
  %part = getelementptr inbounds i8, ptr %arg, i64 0
  call void @stack(ptr inalloca(i32) %part)
  ret void
}
define void @error(ptr swifterror %e, ptr %p) {
  %x = load ptr, ptr %p
  ret void
}
define void @bare(i32 %n) naked {
  unreachable
}
"""


def test_users_that_accept_few_values() -> None:
    module = Module.read(PARTICULAR.encode())
    lives, error, bare = (function(module, name) for name in ("lives", "error", "bare"))
    told = (
        "^replace_all_uses_with at function lives: expected a value that its users accept, got llvm.lifetime"
    )
    slot = instruction(lives, "slot")
    refused(module, told, lambda: slot.replace_all_uses_with(lives.arguments[0]))
    for name, old in (("gives", "p"), ("pushes", "arg")):
        f = function(module, name)
        found = f.arguments[0] if old == "p" else instruction(f, old)
        new = instruction(f, "slot")
        told = f"at function {name}: expected a value that its users accept, got inalloca argument"
        refused(module, told, lambda o=found, n=new: o.replace_all_uses_with(n))  # type: ignore[misc]
    x, e = instruction(error, "x"), error.arguments[0]
    refused(module, "a value other than swifterror, got ptr %e", lambda: x.replace_all_uses_with(e))
    build = ir.IRBuilder(bare.blocks[0].terminator)
    refused(module, "no argument in a naked function, got i32 %n",
            lambda: build.binary("add", bare.arguments[0], module.constant("i32 1")))  # fmt: skip
    build = ir.IRBuilder(error.blocks[0].terminator)
    for callee in ("swift", "stack"):
        refused(module, "a value of type ptr that a plain call can pass, got ptr %x",
                lambda c=callee: build.call(function(module, c), [x]))  # type: ignore[misc]  # fmt: skip


def test_calls_that_are_not_made(module: Module) -> None:
    funclets, converges = function(module, "funclets"), function(module, "converges")
    throwing = function(module, "may_throw")
    build = ir.IRBuilder(block(funclets, "out").terminator)
    refused(module, "call at function funclets: expected a caller without funclets, got funclets",
            lambda: build.call(throwing, []))  # fmt: skip
    build = ir.IRBuilder(block(function(module, "itanium"), "out").terminator)
    refused(module, "expected 0 arguments for @may_throw, got 1",
            lambda: build.call(throwing, [module.constant("i32 1")]))  # fmt: skip
    assert str(build.call(throwing, [], "ignored")) == "  call void @may_throw()"
    throwing.add_attribute("convergent")
    build = ir.IRBuilder(block(converges, "shore").terminator)
    refused(module, "call at function converges: expected a call that LLVM accepts, got ",
            lambda: build.call(throwing, []))  # fmt: skip


EDGES = """
define i32 @f(i32 %n, i1 %flag, ptr %p) {
entry:
  %a = add i32 %n, 1
  switch i32 %n, label %other [
    i32 0, label %join
    i32 1, label %join
  ]
other:
  %b = add i32 %n, 2
  br label %join
join:
  %m = phi i32 [ %a, %entry ], [ %a, %entry ], [ %b, %other ]
  ret i32 %m
}
define i32 @g(i32 %n) {
entry:
  %c = add i32 %n, 1
  ret i32 %c
}
"""


def test_phis_follow_the_edges_of_a_new_terminator() -> None:
    module = Module.read(EDGES.encode())
    f = function(module, "f")
    other, join = block(f, "other"), block(f, "join")
    other.set_conditional_branch(f.arguments[1], join, join)
    check(module, r"%m = phi i32 \[ %a, %entry \], \[ %a, %entry \], \[ %b, %other \], \[ %b, %other \]")
    other.set_branch(join)
    check(module, r"%m = phi i32 \[ %a, %entry \], \[ %a, %entry \], \[ %b, %other \]\n")
    fresh = f.add_block("fresh")
    fresh.set_return(instruction(f, "m"))
    refused(module, "a terminator that leaves the function valid, got Instruction does not dominate",
            lambda: other.set_branch(fresh))  # fmt: skip
    refused(module, "a terminator that leaves the function valid",
            lambda: other.set_conditional_branch(f.arguments[1], join, fresh))  # fmt: skip
    f.blocks[0].set_branch(other)
    check(module, r"%m = phi i32 \[ %b, %other \]\n")
    told = r"^set_unreachable at function f: expected a block with phis to stay reachable, got label %join; "
    refused(module, told + "replace the uses of its phis, erase them$", other.set_unreachable)


def test_a_phi_has_one_value_for_two_edges_of_a_block() -> None:
    module = Module.read(EDGES.encode())
    f, g = function(module, "f"), function(module, "g")
    entry, other, join = f.blocks
    a, b, i32 = instruction(f, "a"), instruction(f, "b"), module.type("i32")
    build = ir.IRBuilder(join.terminator)
    phi = build.phi(i32, [(b, other), (a, entry)], "new")
    assert sorted(each.as_operand for each, _ in phi.incoming) == ["i32 %a", "i32 %a", "i32 %b"]
    phi.set_incoming(entry, f.arguments[0])
    assert sorted(each.as_operand for each, _ in phi.incoming) == ["i32 %b", "i32 %n", "i32 %n"]
    foreign = [(b, other), (instruction(g, "c"), g.blocks[0])]
    refused(module, "phi at function f: expected blocks of the function", lambda: build.phi(i32, foreign))
    refused(module, "a value of type i32, got ptr %p", lambda: phi.set_incoming(entry, f.arguments[2]))
    refused(module, "two from label %other", lambda: build.phi(i32, [(b, other), (b, other), (a, entry)]))
