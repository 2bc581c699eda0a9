# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes of builds: what is recorded of each, and that the printed line builds with decisions.

`docs/builds.md` has a row for every name in `SHAPES`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from passpilot.training.corpus.layout import Corpus
from passpilot.training.rewards import allocated_bytes
from passpilot.training.tuning.build import RECORDING, rebuild_line, recorded_corpus
from passpilot.training.tuning.decision_file import UnitDecisions, write_decisions
from tests.command import PASSPILOT, passpilot
from tests.corpus.build import build
from tests.corpus.programs import all_programs

CLANG: Final = str(shutil.which("clang-22"))
MAIN: Final = """
int twice(int *, int);
int main(int argc, char **argv) { int a[4] = {argc, 2, 3, 4}; return twice(a, argc) == 0; }
"""
TWICE: Final = """
int twice(int *a, int n) { int s = 0; for (int i = 0; i < n; ++i) s += a[i] * 2; return s; }
"""
CMAKE: Final = """
cmake_minimum_required(VERSION 3.20)
project(demo C)
add_executable(demo main.c twice.c)
"""
NINJA: Final = f"""
rule cc
  command = {CLANG} -Oz -c $in -o $out
rule link
  command = {CLANG} $in -o $out
build main.o: cc main.c
build twice.o: cc twice.c
build demo: link main.o twice.o
"""
SETUP: Final = """
from setuptools import Extension, setup
setup(name="demo", ext_modules=[Extension("demo", ["demo.c", "twice.c"], extra_compile_args=["-Oz"])])
"""
EXTENSION: Final = """
#include <Python.h>
int twice(int *, int);
static PyObject *run(PyObject *self, PyObject *none) { int a[1] = {21}; return PyLong_FromLong(twice(a, 1)); }
static PyMethodDef methods[] = {{"run", run, METH_NOARGS, ""}, {0, 0, 0, 0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "demo", 0, -1, methods, 0, 0, 0, 0};
PyMODINIT_FUNC PyInit_demo(void) { return PyModule_Create(&module); }
"""
NODE: Final = """
#include <node_api.h>
int twice(int *, int);
NAPI_MODULE_INIT() { int a[1] = {21}; napi_value v; napi_create_int32(env, twice(a, 1), &v); return v; }
"""
CARGO: Final = """
use std::{env, process::Command};
fn main() {
    let out = env::var("OUT_DIR").unwrap();
    let run = |words: &[&str]| assert!(Command::new(words[0]).args(&words[1..]).status().unwrap().success());
    run(&["cc", "-Oz", "-fPIC", "-c", "twice.c", "-o", &format!("{out}/twice.o")]);
    run(&["ar", "rcs", &format!("{out}/libtwice.a"), &format!("{out}/twice.o")]);
    println!("cargo:rustc-link-search=native={out}\\ncargo:rustc-link-lib=static=twice");
}
"""
RUST: Final = """
extern "C" { fn twice(a: *mut i32, n: i32) -> i32; }
fn main() { let mut a = [21]; std::process::exit((unsafe { twice(a.as_mut_ptr(), 1) } != 42) as i32) }
"""
MAKE: Final = "demo: main.o twice.o\n\t$(CC) -o $@ $^\nclean:\n\trm -f *.o demo\n"


@dataclass(frozen=True)
class Shape:
    """A build, and what is expected of it.

    Attributes:
        build: the shell command, which may be a build system's alone.
        before: a shell command that configures the tree.
        program: the name of the program in the corpus.
        product: a pattern of the file that changes with the decisions.
        line: how the printed line begins.
        clean: a shell command that removes the objects.
    """

    build: str
    line: str
    files: Mapping[str, str] = field(default_factory=dict)
    before: str = ""
    program: str = "demo"
    product: str = "demo"
    clean: str = "rm -rf *.o demo *.a"
    units: frozenset[str] = frozenset(("main.c", "twice.c"))


SHAPES: Final = {
    "make": Shape("make CFLAGS=-Oz", "make CFLAGS=-Oz clean && make CFLAGS=-Oz CC=", {"Makefile": MAKE}),
    "make, `CC` with a path or flags": Shape(
        "make", "make clean && passpilot build", {"Makefile": f"CC={CLANG} -Oz\n{MAKE}"}
    ),
    "CMake, Makefiles": Shape(
        "cmake --build out",
        "cmake -S . -B out -DCMAKE_C_COMPILER_LAUNCHER",
        {"CMakeLists.txt": CMAKE},
        f"cmake -B out -DCMAKE_C_COMPILER={CLANG} -DCMAKE_C_FLAGS=-Oz",
        product="out/demo",
    ),
    "CMake, Ninja": Shape(
        "cmake --build out",
        "passpilot build",
        {"CMakeLists.txt": CMAKE},
        "cmake -G Ninja -B out -DCMAKE_BUILD_TYPE=MinSizeRel",
        product="out/demo",
    ),
    "Meson": Shape(
        "meson compile -C out",
        "CC=",
        {"meson.build": "project('demo', 'c')\nexecutable('demo', 'main.c', 'twice.c')\n"},
        "meson setup out -Doptimization=s -Ddebug=false",
        product="out/demo",
    ),
    "Ninja": Shape("ninja", "ninja -t clean && passpilot build", {"build.ninja": NINJA}),
    "ccache": Shape(
        "make", "make clean && make CC=", {"Makefile": f"CC=ccache clang-22\nCFLAGS=-Oz\n{MAKE}"}
    ),
    "wrapper that clears the environment": Shape(
        "sh run.sh",
        "passpilot build",
        {"run.sh": f"exec env -i PATH=/bin:/usr/bin sh -ec '{CLANG} -Oz main.c twice.c -o demo'\n"},
    ),
    "toolchain file": Shape(
        "cmake --build out",
        "cmake -S . -B out -DCMAKE_C_COMPILER_LAUNCHER",
        {
            "CMakeLists.txt": CMAKE,
            "cross.cmake": "set(CMAKE_SYSTEM_NAME Generic)\nset(CMAKE_C_COMPILER clang-22)\n"
            "set(CMAKE_C_COMPILER_TARGET thumbv7em-none-eabi)\nset(CMAKE_C_FLAGS_INIT -Oz)\n"
            "set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)\n"
            'set(CMAKE_EXE_LINKER_FLAGS_INIT "-fuse-ld=lld -nostdlib -Wl,-e,main")\n',
        },
        "cmake -B out -DCMAKE_TOOLCHAIN_FILE=$PWD/cross.cmake",
        product="out/demo",
    ),
    "static library": Shape(
        "make libdemo.a",
        "make -B libdemo.a CC=",
        {"Makefile": "CFLAGS=-Oz\nlibdemo.a: main.o twice.o\n\tar rcs $@ $^\n"},
        program="library",
        product="libdemo.a",
    ),
    "shared library": Shape(
        "make libdemo.so",
        "make -B libdemo.so CC=",
        {"Makefile": "CFLAGS=-Oz -fPIC\nlibdemo.so: main.o twice.o\n\t$(CC) -shared -o $@ $^\n"},
        program="libdemo.so",
        product="libdemo.so",
        clean="rm -f *.o *.so",
    ),
    "link-time optimization": Shape(
        "make", "make clean && make CC=", {"Makefile": f"CC=clang-22 -flto -fuse-ld=lld\nCFLAGS=-Oz\n{MAKE}"}
    ),
    "one command": Shape("clang-22 -Oz main.c twice.c -o demo", "passpilot cc --decisions="),
    "linker itself": Shape(
        "make",
        "make -B CC=",
        {
            "Makefile": "CFLAGS=-Oz -fno-pie -ffreestanding\ndemo: main.o twice.o\n"
            "\tld.lld-22 -e main -o $@ $^\n"
        },
    ),
    "setup.py": Shape(
        f"{sys.executable} setup.py -q build_ext --inplace",
        "passpilot build",
        {"setup.py": SETUP, "demo.c": EXTENSION},
        program="",
        product="demo.*.so",
        clean="rm -rf build *.so",
        units=frozenset(("demo.c", "twice.c")),
    ),
    "node-gyp": Shape(
        "./node_modules/.bin/node-gyp rebuild --silent --nodedir=/usr",
        "passpilot build",
        {
            "binding.gyp": "{'targets': [{'target_name': 'demo', 'sources': ['node.c', 'twice.c'],"
            " 'cflags': ['-Oz']}]}",
            "node.c": NODE,
        },
        "npm install --silent --no-save node-gyp@10",
        program="demo.node",
        product="build/Release/demo.node",
        clean="rm -rf build",
        units=frozenset(("node.c", "twice.c")),
    ),
    "cargo": Shape(
        "cargo build -q --offline",
        "passpilot build",
        {
            "Cargo.toml": '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n',
            "build.rs": CARGO,
            "src/main.rs": RUST,
        },
        program="",
        product="target/debug/build/*/out/twice.o",
        clean="rm -rf target",
        units=frozenset(("twice.c",)),
    ),
}
SLOW: Final = ("Meson", "node-gyp", "cargo", "setup.py")
"""They need tools that not every machine has, or take long."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the program's sources; passpilot, cmake and meson are on the PATH."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(PASSPILOT.parent), os.environ["PATH"]]))
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "twice.c").write_text(TWICE)
    return tmp_path


def shell(command: str) -> str:
    """What a shell command says, which must succeed."""
    done = subprocess.run(["sh", "-ec", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}"
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.soak] * (name in SLOW)) for name in SHAPES]
)
def test_a_build_is_recorded_and_built_with_decisions(here: Path, name: str) -> None:
    shape = SHAPES[name]
    for file, text in shape.files.items():
        (here / file).parent.mkdir(exist_ok=True)
        (here / file).write_text(text)
    if shape.before:
        shell(shape.before)
    command = shape.build.split()
    corpus = Corpus.read(recorded_corpus(command, "tuned"), "/")
    assert {os.path.basename(unit) for unit in corpus.units} == shape.units
    assert not shape.program or [program.name for program in corpus.programs] == [shape.program]
    (product,) = here.glob(shape.product)
    before = product.read_bytes()

    (twice,) = (unit for unit in corpus.units if unit.endswith("twice.c"))
    write_decisions("file.decisions", [UnitDecisions(twice, {}, functions={"twice": ("speed", "unroll=4")})])
    line = rebuild_line(command, f"--decisions={here}/file.decisions", f"tuned/{RECORDING}")
    assert line.replace(str(here), ".").startswith(shape.line)
    shell(f"{shape.clean}; {line}")
    (product,) = here.glob(shape.product)
    assert len(product.read_bytes()) != len(before) or product.read_bytes() != before, "decisions have effect"


def test_the_page_has_a_row_for_every_shape() -> None:
    page = (Path(__file__).parents[3] / "docs/builds.md").read_text()
    rows = re.findall(r"^\| ([^|]+?) \|", page, re.MULTILINE)
    assert [name for name in SHAPES if name not in rows] == []
    assert "autotools with libtool" in rows


@pytest.mark.soak
def test_autotools_with_libtool(here: Path) -> None:
    assert not build(["wavpack"])
    shutil.copytree(all_programs()["wavpack"].source, here / "wavpack")
    shell("cd wavpack && sh ./configure -q --disable-dependency-tracking CFLAGS=-Oz")
    corpus = Corpus.read(recorded_corpus(["make", "-s", "-C", "wavpack"], "tuned"), "/")
    assert {"wavpack", "wvunpack"} <= {program.name for program in corpus.programs}
    assert "libwavpack.so" in " ".join(program.name for program in corpus.programs)
    assert len(corpus.units) > 40


STARTUP: Final = """
#include <stdint.h>
extern uint32_t _estack;
int main(void);
void SysTick_Handler(void);
void Reset_Handler(void) { main(); for (;;) {} }
__attribute__((section(".isr_vector"), used)) void (*const vectors[])(void) = {
  (void (*)(void))&_estack, Reset_Handler, SysTick_Handler,
};
"""
FIRMWARE: Final = """
#include <stdint.h>
#define PORT (*(volatile uint32_t *)0x40011004)
volatile uint32_t ticks;
static void put(char c) { while (PORT & 0x80) {} PORT = c; }
static void line(void) { put('\\r'); put('\\n'); }
void SysTick_Handler(void) { if (++ticks % 10 == 0) line(); }
static void number(uint32_t n) {
  char b[12]; int i = 0;
  do b[i++] = '0' + n % 10; while (n /= 10);
  while (i) put(b[--i]);
  line();
}
static int scale(int a) { return a * 3 + (a >> 2) - a / 7; }
void unused_table(void) { number(ticks); }
int main(void) { for (;;) { number(scale(ticks) + scale(ticks + 1)); number(scale(PORT)); } }
"""
SCRIPT: Final = """
ENTRY(Reset_Handler)
MEMORY { FLASH (rx) : ORIGIN = 0x08000000, LENGTH = 64K  RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 20K }
_estack = ORIGIN(RAM) + LENGTH(RAM);
SECTIONS {
  .isr_vector : { KEEP(*(.isr_vector)) } > FLASH
  .text : { *(.text*) *(.rodata*) } > FLASH
  .ARM.exidx : { *(.ARM.exidx*) } > FLASH
  .bss : { *(.bss*) } > RAM
}
"""
CORTEX: Final = "--target=thumbv7em-none-eabi -mcpu=cortex-m4 -mfloat-abi=soft"
LINK: Final = "-fuse-ld=lld -nostdlib -T link.ld -Wl,--gc-sections"
SECTIONS: Final = "-Oz -ffreestanding -ffunction-sections"
BOARDS: Final = {
    "make": {
        "Makefile": f"CC = clang-22 {CORTEX}\nCFLAGS = {SECTIONS}\nfw.elf: startup.o fw.o\n"
        f"\t$(CC) {LINK} -o $@ $^\nclean:\n\trm -f *.o\n",
    },
    "make and ld.lld": {
        "Makefile": f"CC = clang-22 {CORTEX}\nCFLAGS = {SECTIONS}\nfw.elf: startup.o fw.o\n"
        "\tld.lld-22 -T link.ld --gc-sections -o $@ $^\nclean:\n\trm -f *.o\n",
    },
    "make and GNU ld": {
        "Makefile": f"CC = clang-22\nCFLAGS = {SECTIONS} -fno-pic\nfw.elf: startup.o fw.o libp.a libq.a\n"
        "\tld -T link.ld --gc-sections -u p1 -o $@ startup.o fw.o --start-group libp.a libq.a --end-group\n"
        "lib%.a: %1.s %2.s\n\tas $*1.s -o $*1.o\n\tas $*2.s -o $*2.o\n\tar rc $@ $*1.o $*2.o\n",
        "p1.s": ".globl p1\np1: call q1\n",
        "p2.s": ".globl p2\np2: call q2\n",
        "q1.s": ".globl q1\nq1: call p2\n",
        "q2.s": ".globl q2\nq2: ret\n",
    },
    "cmake": {
        "CMakeLists.txt": "cmake_minimum_required(VERSION 3.20)\nproject(fw C)\n"
        "add_executable(fw.elf startup.c fw.c)\n"
        "target_link_options(fw.elf PRIVATE LINKER:--gc-sections,-T,all.ld -L${CMAKE_SOURCE_DIR})\n",
        "all.ld": "INCLUDE link.ld\n",
        "cross.cmake": "set(CMAKE_SYSTEM_NAME Generic)\nset(CMAKE_C_COMPILER clang-22)\n"
        f'set(CMAKE_C_COMPILER_TARGET thumbv7em-none-eabi)\nset(CMAKE_C_FLAGS_INIT "{CORTEX} {SECTIONS}")\n'
        'set(CMAKE_EXE_LINKER_FLAGS_INIT "-fuse-ld=lld -nostdlib")\n'
        "set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)\n",
    },
}


@pytest.mark.parametrize("board", BOARDS)
def test_firmware_has_the_size_that_is_said(here: Path, board: str) -> None:
    for file, text in {"startup.c": STARTUP, "fw.c": FIRMWARE, "link.ld": SCRIPT, **BOARDS[board]}.items():
        (here / file).write_text(text)
    build = ["make", "-s"]
    if board == "cmake":
        shell("cmake -B out -DCMAKE_TOOLCHAIN_FILE=$PWD/cross.cmake")
        build = ["cmake", "--build", "out"]
    done = passpilot("tune", "--compiles=12", "--jobs=1", "-o", "my tuned", "--", *build, cwd=here)
    assert done.code == 0, done.err
    sizes = re.search(r"fw\.elf: allocated (\d+) -> (\d+) bytes", done.err)
    assert sizes
    assert int(sizes[1]) > int(sizes[2])
    summary = re.findall(r"^  (\S.*?)(?:  |$)", done.err, re.MULTILINE)
    sections = ["bytes", "what brought it", "what it costs", "where: functions that change most"]
    assert [row for row in summary if row.startswith(tuple(sections))] == summary[:1] + summary[5:-1]
    (image,) = (*here.glob("fw.elf"), *here.glob("out/fw.elf"))
    assert allocated_bytes(image.read_bytes()) == int(sizes[1]), "the start is what the build has made"
    line = re.search(r"build fw\.elf with: (.*)\n", done.out.decode())
    assert line
    shell(f"rm -f *.o; {line[1]}")
    assert allocated_bytes(image.read_bytes()) == int(sizes[2])


def test_the_shortest_search_is_not_worse_than_oz(here: Path) -> None:
    """It tries the recipe of the policy first; none of the other candidates are reached."""
    for file, text in {"startup.c": STARTUP, "fw.c": FIRMWARE, "link.ld": SCRIPT, **BOARDS["make"]}.items():
        (here / file).write_text(text)
    shell("passpilot build --policy=@oz -- make -s")
    theirs = allocated_bytes((here / "fw.elf").read_bytes())
    shell("make -s clean")
    done = passpilot("tune", "--compiles=2", "-o", "tuned", "--", "make", "-sB", cwd=here)
    sizes = re.search(r"fw\.elf: allocated (\d+) -> (\d+) bytes", done.err)
    assert sizes
    assert int(sizes[2]) <= theirs < int(sizes[1])
    assert "the recipe of @oz" in done.err
    (line,) = re.findall(r"build fw\.elf with: (.*)\n", done.out.decode())
    shell(line)
    assert allocated_bytes((here / "fw.elf").read_bytes()) == int(sizes[2])


def test_what_a_link_keeps(here: Path) -> None:
    (here / "fw.c").write_text(FIRMWARE)
    (here / "startup.c").write_text(STARTUP)
    build = ["sh", "-ec", f"clang-22 {CORTEX} {SECTIONS} -c startup.c fw.c"]
    sizes = {}
    for kept in ("vectors", "unused_table", "vectors,unused_table", ""):
        more = [f"--keep={kept}"] if kept else []
        done = passpilot("tune", "--compiles=1", *more, "-o", "tuned", "--", *build, cwd=here)
        found = re.search(r"library: allocated (\d+) ->", done.err)
        assert found, done.err
        sizes[kept] = int(found[1])
    assert sizes["unused_table"] < sizes["vectors"] < sizes["vectors,unused_table"] <= sizes[""]
    wrong = passpilot("tune", "--keep=none", "-o", "tuned", "--", *build, cwd=here)
    assert "--keep: expected a function or variable of library, got 'none'" in wrong.err
    wrong = passpilot("tune", "--keep=none", "-o", "tuned", "a.ll", cwd=here)
    assert "--keep: expected a build or a corpus, got a module" in wrong.err


MODULE: Final = """
static int twice(int x) { return x * 2 + (x >> 3); }
int each(int n) { int s = 0; for (int i = 0; i < n; i++) s += twice(i); return s; }
int run(int n) { return each(n) + each(n + 1) + twice(n); }
int other(int n) { return each(n) * 3; }
"""


def test_wasm_has_the_size_that_is_said(here: Path) -> None:
    """Also if clang finds wasm-opt, which it runs at links with a level."""
    (here / "w.c").write_text(MODULE)
    flags = "--target=wasm32 -Oz -nostdlib -Wl,--no-entry,--export=run,--initial-memory=131072,-s"
    done = passpilot("tune", "--compiles=4", "-o", "t", "--", "clang-22", *flags.split(), "w.c", "-o", "w",
                     cwd=here)  # fmt: skip
    sizes = re.search(r"w: allocated (\d+) -> (\d+) bytes", done.err)
    assert sizes, done.err
    assert "left out" not in done.err
    assert allocated_bytes((here / "w").read_bytes()) == int(sizes[1])
    shell(f"passpilot cc --decisions=t/w.decisions {flags} w.c -o w")
    assert allocated_bytes((here / "w").read_bytes()) == int(sizes[2])
