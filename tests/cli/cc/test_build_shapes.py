# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes of a build's command: what `passpilot cc` leaves behind is what clang leaves behind."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.command import PASSPILOT, run

SHAPES: Final = """
    -c a.c
    -c a.c -o x/y.o
    -c a.c b.c
    -c a.c -o /dev/null
    -c a.c -o -
    -c a.c -o link.o
    -c a.c -o none/a.o
    -c wrong.c
    -c a.c wrong.c
    -c missing.c
    -c a.c -O0
    -c a.c -MD -MF a.dep -MT target
    -c a.c -MMD -MP
    -c a.c -MJ a.json
    -c a.c -g -gsplit-dwarf
    -c a.c -fsave-optimization-record
    -c a.c -foptimization-record-file=remarks.yaml
    -c a.c -fstack-usage
    -c a.c -save-stats
    -c a.c -save-temps
    -c a.c -save-temps=obj -o x/a.o
    -c a.c --serialize-diagnostics a.dia
    -c a.c -ftime-trace
    -c a.c --coverage -fno-asynchronous-unwind-tables
    -c a.c -fno-integrated-as
    -c a.c -flto
    -c a.c -flto=thin -ffat-lto-objects
    -c -x c++-header a.h
    -c -x c-header a.h -o a.h.gch
    a.h
    -c -Xclang -emit-pch a.c -o a.pch
    -c -Xclang -emit-llvm a.c
    -c -emit-llvm a.c
    -c -S a.c
    -c -emit-ast a.c
    -c -fsyntax-only a.c
    -c -### a.c
    -c asm.s
    -c module.ll
    -c --target=wasm32 a.c
    -c --target=x86_64-windows-msvc -mno-incremental-linker-compatible a.c
    -c --target=arm64-apple-macosx a.c
    -c --target=arm64-apple-macosx -arch arm64 -arch arm64e a.c
    -S a.c -o -
    -E a.c
    @args.rsp
    a.o b.o -o program
    a.c b.c main.c -o program
    -shared -fPIC a.c -o liba.so
    -r a.o b.o -o c.o
"""

FILES: Final = {
    "a.c": "static int leaf(int x) { return x * 3 + 1; }\nint a(int x) { return leaf(x) + leaf(x + 1); }\n",
    "b.c": "int a(int);\nint b(int x) { return a(x) * a(x); }\n",
    "main.c": "int b(int);\nint main(void) { return b(1) == 1; }\n",
    "wrong.c": "int f(void) { return }\n",
    "a.h": "int a(int x);\n",
    "asm.s": '.text\n.globl x\nx: ret\n.section .note.GNU-stack,"",@progbits\n',
    "module.ll": "define i32 @f(i32 %x) {\n  ret i32 %x\n}\n",
    "args.rsp": "\"-DNAME=two words\" '-DE= -E' -c a.c -o x/from\\ args.o",
}

UNEQUAL: Final = (".stats", ".json", ".yaml", ".pch", ".ast")
"""The ends of files that hold times, or clang's arguments."""

WAYS: Final = (("--inline=default", "--log={logs}/"), ("--best-of=2",))
"""Both decide as clang does: at -Oz no other policy makes objects this small any smaller."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shapes")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "x").mkdir()
    (folder / "linked.o").touch()
    (folder / "link.o").symlink_to("linked.o")
    subprocess.run(["clang-22", "-O2", "-c", "a.c", "b.c"], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("shape", SHAPES.strip().splitlines(), ids=str.strip)
def test_a_command_leaves_what_clangs_leaves(shape: str, template: Path, tmp_path: Path) -> None:
    theirs = outcome(template, tmp_path / "here", "clang-22", *shape.split())
    for way in WAYS:
        options = [option.format(logs=tmp_path / "logs") for option in way]
        assert outcome(template, tmp_path / "here", PASSPILOT, "cc", *options, *shape.split()) == theirs, way
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def outcome(template: Path, folder: Path, *command: str | Path) -> tuple[int, bytes, dict[str, bytes]]:
    """The exit code, what a command writes to its output, and the files of a folder, in which it has run."""
    shutil.copytree(template, folder, symlinks=True)
    done = run(*command, "-Oz", cwd=folder)
    paths = [path for path in folder.rglob("*") if path.is_file()]
    files = {f"{path.relative_to(folder)}{'@' * path.is_symlink()}": contents(path) for path in paths}
    shutil.rmtree(folder)
    return done.code, done.out, files


def contents(path: Path) -> bytes:
    return b"" if path.name.endswith(UNEQUAL) else path.read_bytes()
