# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes of objects and linked programs, and what is said when a compiler or linker fails."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Final

import pytest

from passpilot.passes.emit import emit
from passpilot.plugin.errors import CompilationError
from passpilot.plugin.module import Module
from passpilot.training.rewards import function_symbols, symbol_sizes
from passpilot.training.tuning import sizes
from passpilot.training.tuning.sizes import LinkedSizes, estimated_sizes, object_sizes, run_compiler, scoped
from passpilot.training.tuning.unit import LLVMS_OWN, Compiled

FIRST: Final = """\
target triple = "x86_64-pc-linux-gnu"
define linkonce_odr i32 @both(i32 %x) {
  ret i32 %x
}
define internal i32 @own(i32 %x) noinline {
  %y = mul i32 %x, 7
  ret i32 %y
}
define i32 @NAME(i32 %x) {
  %y = call i32 @own(i32 %x)
  %z = call i32 @both(i32 %y)
  ret i32 %z
}
"""


def compiled(text: str) -> Compiled:
    """What becomes of a module without a pipeline."""
    return Compiled(emit(Module(text.encode()), "obj"), {}, LLVMS_OWN, 0)


def two() -> list[Compiled]:
    """Two objects with a function in common; that of the second is larger."""
    larger = FIRST.replace("ret i32 %x\n", "%s = mul i32 %x, %x\n  %t = sdiv i32 %s, 3\n  ret i32 %t\n")
    return [compiled(FIRST.replace("NAME", "main")), compiled(larger.replace("NAME", "second"))]


def test_copies_count_in_objects_and_once_in_an_estimate() -> None:
    made = two()
    first, second = (symbol_sizes(each.code) for each in made)
    assert first["both"] < second["both"]
    whole, estimate = object_sizes(made), estimated_sizes(made)
    assert whole.functions["both"] == first["both"] + second["both"]
    assert estimate.functions["both"] == first["both"]
    names = {"both", "0:own", "1:own", "main", "second"}
    assert set(whole.functions) == set(estimate.functions) == names
    assert whole.owners == estimate.owners == {"both": 0, "0:own": 0, "main": 0, "1:own": 1, "second": 1}
    assert list(estimate.objects) == [sum(first.values()), sum(second.values()) - second["both"]]
    assert estimate.total == sum(estimate.objects) == sum(estimate.functions.values())
    assert whole.total == sum(whole.objects) >= sum(whole.functions.values())


def test_a_name_that_others_cannot_see_has_a_number() -> None:
    assert (scoped(3, "f", local=True), scoped(3, "f", local=False)) == ("3:f", "f")
    assert {each.name: each.local for each in function_symbols(two()[0].code)} == {
        "both": False, "own": True, "main": False
    }  # fmt: skip


def linked(folder: Path) -> LinkedSizes:
    """A linker of two objects."""
    return LinkedSizes(["clang-22", 0, 1], str(folder))


def test_a_linked_program(tmp_path: Path) -> None:
    measure, made = linked(tmp_path), two()
    first, second = (symbol_sizes(each.code) for each in made)
    found = measure(made)
    assert found.functions == {
        "both": first["both"], "0:own": first["own"], "main": first["main"],
        "1:own": second["own"], "second": second["second"],
    }  # fmt: skip
    assert found.owners == {"both": 0, "0:own": 0, "main": 0, "1:own": 1, "second": 1}
    assert found.total > sum(found.objects) >= sum(found.functions.values()), "the program has its start code"
    assert found.objects[0] > 0 < found.objects[1]
    assert list(tmp_path.iterdir()) == []


def test_objects_that_have_changed_are_written_again(tmp_path: Path) -> None:
    measure, made = linked(tmp_path), two()
    before = measure(made)
    changed = [made[0], compiled(FIRST.replace("NAME", "third"))]
    after = measure(changed)
    assert "second" in before.functions
    assert "third" in after.functions
    assert "second" not in after.functions
    assert measure(made).functions == before.functions


MAP: Final = """\
             VMA              LMA     Size Align Out     In      Symbol
             1c8              1c8       1c     1 .interp
             1c8              1c8       1c     1         <internal>:(.interp)
            1000             1000      500    16 .text.hot
            1000             1000       30    16         SCRATCH/1.o:(.text)
            1000             1000       10     1                 odd name
            1010             1010        8     1                 own
            1018             1018        8     1                 own
            1030             1030       40    16         /usr/lib/crt1.o:(.text)
            1030             1030       40     1                 _start
            1070             1070        f    16         SCRATCH/0.o:(.text.f)
            1070             1070        f     1                 f
            2000             2000        7     4 .init
            2000             2000        7     4         SCRATCH/0.o:(.init)
            2000             2000        7     1                 begin
            3000             3000        9     4 .fini
            3000             3000        9     4         SCRATCH/0.o:(.fini)
            4000             4000       20     8 .rodata
            4000             4000       20     8         SCRATCH/0.o:(.rodata)
            4000             4000       20     1                 table
no line of the map
"""


def test_a_map_tells_which_object_brings_what() -> None:
    measure = LinkedSizes([], "")
    own, other = two()
    found = measure._read_map(999, MAP.replace("SCRATCH", measure._scratch), [other.code, own.code])
    assert found.total == 999
    assert found.functions == {"odd name": 16, "1:own": 16, "f": 15, "begin": 7}
    assert found.owners == {"odd name": 1, "1:own": 1, "f": 0, "begin": 0}
    assert list(found.objects) == [15 + 7 + 9, 0x30]


def test_the_objects_of_a_link_are_removed() -> None:
    measure = LinkedSizes([], "")
    folder = Path(measure._scratch)
    assert folder.is_dir()
    del measure
    gc.collect()
    assert not folder.exists()


def test_what_a_failing_compiler_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def shell(text: str) -> None:
        run_compiler(["sh", "-c", text], str(tmp_path), "a thing")

    with open(__file__, "rb") as file:
        saved = os.dup(0)
        os.dup2(file.fileno(), 0)
        try:
            shell("cat > made; echo error >&2")
        finally:
            os.dup2(saved, 0)
            os.close(saved)
    assert (tmp_path / "made").read_bytes() == b"", "its input is empty"
    with pytest.raises(CompilationError, match=r"^tune: expected a thing, got b: error: first$"):
        shell("echo a: warning >&2; echo b: error: first >&2; echo c: error: second >&2; exit 1")
    with pytest.raises(CompilationError, match=r"^tune: expected a thing, got only this$"):
        shell("printf '\\n only this\\n' >&2; exit 3")
    with pytest.raises(CompilationError, match=r"^\./none: expected to run it, got: No such file"):
        run_compiler(["./none"], None, "a thing")
    monkeypatch.setattr(sizes, "DEADLINE", 0.05)
    with pytest.raises(CompilationError, match=r"^tune: expected a thing within 0\.05 s, got none$"):
        shell("exec sleep 60")
