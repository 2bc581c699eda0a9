# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random questions and changes: a slice; ten thousand in the soak and in `make sanitize`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from passpilot.plugin.errors import IRError
from passpilot.plugin.ir import IRBuilder
from passpilot.plugin.module import Module
from tests import stock
from tests.plugin.ir.fuzz import fuzz

ODD = r"""
target triple = "x86_64-pc-linux-gnu"
@table = internal constant [2 x ptr] [ptr blockaddress(@jumps, %one), ptr blockaddress(@jumps, %two)]
declare i32 @__gxx_personality_v0(...)
declare void @may_throw()
declare void @escape(ptr)
declare token @llvm.experimental.convergence.entry()
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.localescape(...)
declare void @llvm.assume(i1)
declare i32 @llvm.ctpop.i32(i32)
define internal i32 @tail(i32 %a, ptr %p) {
  %b = add i32 %a, 1
  %r = musttail call i32 @tail2(i32 %b, ptr %p)
  ret i32 %r
}
define internal i32 @tail2(i32 %a, ptr %p) {
  %c = icmp eq i32 %a, 9
  br i1 %c, label %out, label %more
out:
  ret i32 %a
more:
  %r = musttail call i32 @tail(i32 %a, ptr %p)
  ret i32 %r
}
define i32 @throws(i32 %n) personality ptr @__gxx_personality_v0 {
entry:
  %slot = alloca i32
  %other = alloca i32
  call void @llvm.lifetime.start.p0(ptr %slot)
  call void (...) @llvm.localescape(ptr %other)
  invoke void @may_throw() to label %fine unwind label %pad
fine:
  %m = phi i32 [ %n, %entry ], [ 3, %pad ]
  switch i32 %m, label %done [ i32 1, label %again
                               i32 2, label %again ]
again:
  %q = phi i32 [ 7, %fine ], [ 7, %fine ]
  %k = call i32 @llvm.ctpop.i32(i32 %q)
  %z = icmp ult i32 %k, 5
  call void @llvm.assume(i1 %z)
  invoke void @escape(ptr %slot) to label %done unwind label %pad
done:
  %e = phi i32 [ %m, %fine ], [ %k, %again ]
  ret i32 %e
pad:
  %w = phi i32 [ 0, %entry ], [ %q, %again ]
  %l = landingpad { ptr, i32 } cleanup catch ptr null
  %x = extractvalue { ptr, i32 } %l, 1
  %y = icmp eq i32 %x, %w
  br i1 %y, label %fine, label %leave
leave:
  resume { ptr, i32 } %l
}
define void @jumps(i32 %i) {
entry:
  %g = getelementptr [2 x ptr], ptr @table, i32 0, i32 %i
  %a = load ptr, ptr %g
  indirectbr ptr %a, [label %one, label %two]
one:
  callbr void asm sideeffect "", "!i"() to label %two [label %three]
two:
  ret void
three:
  ret void
}
define void @funnel(ptr swifterror %err) {
  %e = alloca swifterror ptr
  store ptr null, ptr %e
  call void @funnel(ptr swifterror %e)
  %v = load ptr, ptr %e
  store ptr %v, ptr %err
  ret void
}
define void @together() convergent {
  %t = call token @llvm.experimental.convergence.entry()
  call void @may_throw() convergent [ "convergencectrl"(token %t) ]
  ret void
}
define internal void @bare() naked {
  call void asm sideeffect "ret", ""()
  unreachable
}
define void @calls_bare() {
  call void @bare()
  ret void
}
define <2 x i64> @wide(<2 x i64> %v, ptr byval(i64) %p) {
  %s = extractelement <2 x i64> %v, i32 0
  %c = load atomic i64, ptr %p seq_cst, align 8
  %o = cmpxchg ptr %p, i64 %s, i64 %c acq_rel monotonic
  %x = extractvalue { i64, i1 } %o, 0
  %i = insertelement <2 x i64> %v, i64 %x, i32 1
  fence seq_cst
  ret <2 x i64> %i
}
"""
"""What has rules of its own: musttail, exception pads, tokens, swifterror, naked, callbr, block addresses."""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Random modules, and one that clang made."""
    folder = tmp_path_factory.mktemp("sources")
    files = [stock.clang(stock.MANY_CALLS, folder / "calls.bc", "-g")]
    (folder / "odd.ll").write_text(ODD)
    files.append(folder / "odd.ll")
    for seed in range(12):
        stock.run("llvm-stress", "-size=80", f"-seed={seed}", "-o", folder / f"{seed}.ll")
        files.append(folder / f"{seed}.ll")
    return files


def small_units(corpus: Callable[[str, str], Path]) -> list[Path]:
    """Some translation units of real programs in C and C++."""
    folders = (corpus("libyaml", "O2").parent, corpus("box2d", "Oz").parent)
    units = (sorted(each.glob("*.bc"), key=lambda file: file.stat().st_size) for each in folders)
    return [unit for each in units for unit in each[1:4]]


def test_a_slice(sources: list[Path]) -> None:
    assert fuzz([each.read_bytes() for each in sources], 0, 150) > 500


def test_what_has_rules_of_its_own() -> None:
    assert fuzz([ODD.encode()], 250, 100) > 300
    module = Module.read(ODD.encode())
    together, jumps = module.function("together"), module.function("jumps")
    assert together is not None
    assert jumps is not None
    with pytest.raises(IRError, match="expected a call that LLVM accepts, got Cannot mix controlled"):
        IRBuilder(together.instructions[-1]).call(together, [])
    plain = IRBuilder(jumps.instructions[0]).call(together, [])
    with pytest.raises(IRError, match="expected functions without convergence tokens"):
        plain.inline()
    module.verify()


def test_a_real_program(corpus: Callable[[str, str], Path]) -> None:
    units = small_units(corpus)
    assert fuzz([each.read_bytes() for each in units], 0, 12) > 20


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_ten_thousand_sequences(sources: list[Path], corpus: Callable[[str, str], Path]) -> None:
    assert fuzz([each.read_bytes() for each in (*sources, *small_units(corpus))], 0, 10_000) > 20_000
