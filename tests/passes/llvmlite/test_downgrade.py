# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What LLVM 20 is told of a module of LLVM 22."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from passpilot.passes.llvmlite.downgrade import assembly, older
from passpilot.passes.optimize import optimize
from passpilot.plugin.module import Module
from tests import stock
from tests.corpus.programs import programs

SOURCE: Final = """
source_filename = "captures(none) memory(read)"
%captures = type { i32 }
@text = constant [61 x i8] c"  call void @llvm.lifetime.start.p0(ptr %x) captures(address) \\00"

define void @one(ptr dead_on_return captures(address, read_provenance) %memory, ptr nocapture %p) #0 {
  call void @llvm.lifetime.start.p0(ptr nonnull %p) #1
  %a = load i32, ptr %p
  store i32 %a, ptr %p, !dead_on_return !0
  tail call void @llvm.lifetime.end.p0(ptr %p)
  br label %nocreateundeforpoison
nocreateundeforpoison:
  ret void
}
define <4 x i32> @masked(<4 x i32> %v, ptr %p, <4 x ptr> %q, <4 x i1> %m) {
  call void @llvm.masked.store.v4i32.p0(<4 x i32> %v, ptr nonnull align 16 %p, <4 x i1> %m)
  %a = tail call <4 x i32> @llvm.masked.load.v4i32.p0(ptr align 4 %p, <4 x i1> %m, <4 x i32> poison)
  %b = call <4 x i32> @llvm.masked.gather.v4i32.v4p0(<4 x ptr> align 8 %q, <4 x i1> %m, <4 x i32> %a)
  ret <4 x i32> %b
}
declare void @llvm.lifetime.start.p0(ptr captures(none))
attributes #0 = { nounwind memory(read, argmem: readwrite, errnomem: write) "note"="captures()" }
attributes #1 = { nocreateundeforpoison }
!0 = !{!"nocreateundeforpoison"}
"""
EXPECTED: Final = """
source_filename = "captures(none) memory(read)"
%captures = type { i32 }
@text = constant [61 x i8] c"  call void @llvm.lifetime.start.p0(ptr %x) captures(address) \\00"

define void @one(ptr   %memory, ptr nocapture %p) #0 {
  call void @llvm.lifetime.start.p0(i64 -1, ptr nonnull %p) #1
  %a = load i32, ptr %p
  store i32 %a, ptr %p, !dead_on_return !0
  tail call void @llvm.lifetime.end.p0(i64 -1, ptr %p)
  br label %nocreateundeforpoison
nocreateundeforpoison:
  ret void
}
define <4 x i32> @masked(<4 x i32> %v, ptr %p, <4 x ptr> %q, <4 x i1> %m) {
  call void @llvm.masked.store.v4i32.p0(<4 x i32> %v, ptr nonnull %p, i32 16, <4 x i1> %m)
  %a = tail call <4 x i32> @llvm.masked.load.v4i32.p0(ptr %p, i32 4, <4 x i1> %m, <4 x i32> poison)
  %b = call <4 x i32> @llvm.masked.gather.v4i32.v4p0(<4 x ptr> %q, i32 8, <4 x i1> %m, <4 x i32> %a)
  ret <4 x i32> %b
}
attributes #0 = { nounwind memory(readwrite, argmem: readwrite, inaccessiblemem: read) "note"="captures()" }
attributes #1 = { "no-attributes" }
!0 = !{!"nocreateundeforpoison"}
"""


def test_each_construct() -> None:
    assert older(SOURCE) == EXPECTED


@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        ("none", "none, argmem: none, inaccessiblemem: none"),
        ("argmem: read", "none, argmem: read, inaccessiblemem: none"),
        ("errnomem: write", "write, argmem: none, inaccessiblemem: none"),
        ("readwrite, errnomem: none", "readwrite, argmem: readwrite, inaccessiblemem: readwrite"),
        ("write, target_mem0: none, target_mem1: read", "write, argmem: write, inaccessiblemem: readwrite"),
        ("inaccessiblemem: read, target_mem1: write", "none, argmem: none, inaccessiblemem: readwrite"),
    ],
)
def test_effects_on_memory_are_never_fewer(effects: str, expected: str) -> None:
    assert older(f"attributes #0 = {{ memory({effects}) }}") == f"attributes #0 = {{ memory({expected}) }}"


def test_captures_of_nothing_has_an_old_name() -> None:
    assert older("define void @f(ptr captures(none) %p)") == "define void @f(ptr nocapture %p)"


@pytest.mark.parametrize(
    "unknown",
    [
        "dead_on_return",
        "dead_on_return(8)",
        "sanitize_alloc_token",
        "nocreateundeforpoison",
        "captures(ret: address, provenance)",
    ],
)
def test_what_llvm_20_does_not_know_is_dropped(unknown: str) -> None:
    assert older(f"declare ptr @f(ptr {unknown} %p)") == "declare ptr @f(ptr  %p)"
    for kept in (f"%{unknown}", f"@{unknown}", f'"{unknown}"', f"; {unknown}", f"!{unknown}"):
        assert older(kept) == kept


@pytest.mark.parametrize("name", ["load", "store", "gather", "scatter", "expandload"])
def test_the_alignment_of_masked_accesses_is_an_operand(name: str) -> None:
    call = f"  tail call void @llvm.masked.{name}.x(ptr captures(none) align 8 %p, <4 x i1> align 2 %m)\n"
    moved = call.replace("align 8 %p", "%p, i32 8") if name != "expandload" else call
    assert older(call) == moved.replace("captures(none)", "nocapture")


def test_debug_information_is_left_out_of_a_copy(tmp_path: Path) -> None:
    module = Module.read(stock.clang("int f(int x) { return x; }", tmp_path / "in.bc", "-g"), name="mine")
    before = module.assembly()
    text = assembly(module)
    assert "!dbg" in before.decode()
    assert "!dbg" not in text
    assert "DILocation" not in text
    assert "define dso_local i32 @f(" in text
    assert text.splitlines()[0] == before.decode().splitlines()[0]
    assert module.assembly() == before


OLD: Final = """
import pathlib, sys
import passpilot
from llvmlite import binding
assert binding.llvm_version_info[0] == 20, binding.llvm_version_info
module = binding.parse_assembly(pathlib.Path(sys.argv[1]).read_text())
made = passpilot.llvmlite.optimize(module, "default<O3>", mcpu="skylake-avx512")  # with masked accesses
made.verify()
print(sum(1 for function in made.functions if not function.is_declaration))
"""


@pytest.fixture(scope="session")
def llvmlite_20(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The last llvmlite with LLVM 20, in a folder of its own."""
    folder = tmp_path_factory.mktemp("llvmlite")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--target",
        str(folder),
        "llvmlite==0.47.0",
    ]
    subprocess.run(pip, check=True, timeout=250)
    return folder


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(programs()))
def test_llvm_20_reads_real_programs(
    corpus: Callable[[str, str], Path], llvmlite_20: Path, tmp_path: Path, name: str
) -> None:
    module = Module.read(corpus(name, "O2"))
    (tmp_path / "in.ll").write_text(assembly(module))
    optimize(module, "default<O3>", mcpu="skylake-avx512")
    command = [sys.executable, "-c", OLD, str(tmp_path / "in.ll")]
    environment = {**os.environ, "PYTHONPATH": str(llvmlite_20)}
    told = subprocess.check_output(command, text=True, env=environment, timeout=250)
    assert int(told) == sum(not function.is_declaration for function in module.functions)
