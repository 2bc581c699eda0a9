# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The measures of generated code."""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from passpilot.passes.emit import emit
from passpilot.plugin.errors import InputError
from passpilot.plugin.module import Module
from passpilot.training.comparison import Measured, total
from passpilot.training.compiler_pb2 import Start
from passpilot.training.compiler_service import REMEMBERED, Baselines
from passpilot.training.rewards import (
    REWARDS,
    check_reward,
    code_bytes,
    code_size,
    find_measure,
    function_symbols,
    improvement,
    symbol_sizes,
)
from passpilot.training.task import Task
from tests.stock import run

if TYPE_CHECKING:
    from passpilot.plugin import _core

TEXT = """
target triple = "TRIPLE"
define i32 @one(i32 %x) { ret i32 %x }
define i32 @two(i32 %x) section ".text.hot" {
  %y = mul i32 %x, %x
  %z = add i32 %y, 7
  ret i32 %z
}
@data = global [100 x i32] zeroinitializer
@constant = constant [9 x i32] [i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9]
"""


@dataclass
class Emitted:
    code: bytes


def size(code: bytes) -> float:
    return code_size(cast("_core.Emitted", Emitted(code)))


@pytest.mark.parametrize(
    "triple", ["x86_64-linux", "i386-linux", "aarch64-linux", "powerpc-linux", "s390x-linux"]
)
def test_code_size_is_that_of_llvm_size(triple: str, tmp_path: Path) -> None:
    """Both word sizes and both byte orders of ELF."""
    code = emit(Module.read(TEXT.replace("TRIPLE", triple).encode()), "obj")
    (tmp_path / "a.o").write_bytes(code)
    rows = [line.split() for line in run("llvm-size", "-A", tmp_path / "a.o").decode().splitlines()]
    sizes = [int(row[1]) for row in rows if row and row[0].startswith(".text")]
    assert len(sizes) == 2
    assert size(code) == sum(sizes) > 0


def test_an_object_of_another_format_has_a_size() -> None:
    code = emit(Module.read(TEXT.replace("TRIPLE", "x86_64-pc-windows-msvc").encode()), "obj")
    assert 0 < size(code) < len(code)
    with pytest.raises(InputError, match="expected an object of ELF, COFF, Mach-O or wasm"):
        size(b"x" + code)


def test_the_count_of_very_many_sections_is_in_the_first() -> None:
    def section(flags: int, length: int) -> bytes:
        return struct.pack("<IIQQQQIIQQ", 0, 0, flags, 0, 0, length, 0, 0, 0, 0)

    count = 70_000
    head = b"\x7fELF\x02\x01".ljust(40, b"\0") + struct.pack("<Q", 64) + bytes(10) + struct.pack("<HH", 64, 0)
    table = section(0, count) + section(4, 3) * (count - 1)
    assert size(head.ljust(64, b"\0") + table) == 3 * (count - 1)


def test_improvement() -> None:
    assert improvement(75, 100) == 0.25
    assert improvement(125, 100) == -0.25
    assert improvement(3, 0) == 0


def test_a_baseline_is_measured_once_also_at_the_same_time_and_after_a_failure() -> None:
    measured: list[str] = []
    kept = Baselines()

    def measure(text: str, value: float | None = None):  # type: ignore[no-untyped-def]
        async def run() -> float:
            measured.append(text)
            await asyncio.sleep(0)
            if value is None:
                raise InputError(text)
            return value

        return run

    async def scene() -> None:
        key = b"key"
        with pytest.raises(InputError):
            await kept.value(key, measure("bad"))
        values = await asyncio.gather(*(kept.value(key, measure("good", 7)) for _ in range(5)))
        assert values == [7] * 5
        for number in range(REMEMBERED):
            await kept.value(b"%d" % number, measure("", 1))
        assert await kept.value(key, measure("forgotten", 8)) == 8

    asyncio.run(scene())
    assert [text for text in measured if text] == ["bad", "good", "forgotten"]
    assert len(kept) == REMEMBERED


SYMBOLS = """
target triple = "TRIPLE"
define i32 @one(i32 %x) { ret i32 %x }
define internal i32 @two(i32 %x) noinline {
  %y = mul i32 %x, %x
  ret i32 %y
}
define weak i32 @"odd name"(i32 %x) {
  %y = call i32 @two(i32 %x)
  %z = call i32 @far(i32 %y)
  ret i32 %z
}
declare i32 @far(i32)
@data = global i32 3
"""


@pytest.mark.parametrize("triple", ["x86_64-linux", "i386-linux", "s390x-linux", "powerpc-linux"])
def test_symbols_of_functions_are_those_of_nm(triple: str, tmp_path: Path) -> None:
    """Both word sizes and both byte orders of ELF; no data, and nothing that is elsewhere."""
    code = emit(Module.read(SYMBOLS.replace("TRIPLE", triple).encode()), "obj")
    (tmp_path / "a.o").write_bytes(code)
    found = {each.name: (each.size, each.local) for each in function_symbols(code)}
    assert {name: local for name, (_, local) in found.items()} == {
        "one": False,
        "two": True,
        "odd name": False,
    }
    lines = run("llvm-nm", "-S", "--defined-only", tmp_path / "a.o").decode().splitlines()
    sizes = {line.split(maxsplit=3)[3]: int(line.split()[1], 16) for line in lines if " D " not in line}
    assert {name: size for name, (size, _) in found.items()} == sizes
    assert symbol_sizes(code) == sizes


def test_a_reward_depends_on_the_decisions() -> None:
    for name in (*REWARDS, "none"):
        check_reward(name, ["inline", "advised-size"])
    check_reward("native-size", ["evict"])
    check_reward("allocation-cost", ["priority"])
    told = "reward native-estimate: expected points of the pipeline, .*, got evict; take another"
    with pytest.raises(InputError, match=told):
        check_reward("native-estimate", ["inline", "priority", "evict"])
    with pytest.raises(
        InputError,
        match="expected one of native-size, allocated, allocation-cost, native-estimate, none, got 'x'",
    ):
        check_reward("x", [])
    assert REWARDS == ("native-size", "allocated", "allocation-cost", "native-estimate")
    assert find_measure("none") is None


CALLED = b"""
target triple = "x86_64-linux"
define internal i32 @"a b"(i32 %x) {
  ret i32 %x
}
define i32 @user(i32 %x) {
  %y = call i32 @"a b"(i32 %x)
  ret i32 %y
}
"""


def start(**fields: object) -> Start:
    """A start at the inliner."""
    return Start(**{"code": CALLED, "point": "inline", "pipeline": "default<Oz>", **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"opt_level": 4, "reward": "none"}, "opt_level: expected 0 to 3, got 4"),
        ({"opt_level": -1, "reward": "none"}, "opt_level: expected 0 to 3, got -1"),
        (
            {"pipeline": ""},
            r"pipeline: expected one that reaches the point inline, got none; try default<Oz>",
        ),
        ({"point": "evict", "pipeline": "", "also": [{"point": "inline"}]}, "reaches the point inline"),
        (
            {"point": "evict", "pipeline": "", "at": {"x": "y"}},
            "at: expected a pipeline that has extension points",
        ),
        ({"reward": "more"}, "reward: expected one of "),
        ({"reward": "native-estimate", "also": [{"point": "evict"}]}, "got evict"),
    ],
)
def test_a_start_that_is_wrong(wrong: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        Task.of(start(**wrong))


def test_what_a_task_needs() -> None:
    made = Task.of(start(reward="none", function="f", object=True, at={"x": "y"}))
    assert (made.opt_level, made.measure, made.function, made.with_object) == (2, None, "f", True)
    assert made.at == {"x": "y"}
    assert Task.of(start(reward="none", opt_level=0)).opt_level == 0
    assert Task.of(start(point="evict", pipeline="", reward="none")).pipeline == ""
    nothing = Task.of(start(reward="none")).compiled()
    assert (nothing.value, nothing.emitted) == (None, None)
    whole = Task.of(start(reward="none", object=True)).compiled()
    assert whole.value is None
    assert whole.emitted is not None
    assert whole.emitted.code.startswith(b"\x7fELF")
    costs = Task.of(start(reward="allocation-cost", object=True)).compiled()
    assert costs.value is not None
    assert costs.emitted is not None
    assert costs.emitted.code.startswith(b"\x7fELF")
    sized = Task.of(start(reward="native-size"))
    emitted = sized.compiled().emitted
    assert emitted is not None
    assert sized.run() == code_bytes(emitted.code) > 0


def test_a_function_is_one_that_the_module_defines() -> None:
    for name in ("a b", "user"):
        Task.of(start(reward="none", function=name)).compiled()
    told = r"function: expected one that the module defines \(a b, user\), got 'far'"
    with pytest.raises(InputError, match=told):
        Task.of(start(reward="none", function="far")).compiled()
    many = b"".join(b"define void @f%d() {\n  ret void\n}\n" % number for number in range(6))
    with pytest.raises(InputError, match=r"\(f0, f1, f2, f3, f4, \.\.\.\), got 'g'"):
        Task.of(start(code=many, reward="none", function="g")).compiled()


def test_sums_over_modules() -> None:
    one = Measured(9, 1, 8, 7, 2, 3, 4, 0.5, {"inline": "a"})
    assert total([one, replace(one, seconds=1.5)]) == Measured(18, 2, 16, 14, 4, 6, 8, 2.0, {})
    assert total([one, replace(one, seconds=None)]).seconds is None
    assert total([]) == Measured(0, 0, 0, 0, 0, 0, 0, 0, {})
