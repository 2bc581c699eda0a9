# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole builds, recorded by make and by CMake: the corpus has what it should, and makes the build's code."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Final

import pytest

from passpilot.training.corpus.layout import Corpus
from tests.cli.cc.test_builds import unpacked
from tests.command import passpilot
from tests.corpus.build import bindir
from tests.training.corpus.builds import run, write

CMAKE: Final = """\
cmake_minimum_required(VERSION 3.25)
project(shapes C CXX)
include(CheckSymbolExists)
check_symbol_exists(printf stdio.h HAS_PRINTF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
add_library(areas STATIC src/areas.cpp src/names.c)
target_include_directories(areas PUBLIC include)
add_library(shown SHARED src/shown.cpp)
target_link_libraries(shown areas)
set_target_properties(areas PROPERTIES POSITION_INDEPENDENT_CODE ON)
add_executable(shapes src/main.cpp)
target_link_libraries(shapes areas)
add_executable(other src/main.cpp)
target_compile_definitions(other PRIVATE OTHER)
target_link_libraries(other shown m)
"""
SHAPES: Final = {
    "CMakeLists.txt": CMAKE,
    "include/areas.h": '#pragma once\n#include <vector>\nextern "C" const char *name(int);\n'
    "struct Shape { double a, b; double area() const; };\ndouble total(const std::vector<Shape> &);\n",
    "src/areas.cpp": '#include "areas.h"\ndouble Shape::area() const { return a * b; }\n'
    "double total(const std::vector<Shape> &shapes) { double sum = 0; for (auto &each : shapes) "
    "sum += each.area(); return sum; }\n",
    "src/names.c": 'const char *name(int i) { return i ? "one" : "none"; }\n',
    "src/shown.cpp": '#include "areas.h"\n'
    "double shown(int n) { return total(std::vector<Shape>(n, {2, 3})); }\n",
    "src/main.cpp": '#include <cstdio>\n#include "areas.h"\n#ifdef OTHER\ndouble shown(int);\n'
    'int main() { printf("%g\\n", shown(3)); }\n#else\n'
    "int main(int c, char **) { std::vector<Shape> s(c, {2, 5}); "
    'printf("%s %g\\n", name(c), total(s)); }\n#endif\n',
}


def extract(folder: Path, *arguments: str) -> Corpus:
    """The corpus of a recording, which verifies."""
    done = passpilot("corpus", "extract", *arguments, "-o", "corpus", cwd=folder, timeout=240)
    assert (done.code, done.err.count("warning")) == (0, 0), done.err
    verified = passpilot("corpus", "verify", "corpus", cwd=folder, timeout=240)
    assert (verified.code, verified.err) == (0, "")
    return Corpus.read(folder / "corpus")


@pytest.mark.soak
def test_lua_by_its_makefile(tmp_path: Path) -> None:
    program = unpacked("lua", tmp_path / "lua")
    compiler = f"passpilot cc --record={tmp_path}/recording -std=gnu99 -w"
    run("make", "-j2", "lua", f"CC={compiler}", "CFLAGS=-Oz -DLUA_USE_POSIX", cwd=tmp_path / "lua" / "src")
    corpus = extract(tmp_path, "--recording=recording", "--base=lua")
    (lua,) = corpus.programs
    assert (lua.objects, lua.foreign, len(lua.libraries)) == (("src/lua.c",), (), 1)
    assert set(lua.modules) == set(corpus.units)
    assert len(lua.libraries[0]) == 32
    assert {unit.level for unit in corpus.units.values()} == {"Oz"}
    objects = [tmp_path / f"{number}.o" for number in range(len(corpus.units))]
    for unit, made in zip(corpus.units.values(), objects, strict=True):
        run(
            bindir() / "llc",
            unit.bitcode,
            "-O0",
            "-filetype=obj",
            "-relocation-model=pic",
            "-o",
            made,
            cwd=tmp_path,
        )
    run("clang-22", *objects, *lua.arguments, "-o", "again", cwd=tmp_path)
    printed = run(tmp_path / "again", "_driver/bench.lua", cwd=tmp_path / "lua").stdout
    assert hashlib.sha256(printed).hexdigest() == program.driver.stdout_sha256


@pytest.mark.soak
def test_a_cmake_project_in_cxx(tmp_path: Path) -> None:
    write(tmp_path / "source", SHAPES)
    compilers = {
        "CC": f"passpilot cc --record={tmp_path}/recording",
        "CXX": f"passpilot c++ --record={tmp_path}/recording",
    }
    flags = ("-S", "source", "-B", "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=MinSizeRel")
    run("cmake", *flags, "-DCMAKE_SUPPRESS_DEVELOPER_WARNINGS=1", cwd=tmp_path, **compilers)
    run("cmake", "--build", "build", "-j2", cwd=tmp_path)
    corpus = extract(tmp_path, "--recording=recording")
    programs = {each.name: each for each in corpus.programs}
    assert set(programs) == {"shapes", "other", "libshown.so"}, "no probe of CMake is left"
    mains = [name for name in corpus.units if name.startswith("main.cpp@")]
    assert set(corpus.units) == {"areas.cpp", "names.c", "shown.cpp", *mains}
    shapes, other, shown = programs["shapes"], programs["other"], programs["libshown.so"]
    assert (shapes.language, shapes.compiler) == ("c++", "c++")
    assert shapes.libraries == (("areas.cpp", "names.c"),)
    assert other.foreign == (str(tmp_path / "build" / "libshown.so"),)
    assert other.arguments[-1] == "-lm"
    assert "-shared" in shown.arguments
    assert shown.libraries == shapes.libraries
    assert corpus.facts.origins["names.c"].language == "c"
    shutil.rmtree(tmp_path / "corpus")
    commands = extract(tmp_path, "--compile-commands=build/compile_commands.json")
    assert len(commands.units) == 5
    recorded = {each.sha256 for each in corpus.facts.origins.values()}
    assert {each.sha256 for each in commands.facts.origins.values()} == recorded


@pytest.mark.soak
def test_box2d_by_its_cmake_file(tmp_path: Path) -> None:
    unpacked("box2d", tmp_path / "box2d")
    compiler = {"CXX": f"passpilot c++ --record={tmp_path}/recording", "CC": "clang-22"}
    flags = ("-DBOX2D_BUILD_TESTBED=OFF", "-DCMAKE_BUILD_TYPE=MinSizeRel")
    run("cmake", "-S", "box2d", "-B", "build", *flags, cwd=tmp_path, **compiler)
    run("cmake", "--build", "build", "-j2", cwd=tmp_path)
    corpus = extract(tmp_path, "--recording=recording")
    assert len(corpus.units) > 45
    assert {each.name for each in corpus.programs} >= {"unit_test", "HelloWorld"}
