# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`IRBuilder.phi` and `alloca`, and `Instruction.set_incoming`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from passpilot.plugin import ir
from passpilot.plugin.module import Module
from tests.plugin.ir.named import block, function, instruction
from tests.plugin.ir.test_mutations import TEXT, check, refused


@pytest.fixture
def module() -> Iterator[Module]:
    module = Module.read(TEXT.encode(), name="text")
    yield module
    module.verify()


@pytest.fixture
def f(module: Module) -> ir.Function:
    return function(module, "f")


def test_phis_and_allocas(module: Module, f: ir.Function) -> None:
    n, p, _, _ = f.arguments
    i32, r, s = module.type("i32"), instruction(f, "r"), instruction(f, "s")
    then, other, join = block(f, "then"), block(f, "else"), block(f, "join")
    build = ir.IRBuilder(instruction(f, "last"))
    phi = build.phi(i32, [(s, other), (n, then)], "chosen")
    place = ir.IRBuilder(instruction(f, "a")).alloca(module.type("[4 x i32]"), "place")
    build.store(phi, place)
    check(
        module, r"%place = alloca \[4 x i32\], align \d+", "join:", "%m = phi i32",
        r"%chosen = phi i32 \[ (%n, %then|%s, %else) \], \[ (%n, %then|%s, %else) \]",
        "store i32 %chosen, ptr %place",
    )  # fmt: skip
    phi.set_incoming(then, r)
    check(module, r"%chosen = phi i32 .*\[ %r, %then \]")
    assert phi.block == join
    for change, match in (
        (lambda: build.phi(i32, [(s, other)]), "a value from each predecessor, got none from label %then"),
        (lambda: build.phi(i32, [(s, other), (r, then), (n, join)]), "predecessors of the block"),
        (lambda: build.phi(i32, [(s, other), (r, then), (r, then)]), "one value from each predecessor"),
        (lambda: build.phi(i32, [(r, other), (r, then)]), "an operand that is computed before"),
        (lambda: build.phi(i32, [(p, other), (r, then)]), "a value of type i32, got ptr %p"),
        (lambda: ir.IRBuilder(instruction(f, "a")).phi(i32, []), "a block with predecessors"),
        (lambda: build.alloca(module.type("label")), "a type of known size"),
        (lambda: phi.set_incoming(join, r), "a predecessor of the block"),
        (lambda: phi.set_incoming(other, r), "an operand that is computed before"),
        (lambda: r.set_incoming(other, n), "a phi, got"),
    ):
        refused(module, match, change)


def test_a_loop(module: Module, f: ir.Function) -> None:
    """Its counter needs the phi, and the phi the counter."""
    join, n = block(f, "join"), f.arguments[0]
    body = instruction(f, "last").split_before("body")
    end = body.terminator.split_before("end")
    body.set_conditional_branch(module.constant("i1 false"), body, end)
    build = ir.IRBuilder(body.terminator)
    count = build.phi(module.type("i32"), [(n, join), (n, body)], "count")
    count.set_incoming(body, build.binary("add", count, module.constant("i32 1"), "next"))
    module.verify()
    check(module, "body:", r"%count = phi i32 .*%next, %body", "%next = add i32 %count, 1")
