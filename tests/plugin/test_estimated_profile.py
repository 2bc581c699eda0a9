# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pass `estimate-profile`: which functions get which counts."""

from __future__ import annotations

import re
from typing import Final

import pytest

import passpilot
from passpilot.plugin.errors import InputError
from tests.passes.allocation.allocated import TRIPLES

CALLS: Final = """
@table = global ptr @listed
@device = external global i32

define internal void @leaf() { ret void }
define internal void @middle() {
  call void @leaf()
  call void @leaf()
  ret void
}
define void @first() {
  call void @middle()
  ret void
}
define void @second() {
  call void @middle()
  ret void
}
define internal void @listed() { ret void }
define internal void @unused() { ret void }
define internal void @rare() { ret void }
define void @choosing(i1 %c) {
  br i1 %c, label %yes, label %no, !prof !9
yes:
  call void @rare()
  br label %no
no:
  ret void
}
define void @long() {
  store volatile i32 1, ptr @device
  store volatile i32 2, ptr @device
  store volatile i32 3, ptr @device
  ret void
}
define void @main() { ret void }
!9 = !{!"branch_weights", i32 1, i32 1000000}
"""


def profiled(text: str, element: str = "estimate-profile", target: str = "x86-64") -> str:
    """The module after the pass."""
    triple = f'target triple = "{TRIPLES[target]}"\n'
    module = passpilot.Module.read((triple + text).encode())
    passpilot.optimize(module, element)
    return str(module)


def counts(text: str) -> dict[str, int]:
    """The entry count of each function that has one."""
    entries = dict(re.findall(r'(!\d+) = !\{!"function_entry_count", i64 (\d+)\}', text))
    return {name: int(entries[number]) for name, number in re.findall(r"@(\w+)\(.*!prof (!\d+) \{", text)}


def test_a_function_runs_as_often_as_all_its_callers_call_it() -> None:
    found = counts(profiled(CALLS))
    assert found["first"] == found["second"] == found["main"] == found["long"] == 1000
    assert found["middle"] == 2000
    assert found["leaf"] == 4000


def test_what_only_a_pointer_calls_runs_once_and_what_nobody_calls_has_no_count() -> None:
    found = counts(profiled(CALLS))
    assert found["listed"] == 1000
    assert "unused" not in found


def test_a_count_is_never_zero() -> None:
    """LLVM takes zero for a function that never runs."""
    assert counts(profiled(CALLS))["rare"] == 1


def test_small_functions_count_by_their_size_unless_they_are_large_or_main() -> None:
    found = counts(profiled(CALLS, "estimate-profile<small=3>"))
    assert found["listed"] == 3000
    assert found["long"] == 1000
    assert found["main"] == 1000


def test_counts_have_a_limit() -> None:
    deep = "".join(
        f"define internal void @f{n}() {{\n" + f"  call void @f{n + 1}()\n" * 100 + "  ret void\n}\n"
        for n in range(6)
    )
    top = "define void @top() {\n  call void @f0()\n  ret void\n}\n"
    found = counts(profiled(f"define internal void @f6() {{ ret void }}\n{deep}{top}"))
    assert found["f4"] == 1000 * 100**4
    assert found["f5"] == found["f6"] == 1000 * 10**9


def test_a_module_with_a_count_keeps_its_counts() -> None:
    text = CALLS.replace("define void @first() {", "define void @first() !prof !0 {")
    text += '!0 = !{!"function_entry_count", i64 7}\n'
    assert counts(profiled(text)) == {"first": 7}


@pytest.mark.parametrize("target", ["aarch64", "riscv64"])
def test_other_targets_get_the_same_counts(target: str) -> None:
    assert counts(profiled(CALLS, target=target)) == counts(profiled(CALLS))


def test_no_block_is_hot_and_those_below_the_limit_are_cold() -> None:
    text = profiled(CALLS, "estimate-profile<limit=12>")
    assert re.search(rf"!\{{i32 990000, i64 {2**63 - 1}, i32 1\}}", text)
    assert "!{i32 999999, i64 12000, i32 2}" in text
    assert "!{i32 999999, i64 8000, i32 2}" in profiled(CALLS)


@pytest.mark.parametrize("option", ["limit", "small"])
def test_numbers_go_up_to_a_million(option: str) -> None:
    assert counts(profiled(CALLS, f"estimate-profile<{option}=1000000>"))
    for wrong in ("1000001", "-1", "", "0x8"):
        with pytest.raises(InputError, match="estimate-profile"):
            profiled(CALLS, f"estimate-profile<{option}={wrong}>")


@pytest.mark.parametrize(
    "element", ["estimate-profile<", "estimate-profile<limit=3", "estimate-profile<limit>"]
)
def test_another_spelling_is_refused(element: str) -> None:
    with pytest.raises(InputError):
        profiled(CALLS, element)
