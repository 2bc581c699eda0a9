# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What files of all formats load, and the sizes of their functions."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.errors import InputError
from passpilot.training.rewards import allocated_bytes, code_bytes, function_symbols

SOURCE: Final = """\
int outside(int);
static int zeros[1000];
const int table[50] = {1, 2, 3};
static __attribute__((noinline)) int inner(int x) { return zeros[x] * 3 + x; }
int outer(int x) { zeros[x] = outside(x); return inner(x) + outside(x); }
"""
TRIPLES: Final = {
    "x86_64-linux-gnu": "",
    "thumbv7em-none-eabi": "",
    "riscv32-unknown-elf": "",
    "x86_64-windows-msvc": "",
    "arm64-apple-macosx": "_",
    "wasm32": "",
}
"""Targets, and what stands before the names of C."""


def compiled(folder: Path, triple: str, *flags: str) -> bytes:
    path = folder / "a.o"
    command = ["clang-22", f"--target={triple}", "-Oz", "-xc", "-", "-c", "-o", str(path), *flags]
    subprocess.run(command, input=SOURCE.encode(), check=True, timeout=60)
    return path.read_bytes()


@pytest.mark.parametrize("triple", TRIPLES)
def test_what_is_loaded(triple: str, tmp_path: Path) -> None:
    data, prefix = compiled(tmp_path, triple), TRIPLES[triple]
    code, loaded = code_bytes(data), allocated_bytes(data)
    assert 0 < code <= loaded - 200, "the table counts"
    assert loaded < len(data)
    more = compiled(tmp_path, triple, "-g")
    assert (code_bytes(more), len(more) > len(data)) == (code, True)
    if triple != "wasm32":  # its debug information imports a memory
        assert allocated_bytes(more) == loaded, "debug information is not loaded"
    functions = {symbol.name: symbol for symbol in function_symbols(data)}
    inner, outer = functions[f"{prefix}inner"], functions[f"{prefix}outer"]
    assert (inner.local, outer.local) == (True, False)
    assert 0 < inner.size < code
    assert inner.size + outer.size <= code
    assert f"{prefix}outside" not in functions


BRANCHES: Final = """\
int outside(int);
int choose(int x) {
  switch (x) {
  case 0: return outside(3); case 1: return outside(17) + 1; case 2: return outside(5) * 7;
  case 3: return 9; case 4: return outside(4) - 2; case 5: return outside(6) / 3;
  }
  return x;
}
"""


@pytest.mark.parametrize(
    ("triple", "least"),
    [("x86_64-linux-gnu", 24 + 8 + 24), ("i386-linux-gnu", 24 + 8 + 24), ("aarch64-linux-gnu", 24 + 8 + 6),
     ("riscv32-unknown-elf", 24 + 8 + 24), ("thumbv7em-none-eabi", 8)],
)  # fmt: skip
def test_what_functions_bring_along(triple: str, least: int, tmp_path: Path) -> None:
    """An unwind entry, its place in the index, and a jump table."""
    (tmp_path / "a.c").write_text(BRANCHES)
    found = {}
    for flag in ("-fasynchronous-unwind-tables", "-fno-asynchronous-unwind-tables"):
        command = ["clang-22", f"--target={triple}", "-Oz", "-ffunction-sections", flag, "-c", "a.c"]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
        (found[flag],) = function_symbols((tmp_path / "a.o").read_bytes())
    full, bare = found.values()
    assert full.size == bare.size
    assert full.more >= least
    if "thumb" not in triple:  # .ARM.exidx has 8 bytes for every function
        assert full.more >= bare.more + 24 + 8


def test_zeros_are_not_loaded_from_the_file(tmp_path: Path) -> None:
    for triple in ("x86_64-linux-gnu", "x86_64-windows-msvc", "arm64-apple-macosx"):
        assert allocated_bytes(compiled(tmp_path, triple)) < 1000, triple


def test_unwind_tables_are_loaded(tmp_path: Path) -> None:
    triple = "x86_64-linux-gnu"
    full, bare = (compiled(tmp_path, triple, *flags) for flags in ([], ["-fno-asynchronous-unwind-tables"]))
    assert code_bytes(full) == code_bytes(bare)
    assert allocated_bytes(full) > allocated_bytes(bare) + 40


@pytest.mark.parametrize("triple", TRIPLES)
def test_files_that_are_cut_off(triple: str, tmp_path: Path) -> None:
    data = compiled(tmp_path, triple)
    for end in range(8, len(data) - 1, max(1, len(data) // 60)):
        for read in (code_bytes, allocated_bytes, function_symbols):
            with contextlib.suppress(InputError):
                assert read(data[:end]) is not None


@pytest.mark.parametrize("data", [b"", b"text", b"BC\xc0\xde\0\0\0\0", b"\0asm\2\0\0\0", b"!<arch>\n"])
def test_what_is_no_object(data: bytes) -> None:
    for read in (code_bytes, allocated_bytes, function_symbols):
        with pytest.raises(
            InputError,
            match=r"expected an object of ELF, COFF, Mach-O or wasm, got (another|LLVM bitcode;)",
        ):
            read(data)
