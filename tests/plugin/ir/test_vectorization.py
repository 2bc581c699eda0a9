# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Loop.vectorization`: the vectorizer of a copy of the function finds what stock opt's finds."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from passpilot.passes.optimize import optimize
from passpilot.passes.shipped.vectorize import VECTORIZE
from passpilot.plugin.ir import Loop
from passpilot.plugin.module import Module
from passpilot.runners.python import Observation
from tests import stock
from tests.corpus.build import bindir, build
from tests.corpus.programs import programs

REMARK = re.compile(r"remark: .*:(\d+):\d+: vectorized loop \(.*width: (?:vscale x )?(\d+), .*count: (\d+)\)")
LOOPS = """
typedef unsigned char byte;
void add(float *restrict p, const float *restrict q, int n) { for (int i = 0; i < n; ++i) p[i] += q[i]; }
int sum(const short *p, int n) { int s = 0; for (int i = 0; i < n; ++i) s += p[i]; return s; }
void mean(byte *p, const byte *q, int n) { for (int i = 0; i < n; ++i) p[i] = (p[i] + q[i] + 1) >> 1; }
void some(int *p, const int *q, int n) { for (int i = 0; i < n; ++i) if (q[i] > 0) p[i] = q[i]; }
void gather(int *restrict p, const int *q, int *at, int n) { for (int i = 0; i < n; ++i) p[i] = q[at[i]]; }
void fir(int *o, int *x, int n) { for (int i = 0, c, p = 0; i < n; ++i) c = x[i], o[i] = c - p, p = c; }
void histogram(int *h, const byte *p, int n) { for (int i = 0; i < n; ++i) h[p[i]]++; }
float total(const float *p, int n) { float s = 0; for (int i = 0; i < n; ++i) s += p[i]; return s; }
"""

AT = {"vectorizer-start": "advised-vectorize"}
NEOVERSE = ("--target=aarch64-linux-gnu", "-mcpu=neoverse-v1", "-ffreestanding")

Plans = Counter[tuple[int, int, int]]


def found(source: Path, level: str) -> Plans:
    """Line, width and interleave count of the loops that the copies' vectorizer has vectorized."""
    made: Plans = Counter()

    def look(obs: Observation) -> int:
        assert isinstance(obs.site, Loop)
        place = obs.site.header.terminator.debug_location
        width, count = int(obs["llvm_width"].item()), int(obs["llvm_interleave"].item())
        made[place.line if place else 0, width, count] += width > 1
        return 0

    with VECTORIZE.advisor(look) as advisor:
        optimize(Module.read(source), f"default<{level}>", [advisor], at=AT)
    return +made


def remarked(source: Path, level: str) -> Plans:
    """The same of stock opt's remarks."""
    command = [str(bindir() / "opt"), f"-passes=default<{level}>", "-disable-output", str(source)]
    command.append("-pass-remarks=loop-vectorize")
    told = subprocess.run(command, capture_output=True, check=True, text=True).stderr
    assert len(REMARK.findall(told)) == told.count(" vectorized loop (")
    return Counter((int(line), int(width), int(count)) for line, width, count in REMARK.findall(told))


@pytest.mark.parametrize("flags", [(), ("-march=x86-64-v4",), NEOVERSE])
def test_choices_are_those_of_stock_opt(flags: tuple[str, ...], tmp_path: Path) -> None:
    source = stock.clang(LOOPS, tmp_path / "loops.bc", "-g", *flags)
    plans = found(source, "O3")
    assert len(plans) >= 5
    assert plans == remarked(source, "O3")


def test_choices_in_a_program_are_those_of_stock_opt() -> None:
    """Without debug information all lines are 0."""
    assert not build(["libsvm"])
    source = programs()["libsvm"].whole("O2")
    plans, stocks = found(source, "O3"), remarked(source, "O3")
    assert (plans & stocks).total() >= 0.95 * stocks.total() > 10
    assert plans.total() <= stocks.total()


def test_what_is_known_of_loops(tmp_path: Path) -> None:
    known: dict[str, tuple[int, ...]] = {}
    names = ("is_exact", "reductions", "recurrences", "masked_blocks", "pointer_checks", "irregular")

    def look(obs: Observation) -> int:
        assert isinstance(obs.site, Loop)
        known[obs.site.function.name] = tuple(int(obs[name].item()) for name in names)
        return 0

    module = Module.read(stock.clang(LOOPS, tmp_path / "loops.bc"))
    with VECTORIZE.advisor(look) as advisor:
        optimize(module, "default<O3>", [advisor], at=AT)
    assert known == {
        "add": (0, 0, 0, 0, 0, 0),
        "sum": (0, 1, 0, 0, 0, 0),
        "mean": (0, 0, 0, 0, 1, 0),
        "some": (0, 0, 0, 1, 1, 0),
        "gather": (0, 0, 0, 0, 0, 1),
        "fir": (0, 0, 1, 0, 1, 0),
        "total": (1, 1, 0, 0, 0, 0),
    }, "the histogram cannot be vectorized"


def test_a_function_that_cannot_be_copied_has_none() -> None:
    text = """
    define void @f(ptr %p) {
      br label %loop
    loop:
      %i = phi i32 [ 0, %0 ], [ %j, %loop ]
      store ptr blockaddress(@g, %there), ptr %p
      %j = add nuw nsw i32 %i, 1
      %done = icmp eq i32 %j, 9
      br i1 %done, label %exit, label %loop
    exit:
      ret void
    }
    define void @g(ptr %p) {
      indirectbr ptr %p, [label %there]
    there:
      ret void
    }
    """
    function = Module.read(text.encode()).function("f")
    assert function is not None
    assert [loop.vectorization for loop in function.loops] == [None]


def test_a_copy_is_of_the_function_with_all_that_it_uses() -> None:
    """Exception handlers, aliases, thread-local and constant data, calls of itself, metadata with globals."""
    text = """
    target triple = "x86_64-pc-linux-gnu"
    @table = internal constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]
    @own = thread_local global i32 0
    @other = alias i32, ptr @own
    @pick = internal global ptr @f
    declare i32 @__gxx_personality_v0(...)
    define i32 @f(ptr noalias %p, i32 %n) personality ptr @__gxx_personality_v0 {
      %a = invoke i32 @f(ptr @table, i32 1) to label %loop unwind label %pad
    loop:
      %i = phi i32 [ 0, %0 ], [ %j, %loop ]
      %q = getelementptr i32, ptr %p, i32 %i
      %v = load i32, ptr %q, !annotation !0
      %w = add i32 %v, %a
      store i32 %w, ptr %q
      %j = add nuw nsw i32 %i, 1
      %done = icmp eq i32 %j, 96
      br i1 %done, label %exit, label %loop, !llvm.loop !1
    exit:
      %t = load i32, ptr @other
      %g = load ptr, ptr @pick
      %r = call i32 %g(ptr %p, i32 %t), !callees !2
      ret i32 %r
    pad:
      %l = landingpad { ptr, i32 } cleanup
      resume { ptr, i32 } %l
    }
    !0 = !{!"auto-init"}
    !1 = distinct !{!1, !3}
    !2 = !{ptr @f}
    !3 = !{!"llvm.loop.mustprogress"}
    """
    module = Module.read(text.encode())
    before = module.bitcode()
    function = module.function("f")
    assert function is not None
    (loop,) = function.loops
    assert loop.vectorization is not None
    assert (loop.vectorization.width, loop.vectorization.consecutive) == (4, 2)
    assert module.bitcode() == before
