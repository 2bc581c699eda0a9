# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-hotness`: what a runner sees of branches, and what its answers change."""

from __future__ import annotations

import re
from typing import Final

import pytest

from passpilot.features.llvm.hotness import FEATURES
from passpilot.passes.optimize import optimize
from passpilot.passes.shipped.hotness import HOTNESS, SUM
from passpilot.plugin.errors import AdviceError
from passpilot.plugin.module import Module
from passpilot.runners.python import Observation

PROGRAM: Final = """
declare void @report() cold
declare i32 @next(i32)
define i32 @f(ptr %p, i32 %n) {
entry:
  %none = icmp eq ptr %p, null
  br i1 %none, label %bad, label %head
bad:
  call void @report()
  unreachable
head:
  %i = phi i32 [ 0, %entry ], [ %i.next, %tail ]
  %got = call i32 @next(i32 %i)
  %ok = icmp sgt i32 %got, 7
  br i1 %ok, label %some, label %tail
some:
  store i32 %got, ptr %p
  br label %tail
tail:
  %i.next = add i32 %i, 1
  %more = icmp slt i32 %i.next, %n
  br i1 %more, label %head, label %end, !prof !0
end:
  %flag = load i1, ptr %p
  br i1 %flag, label %left, label %right
left:
  ret i32 1
right:
  ret i32 0
}
!0 = !{!"branch_weights", i32 3, i32 1}
"""


def observed() -> list[dict[str, list[float]]]:
    """What a policy sees of the branches of the program."""
    seen: list[dict[str, list[float]]] = []

    def keep(obs: Observation) -> float:
        seen.append({row.spec.name: obs[row.spec.name].reshape(-1).tolist() for row in FEATURES})
        return obs["probability"].item()

    optimize(Module.read(PROGRAM.encode()), "advised-hotness", [HOTNESS.advisor(keep)])
    return seen


def weights(answer: str | float) -> list[list[int]]:
    """The weights in the program behind the pass, in their order."""
    module = Module.read(PROGRAM.encode())
    runner = f"const:{answer}" if isinstance(answer, float) else answer
    optimize(module, "advised-hotness", [HOTNESS.advisor(runner)])
    found = re.findall(r'!"branch_weights", i32 (\d+), i32 (\d+)', str(module))
    return [[int(first), int(second)] for first, second in found]


def test_what_a_policy_sees() -> None:
    null, tested, flag = observed()
    assert null["probability"][0] < 0.01, "LLVM knows that a dead end is rare"
    assert (null["predicate"], null["compares_pointers"], null["with_zero"]) == ([1], [1], [1])
    assert (null["calls"], null["cold_calls"], null["is_dead_end"]) == ([1, 1], [1, 0], [1, 0])
    assert (null["loop_depth"], tested["loop_depth"]) == ([0], [1])
    assert tested["frequency"][0] > 1
    assert (tested["predicate"], tested["with_zero"], tested["with_constant"]) == ([7], [0], [1])
    assert (tested["of_call"], tested["stores"], tested["predecessors"]) == ([1], [1, 0], [1, 2])
    assert (tested["is_back_edge"], tested["leaves_loop"]) == ([0, 0], [0, 0])
    assert (flag["predicate"], flag["with_constant"], flag["returns"]) == ([0], [0], [1, 1])


def test_edges_of_a_loop() -> None:
    seen: list[list[int]] = []

    def keep(obs: Observation) -> float:
        seen.append([*obs["is_back_edge"].tolist(), *obs["leaves_loop"].tolist()])
        return 0.5

    text = PROGRAM.replace(", !prof !0", "")
    optimize(Module.read(text.encode()), "advised-hotness", [HOTNESS.advisor(keep)])
    assert seen[2] == [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("answer", "expected"), [(0.0, [1, SUM - 1]), (0.25, [SUM // 4, SUM // 4 * 3]), (1.0, [SUM - 1, 1])]
)
def test_answers_become_weights(answer: float, expected: list[int]) -> None:
    """A branch of the program that has a profile keeps it."""
    assert sorted(weights(answer)) == sorted([[3, 1], expected])


def test_default_changes_nothing() -> None:
    assert weights("default") == [[3, 1]]


def test_later_passes_heed_the_answers() -> None:
    """The inliner leaves a call alone whose block never runs."""
    body = "\n".join(f"  store volatile i32 {number}, ptr %p" for number in range(20))
    text = f"""
define void @long(ptr %p) {{
{body}
  ret void
}}
define void @g(ptr %p, i1 %c) {{
  br i1 %c, label %a, label %b
a:
  call void @long(ptr %p)
  br label %b
b:
  call void @long(ptr %p)
  ret void
}}
"""

    def calls(runner: str) -> int:
        module = Module.read(text.encode())
        at = {"pipeline-start": "advised-hotness"}
        optimize(module, "default<O2>", [HOTNESS.advisor(runner)], at=at)
        return str(module).count("call void @long")

    assert calls("default") == 0
    assert calls("const:0.0") == 1


def test_an_answer_is_a_probability() -> None:
    with pytest.raises(AdviceError, match="expected a number of 0 to 1"):
        optimize(Module.read(PROGRAM.encode()), "advised-hotness", [HOTNESS.advisor(lambda _: 1.5)])
