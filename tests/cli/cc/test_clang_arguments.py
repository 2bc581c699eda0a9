# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What clang's arguments mean, by the words of a command line alone."""

from __future__ import annotations

from typing import Final

import pytest

from passpilot.cli.cc.clang_arguments import Command

COMPILES_ONLY: Final = "-c -S --compile --assemble -emit-ast"
NOTHING: Final = """
    -E -M -MM -fsyntax-only -cc1 -cc1as -cc1gen-reproducer -dumpversion -dumpmachine --version --preprocess
    --dependencies --user-dependencies --analyze --precompile
"""
VALUED: Final = """
    -o -x -I -D -U -L -l -F -T -u -z -e -B -A -G -target -arch -framework -rpath -dumpdir -include -imacros
    -working-directory -isystem -iquote -idirafter -iprefix -isysroot -iwithprefix -iwithprefixbefore
    -include-pch -MF -MT -MQ -MJ -mllvm -mmlir -Xclang -Xlinker -Xassembler -Xpreprocessor -Xanalyzer
    -Xopenmp-target -Xarch_host -Xarch_device -Xthinlto-distributor --param --output --language
    --include-directory --include --define-macro --undefine-macro --library-directory --for-linker
    --for-assembler --config --sysroot
"""


def command(line: str) -> Command:
    return Command(line.split())


@pytest.mark.parametrize(
    ("line", "generates", "links"),
    [
        ("a.c", True, True),
        ("a.o -o a", True, True),
        ("-", True, True),
        ("-- -c", True, True),
        ("-- -E", True, True),
        ("-I -c a.c", True, True),
        ("-o -E a.c", True, True),
        ("-o a.c", False, False),
        ("-include a.c", False, False),
        ("-O2", False, False),
        ("a.c -print-search-dirs", False, False),
        ("a.c --print-search-dirs", False, False),
        *((f"a.c {option}", False, False) for option in NOTHING.split()),
        *((f"a.c {option}", True, False) for option in COMPILES_ONLY.split()),
    ],
)
def test_what_compiles_and_links(line: str, generates: bool, links: bool) -> None:
    made = command(line)
    assert (made.generates_code, made.links) == (generates, links)


@pytest.mark.parametrize(
    ("line", "machine_code", "objects"),
    [
        ("-c a.c", True, True),
        ("--compile src/a.b.c", True, True),
        ("-c a.c -o x/y.o", True, True),
        ("-c a.c --output y.o", True, True),
        ("-c a.c -oy.o", True, True),
        ("-c a.c -o x.o -oy.o", True, True),
        ("-c a.c -I x.o", True, True),
        ("-c -", True, True),
        ("-c a.c b.c", True, True),
        ("-c a.c -- b.c", True, True),
        ("-c -- a.c", True, True),
        ("-c", False, False),
        ("-c a.c -flto", True, True),
        ("-c a.c -flto=thin -fno-lto", True, True),
        ("-c a.c -S", False, False),
        ("-c a.c --assemble", False, False),
        ("-c a.c -emit-llvm", False, False),
        ("-S a.c", False, False),
        ("-c a.c -E", False, False),
        ("a.c", True, False),
        ("a.c -###", False, False),
        ("-c a.c -###", False, False),
    ],
)
def test_what_makes_objects(line: str, machine_code: bool, objects: bool) -> None:
    made = command(line)
    assert (made.makes_machine_code, made.makes_objects) == (machine_code, objects)


@pytest.mark.parametrize(
    ("line", "unoptimized"),
    [
        ("a.c", True),
        ("-O0 a.c", True),
        ("-O2 -O0 a.c", True),
        ("--optimize=0 a.c", True),
        ("-ObjC a.c", True),
        ("-O a.c", False),
        ("-O0 -Os a.c", False),
        ("--optimize a.c", False),
        ("--optimize=2 a.c", False),
        ("-O2 -ObjC a.c", False),
        ("-Xclang -O2 a.c", False),
        ("-mllvm -x a.c", False),
        ("-mllvm=-x a.c", False),
        ("--config x a.c", False),
        ("--config=x a.c", False),
        ("-flto a.c", False),
        ("-fuse-ld=lld a.c", False),
        ("-fuse-ld=bfd a.c", True),
        ("-I -O2 a.c", True),
    ],
)
def test_what_is_not_optimized(line: str, unoptimized: bool) -> None:
    assert command(line).is_unoptimized is unoptimized


@pytest.mark.parametrize(
    ("line", "linker", "lld", "lto"),
    [
        ("a.c", "", False, False),
        ("-fuse-ld=lld a.c", "lld", True, False),
        ("-fuse-ld=/usr/bin/ld.lld-22 a.c", "/usr/bin/ld.lld-22", True, False),
        ("--ld-path=/x/ld.lld a.c", "/x/ld.lld", True, False),
        ("-fuse-ld=lld -fuse-ld=gold a.c", "gold", False, False),
        ("-fuse-ld=/lld/gold a.c", "/lld/gold", False, False),
        ("-flto a.c", "", False, True),
        ("-flto=full a.c", "", False, True),
        ("-flto-jobs=2 a.c", "", False, False),
        ("-flto -fno-lto a.c", "", False, False),
        ("-fno-lto -flto a.c", "", False, True),
    ],
)
def test_how_it_links(line: str, linker: str, lld: bool, lto: bool) -> None:
    made = command(line)
    assert (made.linker, made.linker_is_lld, made.is_lto) == (linker, lld, lto)


@pytest.mark.parametrize("option", VALUED.split())
def test_the_value_of_an_option_is_no_input(option: str) -> None:
    assert not command(f"{option} a.c").generates_code
    assert command(f"{option} a.c b.c").generates_code
