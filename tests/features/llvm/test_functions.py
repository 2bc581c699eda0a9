# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The features of whole functions, against what is counted by hand in small functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import pytest

from passpilot.features.llvm import outline, size, slp
from passpilot.features.llvm.outline import SHORTEST, Repeats
from passpilot.plugin.module import Module

CALLS: Final = """
target triple = "x86_64-pc-linux-gnu"
declare void @outside(i32)
declare i32 @llvm.smax.i32(i32, i32)
define internal i32 @local(i32 %x) {
  %a = add i32 %x, 1
  ret i32 %a
}
define private void @hidden() optsize {
  ret void
}
define linkonce_odr void @shared() minsize {
  ret void
}
define void @chilly() cold {
  ret void
}
define i32 @fork(i32 %x, i1 %c, ptr %to) {
entry:
  %m = call i32 @llvm.smax.i32(i32 %x, i32 3)
  br i1 %c, label %one, label %two
one:
  %a = call i32 @local(i32 %m)
  %b = call i32 @local(i32 %a)
  call void @outside(i32 %b)
  call void %to()
  br label %join
two:
  %d = mul i32 %m, %m
  br label %join
join:
  %r = phi i32 [ %b, %one ], [ %d, %two ]
  ret i32 %r
}
define void @nest(i1 %c, i32 %x) {
entry:
  %first = call i32 @local(i32 %x)
  br label %outer
outer:
  br label %inner
inner:
  %second = call i32 @local(i32 %x)
  br i1 %c, label %inner, label %latch
latch:
  br i1 %c, label %outer, label %single
single:
  %third = call i32 @local(i32 %x)
  br i1 %c, label %single, label %done
done:
  ret void
}
"""


def module_of(text: str) -> Module:
    return Module.read(text.encode(), name="text")


def seen_by_size(module: Module) -> dict[str, Mapping[str, object]]:
    calls = size.calls_by_callee(module.functions)
    return {
        each.name: size.observe(each, calls.get(each, ()))
        for each in module.functions
        if not each.is_declaration
    }


def picked(values: Mapping[str, object], names: str) -> list[object]:
    return [values[name] for name in names.split()]


def test_size_of_a_function_with_branches() -> None:
    """Two blocks of it run every second time."""
    fork = seen_by_size(module_of(CALLS))["fork"]
    assert picked(fork, "instructions blocks loops loop_depth calls") == [11, 4, 0, 0, 5]
    assert fork["work"] == pytest.approx(2 + 5 / 2 + 2 / 2 + 2)
    assert fork["hottest"] == pytest.approx(1)


def test_size_of_a_function_with_loops() -> None:
    module = module_of(CALLS)
    nest = seen_by_size(module)["nest"]
    assert picked(nest, "instructions blocks loops loop_depth calls") == [9, 6, 3, 2, 3]
    function = module.function("nest")
    assert function is not None
    frequencies = [block.frequency for block in function.blocks]
    assert nest["hottest"] == frequencies[2] > max(frequencies[1], *frequencies[3:])


def test_callers_of_a_function() -> None:
    """The deepest call is neither the first nor the last; all of them are counted."""
    module = module_of(CALLS)
    seen = seen_by_size(module)
    assert picked(seen["local"], "call_sites call_depth") == [5, 2]
    nest = module.function("nest")
    assert nest is not None
    frequencies = [block.frequency for block in nest.blocks]
    assert seen["local"]["call_frequency"] == pytest.approx(
        1 + frequencies[0] + frequencies[2] + frequencies[4]
    )
    assert picked(seen["fork"], "call_sites call_depth call_frequency") == [0, 0, 0]


def test_calls_are_of_what_may_have_a_body() -> None:
    """Neither intrinsics nor calls through pointers have a callee here."""
    module = module_of(CALLS)
    calls = size.calls_by_callee(module.functions)
    assert {callee.name: [each.caller.name for each in found] for callee, found in calls.items()} == {
        "local": ["fork", "fork", "nest", "nest", "nest"],
        "outside": ["fork"],
    }


@pytest.mark.parametrize("name", ["local", "hidden", "shared", "chilly"])
def test_attributes_of_a_function(name: str) -> None:
    module = module_of(CALLS)
    function = module.function(name)
    assert function is not None
    local, cold = name in ("local", "hidden"), name == "chilly"
    by_size = size.observe(function, [])
    assert picked(by_size, "is_local is_cold") == [local, cold]
    assert by_size["mask"] == [[True, name != "hidden", True]]
    by_outline = outline.observe(function, 0, "aarch64", Repeats([function]))
    for_size = name in ("hidden", "shared")
    assert picked(by_outline, "is_local is_cold for_size") == [local, cold, for_size]
    assert by_outline["by_default"] == (name == "shared"), "optsize is not enough"
    assert slp.observe(function)["for_size"] == for_size


def test_outlining_features_of_a_function() -> None:
    module = module_of(CALLS)
    functions = [each for each in module.functions if not each.is_declaration]
    repeats = Repeats(functions)
    seen = {each.name: outline.observe(each, 7, "x86_64", repeats) for each in functions}
    by_size = seen_by_size(module)
    for name in ("fork", "nest"):
        for feature in ("instructions", "blocks", "loop_depth", "calls", "work", "hottest"):
            assert seen[name][feature] == pytest.approx(by_size[name][feature]), (name, feature)
    assert {each["call_sites"] for each in seen.values()} == {7}
    assert {each["entry_count"] for each in seen.values()} == {0.0}, "there is no profile"


def test_entry_count_is_that_of_the_profile() -> None:
    text = 'define void @f() !prof !0 { ret void }\n!0 = !{!"function_entry_count", i64 41}\n'
    (function,) = module_of(text).functions
    assert outline.observe(function, 0, "x86_64", Repeats([function]))["entry_count"] == 41.0


def test_outlining_features_of_a_module() -> None:
    module = module_of(CALLS)
    functions = [each for each in module.functions if not each.is_declaration]
    seen = outline.observe_module(functions, "riscv64", Repeats(functions))
    assert picked(seen, "functions local_functions for_size by_default") == [6, 2, 2, 1]
    assert picked(seen, "instructions calls") == [2 + 1 + 1 + 1 + 11 + 9, 5 + 3]
    assert seen["mask"] == [[1, 1, 1]]


@pytest.mark.parametrize(
    ("triple", "attributes", "expected"),
    [
        ("aarch64-linux-gnu", "minsize", True),
        ("arm64-apple-ios", "minsize", True),
        ("riscv32", "minsize", True),
        ("aarch64-linux-gnu", "optsize", False),
        ("x86_64-linux-gnu", "minsize", False),
        ("thumbv6m-none-eabi", "minsize", True),
        ("thumbv7m-none-eabi", "minsize", True),
        ("armv7em-none-eabi", "minsize", True),
        ("thumbebv7m-none-eabi", "minsize", True),
        ("thumbv8m.main-none-eabi", "minsize", True),
        ("thumbv8.1m.main-none-eabi", "minsize", True),
        ("armv7-linux-gnueabi", "minsize", False),
        ("armv7-linux-gnueabi", 'minsize "target-cpu"="cortex-m4"', True),
        ("armv7-linux-gnueabi", 'minsize "target-cpu"="sc300"', True),
        ("armv7-linux-gnueabi", 'minsize "target-cpu"="sc000"', True),
        ("armv7-linux-gnueabi", 'minsize "target-cpu"="cortex-a8"', False),
        ("armv7-linux-gnueabi", 'minsize "target-features"="+dsp,+mclass"', True),
        ("armv7-linux-gnueabi", 'minsize "target-features"="+dsp,-mclass"', False),
        ("armv7-linux-gnueabi", '"target-cpu"="cortex-m4"', False),
    ],
)
def test_targets_that_outline_by_default(triple: str, attributes: str, expected: bool) -> None:
    (function,) = module_of(f"define void @f() {attributes} {{ ret void }}").functions
    assert outline.outlines_by_default(function, triple) is expected


BODIES: Final = {
    "three": "  %a = add i32 %x, %y\n  %b = mul i32 %a, %x\n  %c = xor i32 %b, %a\n",
    "other operands": "  %a = add i32 %y, 7\n  %b = mul i32 9, %a\n  %c = xor i32 %y, %x\n",
    "two": "  %a = add i32 %x, %y\n  %b = mul i32 %a, %x\n  %c = or i32 %b, %a\n",
    "another type": "  %a = add i64 %v, 7\n  %b = mul i64 %a, %v\n  %c = xor i64 %b, %v\n",
}


@pytest.mark.parametrize(("other", "length"), [("other operands", 3), ("two", 2), ("another type", 0)])
def test_equal_sequences_have_opcodes_and_types_in_common(other: str, length: int) -> None:
    names = [("f", "three"), ("g", other)]
    text = "".join(
        f"define void @{name}(i32 %x, i32 %y, i64 %v) {{\n{BODIES[body]}  ret void\n}}\n"
        for name, body in names
    )
    functions = module_of(text).functions
    repeats = Repeats(functions)
    assert [repeats.longest(each) for each in functions] == [length, length]
    covered = [int(length >= SHORTEST)] * 3 + [0]
    assert [repeats.covered(each).tolist() for each in functions] == [covered, covered]
    assert (repeats.total, repeats.longest_of_all) == (2 * sum(covered), length)


def test_calls_of_different_functions_are_different() -> None:
    text = "declare void @a()\ndeclare void @b()\n"
    for name, callee in (("f", "a"), ("g", "b")):
        text += f"define void @{name}() {{\n" + f"  call void @{callee}()\n" * 3 + "  ret void\n}\n"
    functions = [each for each in module_of(text).functions if not each.is_declaration]
    assert [Repeats(functions).longest(each) for each in functions] == [2, 2], "each repeats itself"


def test_repeats_of_nothing() -> None:
    repeats = Repeats([])
    assert (repeats.total, repeats.longest_of_all) == (0, 0)


INTEGER: Final = ("add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor")
FLOATING: Final = ("fadd", "fsub", "fmul", "fdiv", "frem")


@pytest.mark.parametrize("opcode", [*INTEGER, *FLOATING, "fneg", "fcmp", "icmp", "udiv"])
def test_slp_counts_arithmetic(opcode: str) -> None:
    kind = "float" if opcode.startswith("f") else "i32"
    what = f"{opcode} {'oeq ' if opcode == 'fcmp' else 'eq ' if opcode == 'icmp' else ''}{kind} %{kind}"
    line = f"  %a = {what}{'' if opcode == 'fneg' else f', %{kind}'}\n"
    (function,) = module_of(f"define void @f(float %float, i32 %i32) {{\n{line}  ret void\n}}").functions
    expected = [opcode in INTEGER, opcode in (*FLOATING, "fneg", "fcmp")]
    assert picked(slp.observe(function), "integer floating_point") == expected


MEMORY: Final = """
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
define void @f(ptr %p, ptr %q, i32 %i, i1 %c) {
entry:
  %p1 = getelementptr i32, ptr %p, i64 1
  %p2 = getelementptr i32, ptr %p1, i64 1
  %v = load <2 x i32>, ptr %q
  call void @llvm.prefetch.p0(ptr %p, i32 0, i32 0, i32 0)
  store i32 1, ptr %p
  store i32 2, ptr %p1
  store i32 3, ptr %p2
  store i64 4, ptr %p2
  store i32 5, ptr %q
  br i1 %c, label %one, label %two
one:
  %n = add i32 %i, 4
  %m = or disjoint i32 %i, 1
  %s = sext i32 %i to i64
  %t = sext i32 %n to i64
  %u = zext i32 %m to i64
  %ps = getelementptr i32, ptr %p, i64 %s
  %pt = getelementptr i32, ptr %p, i64 %t
  %pu = getelementptr i32, ptr %p, i64 %u
  %qs = getelementptr i32, ptr %q, i64 %s
  %a = load i32, ptr %ps
  %b = load i32, ptr %pt
  %d = load i32, ptr %pu
  %e = load i32, ptr %qs
  %w = add <2 x i32> %v, %v
  br label %done
two:
  %by = add i32 %i, %i
  %sh = shl i32 %i, 1
  %z = sext i32 %by to i64
  %y = sext i32 %sh to i64
  %pz = getelementptr i32, ptr %p, i64 %z
  %py = getelementptr i32, ptr %p, i64 %y
  store i32 6, ptr %p
  %x = sext i32 %i to i64
  %px = getelementptr i32, ptr %p, i64 %x
  store i32 7, ptr %px
  store i32 7, ptr %pz
  store i32 7, ptr %py
  br label %done
done:
  store i32 8, ptr %p
  store i32 9, ptr %p1
  ret void
}
"""


def test_slp_groups_of_loads_and_stores() -> None:
    """Groups are within a block, of one type, and on one pointer and index, whatever is added to it."""
    function = module_of(MEMORY).function("f")
    assert function is not None
    seen = slp.observe(function)
    assert picked(seen, "loads stores") == [5, 11]
    assert picked(seen, "store_groups grouped_stores grouped_loads") == [2, 5, 3]
    assert picked(seen, "blocks largest_block vectors calls loops") == [4, 15, 2, 1, 0]
    assert seen["grouped_work"] == pytest.approx(3 + 2)
    sizes = [len(block.instructions) for block in function.blocks]
    assert sum(sizes) == seen["instructions"]
    assert seen["work"] == pytest.approx(np.dot(sizes, [1, 0.5, 0.5, 1]))


def test_slp_groups_weigh_what_their_block_runs() -> None:
    stores = "  store i32 1, ptr %p\n  store i32 2, ptr %p1\n"
    text = f"""
define void @f(ptr %p, i1 %c) {{
  %p1 = getelementptr i32, ptr %p, i64 1
  br i1 %c, label %one, label %done
one:
{stores}  br label %done
done:
  ret void
}}
"""
    (function,) = module_of(text).functions
    assert picked(slp.observe(function), "store_groups grouped_stores grouped_work") == [
        1,
        2,
        pytest.approx(1.0),
    ]
