# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot size --regions`: flash and RAM of firmware, as the linker itself counts them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.errors import InputError
from passpilot.training.growth.regions import ELSEWHERE, MemoryRegion, RegionUse, read_regions, region_uses
from tests.command import passpilot, refused

PROGRAM: Final = """\
int start_values[5] = {1, 2, 3}, counts[30];
const char names[40] = "a";
__thread int own;
int start(int i) { return start_values[i] + counts[i] + names[i]; }
"""
SCRIPT: Final = """\
MEMORY { /* ram : ORIGIN = 1, LENGTH = 2 */
  boot (rx) : ORIGIN = 0x08000000, LENGTH = 0x10 * 64
  flash (rx) : ORIGIN = ORIGIN(boot) + LENGTH(boot), LENGTH = 63K
  ram (rwx) : org = 0x20000000, len = (16K - 0x100) / 2
}
SECTIONS {
  .text : { *(.text*) *(.rodata*) } > flash
  .data : { *(.data*) } > ram AT > flash
  .bss (NOLOAD) : { *(.bss*) } > ram
  .tbss : { *(.tbss*) } > ram
  /DISCARD/ : { *(.ARM.exidx* .eh_frame*) }
}
"""
LINK: Final = ("-Oz", "-nostdlib", "-fuse-ld=lld", "-Tlink.ld", "-Wl,-e,start", "p.c")


@pytest.mark.parametrize(
    "target", ["thumbv7em-none-eabi", "riscv32-unknown-elf", "powerpc-none-eabi", "aarch64-none-elf"]
)
def test_regions_are_those_of_the_linker(target: str, tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(PROGRAM)
    (tmp_path / "link.ld").write_text(SCRIPT)
    more = ["-ftls-model=local-exec", "-Wl,--print-memory-usage", "-o", "p"]
    words = ["clang-22", f"--target={target}", *LINK, *more]
    said = subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    expected = {name: int(used) for name, used in re.findall(r"^ *(\w+): +(\d+) B", said, re.MULTILINE)}
    uses = region_uses(str(tmp_path / "p"), read_regions(str(tmp_path / "link.ld")))
    assert expected["ram"] == 144
    assert {name: use.used for name, use in uses.items()} == {"boot": 0, **expected}
    assert {name: use.length for name, use in uses.items()} == {"boot": 1024, "flash": 63 << 10, "ram": 8064}


def test_regions_in_all_outputs(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(PROGRAM)
    (tmp_path / "link.ld").write_text(SCRIPT)
    for name, count in (("before", 30), ("now", 50)):
        (tmp_path / "p.c").write_text(PROGRAM.replace("30", str(count)))
        words = ["clang-22", "--target=thumbv6m-none-eabi", *LINK, "-o", name]
        subprocess.run(words, cwd=tmp_path, check=True)
    done = passpilot("size", "before", "--regions=link.ld", "--result=base.json", cwd=tmp_path)
    assert re.search(rb"\nram +144 of 8,064 \(1\.8%\)\n", done.out), done
    (file,) = json.loads((tmp_path / "base.json").read_text())["files"]
    assert file["regions"]["ram"] == [144, 8064]
    for base in ("base.json", "before"):
        done = passpilot("size", "now", "--regions=link.ld", f"--against={base}", cwd=tmp_path)
        assert re.search(rb"\nram +144 +224 +\+80 +\+55\.56%\n", done.out), done
    (tmp_path / "other.ld").write_text("MEMORY { rom : o = 0x100, l = 1M }")
    done = passpilot("size", "before", "--regions=other.ld", "--markdown=-", cwd=tmp_path)
    assert re.search(rb"\(no region\) \| \d+", done.out.replace(b"\\", b"")), done


def test_a_map_of_gnu_ld(tmp_path: Path) -> None:
    path = tmp_path / "p.map"
    path.write_text(
        "Memory Configuration\n\nName             Origin             Length             Attributes\n"
        "flash            0x0000000000000100 0x0000000000040000 xr\n"
        "*default*        0x0000000000000000 0xffffffffffffffff\n\nLinker script and memory map\n"
    )
    assert read_regions(str(path)) == [MemoryRegion("flash", 0x100, 0x40000)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SECTIONS { }", "expected MEMORY with regions, as in a linker script, got none"),
        ("INCLUDE memory.x\n", "got none; give memory.x, which it includes"),
        ("MEMORY { a : ORIGIN = DEFINED(x) ? x : 1, LENGTH = 2 }", "a: expected numbers, got 'DEFINED(x) ?"),
        ("MEMORY { a : ORIGIN = 1 / 0, LENGTH = 2 }", "region a: expected numbers, got '1 / 0'"),
        ("MEMORY {" * 40_000, "expected MEMORY with regions, as in a linker script, got none"),
        ("MEMORY { " + "a : ORIGIN = 1, " * 20_000 + "}", "got none"),
        (f"MEMORY {{ a : ORIGIN = {'9' * 6000}K, LENGTH = 2 }}", f"got '{'9' * 60}'; give a file"),
        ("MEMORY { a : ORIGIN = 1, LENGTH = LENGTH(b) }", "region a: expected numbers, got 'LENGTH(b)'"),
    ],
)
def test_wrong_scripts(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "link.ld"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_regions(str(path))
    assert said in str(caught.value)


def test_wrong_programs(tmp_path: Path) -> None:
    (tmp_path / "link.ld").write_text(SCRIPT)
    (tmp_path / "p.c").write_text(PROGRAM)
    subprocess.run(["clang-22", "-c", "p.c"], cwd=tmp_path, check=True)
    error = refused("size", "p.o", "--regions=link.ld", cwd=tmp_path)
    assert "p.o: expected an ELF program for --regions, got another file" in error
    error = refused("size", "p.o", "--regions=none.ld", cwd=tmp_path)
    assert "none.ld: expected a linker script, got" in error
    subprocess.run(["clang-22", "-nostdlib", "-fuse-ld=lld", "p.c", "-o", "p"], cwd=tmp_path, check=True)
    data = (tmp_path / "p").read_bytes()
    for end in (*range(64), *range(64, 400, 7)):
        (tmp_path / "cut").write_bytes(data[:end])
        with pytest.raises(InputError):
            region_uses(str(tmp_path / "cut"), [MemoryRegion("a", 0, 1 << 20)])
    uses = region_uses(str(tmp_path / "p"), [MemoryRegion("a", 0, 0)])
    assert uses["a"] == RegionUse(0, 0)
    assert uses[ELSEWHERE].used > 0
