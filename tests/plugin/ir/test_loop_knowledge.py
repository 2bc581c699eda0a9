# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Loop.vectorization` and `Loop.distribution`: each field on loops in which it differs from the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from passpilot.passes.optimize import optimize
from passpilot.plugin import ir
from passpilot.plugin.module import Module
from tests import stock
from tests.plugin.ir.named import function

SOURCE = """
int table[1024];
void stride(int *restrict p, int n) { for (int i = 0; i < n; ++i) p[3 * i] += 1; }
void down(short *restrict p, long n) { for (long i = n; i > 0; --i) p[2 * i] = 7; }
void same(int *p, int *q, int n) { for (int i = 0; i < n; ++i) p[i] = *q + i; }
int find(int x) { for (int i = 0; i < 1024; ++i) if (table[i] == x) return i; return -1; }
int fault(int *p, int x) { for (int i = 0; i < 1024; ++i) if (p[i] == x) return i; return -1; }
void masks(int *restrict p, const int *restrict q, int n) {
  for (int i = 0; i < n; ++i) { if (q[i] > 0) p[i] = 1; if (q[i] < -5) p[i] = q[i] * 3; }
}
void forward(char *p, int n) { for (int i = 0; i < n; ++i) p[i + 33] = p[i] + 1; }
void mixed(char *restrict a, long *restrict b, int n) { for (int i = 0; i < n; ++i) b[i] += a[i]; }
int sums(const int *b, const char *c, int n) {
  int s = 0, m = 0;
  for (int i = 0; i < n; ++i) { s += b[i]; m = m > c[i] ? m : c[i]; }
  return s + m;
}
void counts(int *restrict b, int n) { for (int i = 0, j = 5; i < n; ++i, j += 3) b[i] = j; }
void three(int *a, int *b, int *c, int n) { for (int i = 0; i < n; ++i) a[i] = b[i] + c[i]; }
void wraps(int *a, int *b, unsigned n, unsigned k) { for (unsigned i = 0; i < n; ++i) a[i + k] = b[i]; }
void several(char *restrict a, int *restrict b, int n) {
  for (int i = 0; i < n; ++i) a[i] += 1;
  for (int i = 1; i < n; ++i) b[i] = b[i - 1] * 3;
  for (int i = 0; i < n; ++i) b[i] += 1;
}
void parts(int *restrict p, int *restrict q, int *restrict r, long n) {
  for (long i = 0; i < n; ++i) r[i] += 1;
  for (long i = 3; i < n; ++i) { p[i] += p[i - 3]; q[5 * i] *= 5; }
  for (long i = 3; i < n; ++i) { p[i] += p[i - 3]; q[i] *= 5; r[i] += r[i - 2]; }
}
void nested(int *p, int *q, long n) {
  for (long j = 3; j < n; ++j) for (long i = 3; i < n; ++i) { p[i] += p[i - 3]; q[i] *= 5; }
}
"""
READY = (
    "function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,loop-simplify,loop(loop-rotate),"
    "loop-mssa(licm),loop(indvars),instcombine<no-verify-fixpoint>,simplifycfg)"
)
NONE_OF = dict.fromkeys(
    ("reductions", "recurrences", "reversed", "strided", "invariant", "irregular", "pointer_checks"), 0
) | {"assumptions": 0, "masked_blocks": 0, "early_exit": False, "is_exact": False, "safe_bits": None}


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Module:
    module = Module.read(stock.clang(SOURCE, tmp_path_factory.mktemp("loops") / "loops.bc"))
    optimize(module, READY)
    return module


def loops(module: Module, name: str) -> list[ir.Loop]:
    return function(module, name).loops


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("stride", {"strided": 2, "bytes": 24, "consecutive": 0, "width": 1, "interleave": 1}),
        ("down", {"strided": 1, "bytes": 4, "narrowest_bits": 16, "widest_bits": 16, "consecutive": 0}),
        ("same", {"invariant": 1, "consecutive": 1, "bytes": 4, "pointer_checks": 1}),
        (
            "find",
            {
                "early_exit": True,
                "masked_blocks": 1,
                "consecutive": 1,
                "bytes": 4,
                "width": 4,
                "interleave": 1,
            },
        ),
        ("masks", {"masked_blocks": 2, "consecutive": 4, "bytes": 16}),
        ("forward", {"safe_bits": 32, "consecutive": 2, "bytes": 2, "width": 4}),
        ("mixed", {"narrowest_bits": 8, "widest_bits": 64, "consecutive": 3, "bytes": 17, "width": 2}),
        ("sums", {"reductions": 2, "narrowest_bits": 8, "widest_bits": 32, "consecutive": 2, "bytes": 5}),
        ("counts", {"inductions": 2, "consecutive": 1, "bytes": 4, "width": 4, "interleave": 2}),
        ("three", {"pointer_checks": 2, "consecutive": 3, "bytes": 12}),
        ("wraps", {"pointer_checks": 1, "assumptions": 1, "consecutive": 2, "bytes": 8}),
    ],
)
def test_what_is_known_of_a_loop(module: Module, name: str, expected: dict[str, object]) -> None:
    (loop,) = loops(module, name)
    known = loop.vectorization
    assert known is not None
    expected = NONE_OF | {"inductions": 1, "register_bits": 128} | expected
    assert {each: getattr(known, each) for each in expected} == expected


def test_loops_that_cannot_be_vectorized(module: Module) -> None:
    assert loops(module, "fault")[0].vectorization is None
    f = function(module, "counts")
    f.add_attribute("noimplicitfloat")
    assert f.loops[0].vectorization is None
    f.remove_attribute("noimplicitfloat")
    assert f.loops[0].vectorization is not None


def test_each_loop_of_a_function_has_its_own(module: Module) -> None:
    known = [each.vectorization for each in loops(module, "several")]
    assert [each and (each.width, each.narrowest_bits) for each in known] == [(16, 8), None, (4, 32)]
    assert [each.vectorization for each in loops(module, "nested")] == [None, None]


def test_registers_are_the_targets(module: Module) -> None:
    copy = module.copy()
    f = function(copy, "stride")
    f.add_attribute('"target-features"="+avx2"')
    known = f.loops[0].vectorization
    assert known is not None
    assert known.register_bits == 256
    alone = Module.read(str(module).encode().replace(b"target triple", b";"))
    known = function(alone, "stride").loops[0].vectorization
    assert known is not None
    assert (known.register_bits, known.strided) == (32, 2)


DISTRIBUTION = ("dependences", "backward", "parts", "vectorizable", "vectorized", "is_checked")


def test_what_loops_become(module: Module) -> None:
    plain, two, three = (each.distribution for each in loops(module, "parts"))
    assert plain is None
    assert two is not None
    assert three is not None
    assert [getattr(two, name) for name in DISTRIBUTION] == [2, 1, 2, 1, 0, False]
    assert [getattr(three, name) for name in DISTRIBUTION] == [4, 2, 3, 2, 2, False]
    assert 0 < two.before < two.after < three.before < three.after
    bodies = [sum(len(block.instructions) for block in each.blocks) for each in loops(module, "parts")]
    assert [two.before, three.before] == bodies[1:]


def test_names_of_blocks_say_nothing(module: Module) -> None:
    """Not even those that LLVM gives to the loop that it keeps beside the parts."""
    header = loops(module, "parts")[1].header.name
    assert header
    renamed = Module.read(
        str(module).replace(f"{header}:", "old.lver.orig:").replace(f"%{header}", "%old.lver.orig").encode()
    )
    known = loops(renamed, "parts")[1].distribution
    assert known is not None
    assert [getattr(known, name) for name in DISTRIBUTION] == [2, 1, 2, 1, 0, False]


def test_what_an_inner_loop_without_names_becomes(module: Module) -> None:
    """Two parts, and the loop as it was for the case that the check fails, which is no part."""
    outer, inner = loops(module, "nested")
    assert outer.distribution is None
    assert inner.header.name == ""
    known = inner.distribution
    assert known is not None
    assert (known.parts, known.is_checked) == (2, True)


SCOPED = """
target triple = "x86_64-pc-linux-gnu"
define void @f(ptr %p, ptr %q, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr i32, ptr %q, i64 %i
  %to = getelementptr i32, ptr %p, i64 %i
  %v = load i32, ptr %from, !alias.scope !0
  %w = add i32 %v, 1
  store i32 %w, ptr %to, !noalias !0
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
!0 = !{!1}
!1 = distinct !{!1, !2}
!2 = distinct !{!2}
"""


@pytest.mark.parametrize(("text", "checks"), [(SCOPED, 0), (SCOPED.replace(", !noalias !0", ""), 1)])
def test_what_metadata_says_of_memory_counts(text: str, checks: int, tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(text)
    (loop,) = loops(Module.read(tmp_path / "in.ll"), "f")
    assert loop.vectorization is not None
    assert loop.vectorization.pointer_checks == checks
