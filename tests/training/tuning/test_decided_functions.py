# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a decision file says of functions: which of them it changes, and in which phases of a build."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

import passpilot
from passpilot.training.tuning.decision_file import HEAD

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore:.*was never asked")

LEVELS: Final = ("minsize", "optsize")


def decided(text: str, folder: Path, *lines: str, pipeline: str = "default<O1>") -> str:
    """The module after a pipeline with these decisions."""
    path = folder / "f.decisions"
    path.write_text("\n".join((HEAD, "unit a.c", *lines, "")))
    module = passpilot.Module(f'source_filename = "a.c"\ntarget triple = "x86_64-linux-gnu"\n{text}'.encode())
    passpilot.optimize(module, pipeline, decisions=str(path))
    return str(module)


def attributes(text: str, name: str) -> set[str]:
    """The words of a function's attributes."""
    found = re.search(rf"^(?:define|declare) .*@{name}\(.*?\).*?#(\d+)", text, re.MULTILINE)
    if not found:
        return set()
    words = re.search(rf"^attributes #{found[1]} = \{{ (.*) \}}$", text, re.MULTILINE)
    assert words
    return set(words[1].replace('"', "").split())


@pytest.mark.parametrize("before", ["", "optsize", "minsize", "minsize optsize"])
@pytest.mark.parametrize(
    ("level", "after"), [("speed", set()), ("optsize", {"optsize"}), ("minsize", set(LEVELS))]
)
def test_a_size_level_replaces_another(level: str, after: set[str], before: str, tmp_path: Path) -> None:
    text = f"define void @f() {before} {{\n  ret void\n}}\n"
    assert attributes(decided(text, tmp_path, f"function f {level}"), "f") & set(LEVELS) == after


def test_a_function_without_optimization_and_one_without_a_body_keep_their_level(tmp_path: Path) -> None:
    text = (
        "declare void @other() minsize optsize\n"
        "define void @debugged() noinline optnone {\n  call void @other()\n  ret void\n}\n"
    )
    after = decided(text, tmp_path, "function * minsize", "function other speed")
    assert "optnone" in attributes(after, "debugged")
    assert not attributes(after, "debugged") & set(LEVELS)
    assert set(LEVELS) <= attributes(after, "other")


def test_nooutline_is_an_attribute_of_what_has_a_body(tmp_path: Path) -> None:
    text = (
        "declare void @other() nounwind\n"
        "define void @named() {\n  call void @other()\n  ret void\n}\n"
        "define void @rest() {\n  call void @other()\n  ret void\n}\n"
    )
    after = decided(text, tmp_path, "function named nooutline")
    assert "nooutline" in attributes(after, "named")
    assert "nooutline" not in attributes(after, "rest") | attributes(after, "other")
    assert "nooutline" not in attributes(decided(text, tmp_path, "function * nooutline"), "other")


def nest(hint: str) -> str:
    """Two loops, one in the other; `hint` is about the inner one."""
    return f"""
@out = external global i32
define void @f(i32 %n, i32 %m) {{
entry:
  br label %outer
outer:
  %i = phi i32 [ 0, %entry ], [ %i1, %latch ]
  store volatile i32 1, ptr @out
  br label %inner
inner:
  %j = phi i32 [ 0, %outer ], [ %j1, %inner ]
  store volatile i32 2, ptr @out
  %j1 = add i32 %j, 1
  %c = icmp ult i32 %j1, %m
  br i1 %c, label %inner, label %latch, !llvm.loop !0
latch:
  %i1 = add i32 %i, 1
  %d = icmp ult i32 %i1, %n
  br i1 %d, label %outer, label %end
end:
  ret void
}}
!0 = distinct !{{!0, !1}}
!1 = !{{!"llvm.loop.unroll.{hint}}}
"""


def copies(text: str, which: int) -> int:
    """How many copies there are of a loop's store."""
    return text.count(f"store volatile i32 {which}, ")


def test_unrolling_is_decided_of_innermost_loops(tmp_path: Path) -> None:
    text = nest('own"')
    after = decided(text, tmp_path, "function f unroll=4", pipeline="default<O2>")
    assert copies(after, 2) >= 4
    assert copies(after, 1) == 1


def test_unroll_1_keeps_a_loop(tmp_path: Path) -> None:
    after = decided(nest('own"'), tmp_path, "function f unroll=1", pipeline="default<O2>")
    assert (copies(after, 1), copies(after, 2)) == (1, 1)
    assert "llvm.loop.unroll.disable" in after


SUM = """
define i32 @f(ptr %p, i64 %n) "target-cpu"="x86-64" {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi i32 [ 0, %entry ], [ %t, %loop ]
  %q = getelementptr i32, ptr %p, i64 %i
  %v = load i32, ptr %q
  %t = add i32 %s, %v
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end, !llvm.loop !0
end:
  ret i32 %t
}
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.HINT}
"""


def test_vectors_have_the_decided_width(tmp_path: Path) -> None:
    text = SUM.replace("HINT", 'mustprogress"')
    assert "<4 x i32>" in decided(text, tmp_path, "function f nooutline", pipeline="default<O2>"), (
        "LLVM's own"
    )
    wide = decided(text, tmp_path, "function f vectorize=8", pipeline="default<O2>")
    assert "<8 x i32>" in wide
    assert " x i32>" not in decided(text, tmp_path, "function f vectorize=1", pipeline="default<O2>")


def test_what_the_program_says_of_vectors_counts_more(tmp_path: Path) -> None:
    text = SUM.replace("HINT", 'vectorize.width", i32 2')
    after = decided(text, tmp_path, "function f vectorize=8", pipeline="default<O2>")
    assert "<2 x i32>" in after
    assert "<8 x i32>" not in after


@pytest.mark.parametrize(("hint", "stores"), [('disable"', 1), ('count", i32 2', 2)])
def test_what_the_program_says_of_a_loop_counts_more(hint: str, stores: int, tmp_path: Path) -> None:
    plain = decided(nest(hint), tmp_path, pipeline="default<O2>")
    after = decided(nest(hint), tmp_path, "function f unroll=8", pipeline="default<O2>")
    assert copies(after, 2) == copies(plain, 2) >= stores


@pytest.mark.parametrize(
    ("pipeline", "runs"),
    [
        ("default<O1>", True),
        ("thinlto<O1>", True),
        ("lto<O1>", True),
        ("thinlto-pre-link<O1>", False),
        ("lto-pre-link<O1>", False),
    ],
)
def test_what_is_compiled_for_the_linker_is_decided_when_it_links(
    pipeline: str, runs: bool, tmp_path: Path
) -> None:
    text = "define void @f() {\n  ret void\n}\n"
    after = decided(text, tmp_path, "function f nooutline", pipeline=pipeline)
    assert ("nooutline" in attributes(after, "f")) == runs
