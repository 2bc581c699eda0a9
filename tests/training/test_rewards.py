# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The measures of generated code."""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from passpilot.plugin.compile import emit
from passpilot.plugin.errors import InputError
from passpilot.plugin.module import Module
from passpilot.training.compiler_service import REMEMBERED, Baselines
from passpilot.training.rewards import code_size, improvement
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


def test_an_object_of_another_format_is_refused() -> None:
    code = emit(Module.read(TEXT.replace("TRIPLE", "x86_64-pc-windows-msvc").encode()), "obj")
    with pytest.raises(InputError, match="expected a target with ELF objects"):
        size(code)


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
