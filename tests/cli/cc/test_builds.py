# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real programs built from their sources with `passpilot cc`, by make and CMake, in parallel."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from passpilot.features.log.reader import read_log
from passpilot.training.rewards import allocated_bytes
from tests.command import PASSPILOT
from tests.corpus.build import FIXED_CLOCK, bindir, build
from tests.corpus.programs import Program, programs

RANDOM: Final = ("--inline=random:7", "--evict=random:7", "--priority=random:7")

CMAKE: Final = """\
cmake_minimum_required(VERSION 3.25)
project(lz4 C)
file(GLOB sources lz4libs/*.c)
add_library(lz4 STATIC ${sources})
target_compile_definitions(lz4 PUBLIC XXH_NAMESPACE=LZ4_)
target_include_directories(lz4 PUBLIC lz4libs)
add_executable(program _driver/driver_lz4.c)
target_link_libraries(program lz4)
"""


def unpacked(name: str, folder: Path) -> Program:
    """A program of the corpus, whose sources are copied to a folder."""
    assert not build([name])
    program = programs()[name]
    shutil.copytree(program.source, folder, dirs_exist_ok=True)
    return program


def run(*command: str | Path, cwd: Path, **variables: str) -> bytes:
    done = subprocess.run(
        [str(each) for each in command],
        cwd=cwd,
        env={**os.environ, "PATH": f"{PASSPILOT.parent}:{bindir()}:{os.environ['PATH']}", **variables},
        capture_output=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return done.stdout


def decisions(logs: Path, point: str) -> list[int]:
    """How many decisions each log of a point has; all must be readable to their ends."""
    return [sum(1 for _ in read_log(str(path))) for path in sorted(logs.glob(f"*-{point}.log"))]


def check_output(program: Program, binary: Path, folder: Path) -> None:
    arguments = [each.replace("{drv}", "_driver") for each in program.driver.args]
    printed = run(binary, *arguments, cwd=folder)
    assert hashlib.sha256(printed).hexdigest() == program.driver.stdout_sha256


def make_lua(folder: Path, compiler: str, *settings: str) -> None:
    program = unpacked("lua", folder)
    run("make", "-j2", "posix", f"CC={compiler} -std=gnu99 -w", *settings, cwd=folder / "src")
    check_output(program, folder / "src" / "lua", folder)


@pytest.mark.soak
def test_lua_by_its_makefile(tmp_path: Path) -> None:
    make_lua(tmp_path, f"passpilot cc --inline=random:7 --log={tmp_path}/logs/")
    counts = decisions(tmp_path / "logs", "inline")
    assert len(counts) == len([*(tmp_path / "src").glob("*.o")]) == 34
    assert sum(counts) > 1000


def test_lua_again_has_the_same_logs_and_the_same_bytes(tmp_path: Path) -> None:
    unpacked("lua", tmp_path)
    made = []
    for _ in range(2):
        command = ("lapi.o", "lcode.o", "lparser.o", f"CC=passpilot cc {RANDOM[0]} --log=logs/")
        run("make", "-B", "-j2", *command, cwd=tmp_path / "src")
        outputs = [*(tmp_path / "src").glob("*.o"), *(tmp_path / "src" / "logs").iterdir()]
        made.append({path.name: path.read_bytes() for path in outputs})
    assert made[0] == made[1]
    assert len(made[0]) == 6


@pytest.mark.parametrize("way", ["launcher", pytest.param("variable", marks=pytest.mark.soak)])
def test_lz4_by_cmake(way: str, tmp_path: Path) -> None:
    program = unpacked("lz4", tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    # Its calls are random no more: some of the choices make it ten times as large.
    words = ["passpilot", "cc", "--inline=default", *RANDOM[1:], f"--log={tmp_path}/logs/"]
    cmake = ["cmake", "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=MinSizeRel"]
    if way == "launcher":
        launcher = f"-DCMAKE_C_COMPILER_LAUNCHER={';'.join(words)}"
        run(*cmake, "-G", "Ninja", "-DCMAKE_C_COMPILER=clang-22", launcher, cwd=tmp_path)
    else:
        run(*cmake, "-G", "Unix Makefiles", cwd=tmp_path, CC=" ".join(words))
    run("cmake", "--build", "build", "-j2", cwd=tmp_path)
    check_output(program, tmp_path / "build" / "program", tmp_path)
    for point in ("inline", "evict", "priority"):
        assert len([each for each in decisions(tmp_path / "logs", point) if each]) >= 4, point


def test_lua_with_the_policy_for_size(tmp_path: Path) -> None:
    make_lua(tmp_path, "passpilot cc --policy=@oz", "MYCFLAGS=-Oz")
    folder = tmp_path / "src"
    ours = [allocated_bytes((folder / name).read_bytes()) for name in ("lapi.o", "lcode.o")]
    run("make", "-B", "lapi.o", "lcode.o", "CC=clang-22", "MYCFLAGS=-Oz", cwd=folder)
    stock = [allocated_bytes((folder / name).read_bytes()) for name in ("lapi.o", "lcode.o")]
    assert all(mine < its for mine, its in zip(ours, stock, strict=True)), (ours, stock)


@pytest.mark.soak
@pytest.mark.parametrize("name", ["zstd", "re2"])
def test_larger_programs_with_the_policy_for_size(name: str, tmp_path: Path) -> None:
    program = unpacked(name, tmp_path)
    objects = [f"{number}.o" for number in range(len(program.sources()))]
    for source, target in zip(program.sources(), objects, strict=True):
        flags = ("-Oz", "-w", *FIXED_CLOCK, *program.flags(source))
        run("passpilot", "cc", "--policy=@oz", *flags, "-c", source, "-o", target, cwd=tmp_path)
    linker = "c++" if program.lang == "c++" else "cc"
    run("passpilot", linker, "--policy=@oz", *objects, *program.libs, "-o", "program", cwd=tmp_path)
    check_output(program, tmp_path / "program", tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["full", "thin"])
def test_lua_with_link_time_optimization(kind: str, tmp_path: Path) -> None:
    archiver = ("AR=llvm-ar rcu", "RANLIB=llvm-ranlib")
    # As a whole the program would become four times as large.
    advice = "--inline=random:7 --size-budget=1.2 --priority=random:7"
    make_lua(tmp_path, f"passpilot cc {advice} --log={tmp_path}/logs/ -flto={kind}", *archiver)
    linked = [path.name for path in (tmp_path / "logs").iterdir() if ".c-" not in path.name]
    assert any(name.endswith("-inline.log") for name in linked), linked
    assert len(decisions(tmp_path / "logs", "inline")) > 34, "units, and what the linker compiles"
    assert sum(decisions(tmp_path / "logs", "priority")) > 1000


@pytest.mark.soak
def test_box2d_by_its_cmake_file_with_its_own_tests(tmp_path: Path) -> None:
    unpacked("box2d", tmp_path)
    compiler = " ".join(["passpilot c++", *RANDOM, f"--log={tmp_path}/logs/"])
    flags = ("-DBOX2D_BUILD_TESTBED=OFF", "-DCMAKE_CXX_FLAGS=-DDOCTEST_CONFIG_NO_POSIX_SIGNALS")
    release = (*flags, "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "-S", ".", "-B", "build", *release, cwd=tmp_path, CXX=compiler, CC="clang-22")
    run("cmake", "--build", "build", "-j2", cwd=tmp_path)
    assert b"SUCCESS" in run(tmp_path / "build/bin/unit_test", cwd=tmp_path)
    assert len(decisions(tmp_path / "logs", "inline")) > 40
