# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes of objects and linked programs, and what is said when a compiler or linker fails."""

from __future__ import annotations

import gc
import os
import subprocess
from pathlib import Path
from typing import Final

import pytest

from passpilot.passes.emit import emit
from passpilot.plugin.errors import CompilationError
from passpilot.plugin.module import Module
from passpilot.training.rewards import FILE_SIZES, code_bytes, function_symbols, symbol_sizes
from passpilot.training.tuning import sizes
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.sizes import LinkedSizes, estimated_sizes, object_sizes, run_compiler, scoped
from passpilot.training.tuning.unit import LLVMS_OWN, Compiled, Unit

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


def with_all(code: bytes) -> dict[str, int]:
    """The functions of an object with what they bring along."""
    return {each.name: each.size + each.more for each in function_symbols(code)}


def test_copies_count_in_objects_and_once_in_an_estimate() -> None:
    made = two()
    first, second = (with_all(each.code) for each in made)
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
    code = object_sizes(made, "text")
    assert code.functions["main"] == symbol_sizes(made[0].code)["main"] < whole.functions["main"]
    assert code.total == sum(code_bytes(each.code) for each in made) < whole.total


def test_functions_in_sections_beyond_the_65279th_have_entries_of_their_own(tmp_path: Path) -> None:
    """Such a section has no number in its symbol."""
    lines = [f'.section .text.f{number},"ax",@progbits' for number in range(65_300)]
    for number in range(2):
        entry = f".cfi_startproc; {'.cfi_def_cfa_offset 64; nop; ' * 9 * number}ret; .cfi_endproc"
        name = f"g{number}"
        lines.append(f'.section .text.{name},"ax",@progbits; .type {name},@function; {name}: {entry}')
        lines.append(f".size {name}, .-{name}")
    (tmp_path / "a.s").write_text("\n".join(lines))
    subprocess.run(["clang-22", "-c", "a.s", "-o", "a.o"], cwd=tmp_path, check=True)
    more = {each.name: each.more for each in function_symbols((tmp_path / "a.o").read_bytes())}
    assert 20 < more["g0"] < more["g1"] < 80


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
    first, second = (with_all(each.code) for each in made)
    found = measure(made)
    assert found.functions == {
        "both": first["both"], "0:own": first["own"], "main": first["main"],
        "1:own": second["own"], "second": second["second"],
    }  # fmt: skip
    assert found.owners == {"both": 0, "0:own": 0, "main": 0, "1:own": 1, "second": 1}
    assert found.total > sum(found.objects) >= sum(found.functions.values()), "the program has its start code"
    assert found.objects[0] > 0 < found.objects[1]
    assert list(tmp_path.iterdir()) == []


def test_all_sizes_are_of_one_link_without_symbols(tmp_path: Path) -> None:
    measure, made = linked(tmp_path), two()
    sizes = {kind: measure(made, kind).total for kind in FILE_SIZES}
    measure.link(made, str(tmp_path / "whole"))
    for kind in ("allocated", "text"):
        assert sizes[kind] == FILE_SIZES[kind]((tmp_path / "whole").read_bytes())
    subprocess.run(["llvm-strip-22", tmp_path / "whole"], check=True)
    assert abs(sizes["file"] - (tmp_path / "whole").stat().st_size) < 256
    assert sizes["text"] < sizes["allocated"] < sizes["file"]
    assert max(sizes["compressed"], sizes["zstd"]) < sizes["file"]


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
            1000             1000       10     1                 second
            1010             1010        8     1                 own
            1010             1010        8     1                 both
            1018             1018        8     1                 own
            1018             1018        8     1                 folded twin
            1030             1030       40    16         /usr/lib/crt1.o:(.text)
            1030             1030       40     1                 _start
            1070             1070        f    16         SCRATCH/0.o:(.text.f)
            1070             1070        f     1                 main
            2000             2000        7     4 .init
            2000             2000        7     4         SCRATCH/0.o:(.init)
            2000             2000        7     1                 both
            4000             4000       20     8 .rodata
            4000             4000       20     8         SCRATCH/0.o:(.rodata)
            4000             4000       20     1                 both
            5000             5000       48     8 .eh_frame
            5000             5000       48     8         SCRATCH/0.o:(.eh_frame+0x18)
               0                0      500     1 .debug_str
               0                0      500     1         SCRATCH/0.o:(.debug_str)
no line of the map
"""


def test_a_map_tells_which_object_brings_what() -> None:
    measure = LinkedSizes([], "")
    own, other = two()
    text, objects = MAP.replace("SCRATCH", measure._scratch), [own.code, other.code]
    code = measure._read_map(999, text, objects, {".text.hot": True, ".init": True}, "text")
    assert code.total == 999
    assert code.functions == {"second": 16, "1:own": 4 + 8, "main": 15, "both": 4 + 7}
    assert code.owners == {"second": 1, "1:own": 1, "main": 0, "both": 1}
    assert list(code.objects) == [15 + 7, 0x30]
    sections = {".interp": False, ".text.hot": True, ".init": True, ".rodata": False, ".eh_frame": False}
    whole = measure._read_map(999, text, objects, sections, "allocated")
    more = {each.name: each.more for each in function_symbols(own.code)}
    assert whole.functions["main"] == 15 + more["main"] > 15 + 20, "its unwind entry and that of the index"
    assert list(whole.objects) == [15 + 7 + 0x20 + 0x48, 0x30]


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


def test_same_functions_are_folded_and_cost_once(tmp_path: Path) -> None:
    """A search links objects that say which addresses matter, as clang's do."""
    body = "  %y = mul i32 %x, 77\n  %z = sdiv i32 %y, 13\n  ret i32 %z\n"
    twins = "".join(f"define i32 @{name}(i32 %x) unnamed_addr {{\n{body}}}\n" for name in ("one", "two"))
    calls = "  %a = call i32 @one(i32 %x)\n  %b = call i32 @two(i32 %a)\n  ret i32 %b\n"
    main = f"define i32 @main(i32 %x) {{\n{calls}}}\n"
    module = Module(f'target triple = "x86_64-pc-linux-gnu"\n{twins}{main}'.encode())
    (made,) = Engine([Unit(module, "default<O0>", sections=True)]).compile([(0, LLVMS_OWN)])
    assert isinstance(made, Compiled)
    whole, folded = (
        LinkedSizes(["clang-22", 0, "-Wl,--gc-sections", *flags], str(tmp_path))([made], "text")
        for flags in ((), ("-Wl,--icf=safe",))
    )
    assert whole.functions["one"] == whole.functions["two"] == 2 * folded.functions["one"]
    assert folded.functions["one"] == folded.functions["two"]
    assert folded.total <= whole.total - whole.functions["one"]
