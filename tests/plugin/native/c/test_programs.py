# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs in C and C++ that use the C API, a plugin for GCC among them, as their users build them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin import _core
from passpilot.plugin.toolchain import c_library
from tests.command import GENEROUS, passpilot

ROOT: Final = Path(__file__).parents[4]
EXAMPLES: Final = ROOT / "examples"
NATIVE: Final = ROOT / "plugin" / "native"
ENVIRONMENT: Final = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
STRICT: Final = ("-Wall", "-Wextra", "-Werror", "-pedantic")

THREADS: Final = r"""
#include <passpilot.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const char *spec;

static void *ask(void *wrong) {
  static const int64_t one[] = {1};
  const passpilot_feature size = {"size", one, 1, PASSPILOT_INT64};
  const passpilot_point point = {"toy", &size, 1, NULL, {PASSPILOT_FLAG, 0, NULL, 0, 0}};
  int round, i;
  for (round = 0; round < 3; ++round) {
    passpilot_runner *r = passpilot_runner_create(spec, &point, NULL);
    if (!r) {
      fprintf(stderr, "%s\n", passpilot_last_error());
      ++*(int *)wrong;
      return NULL;
    }
    for (i = 0; i < 200; ++i) {
      passpilot_advice advice;
      *(int64_t *)passpilot_runner_input(r, "size") = i;
      if (passpilot_runner_evaluate(r, &advice) || advice.integer != (i < 50))
        ++*(int *)wrong;
    }
    passpilot_runner_destroy(r);
  }
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t threads[4];
  int wrong[4] = {0, 0, 0, 0}, i;
  spec = argv[argc - 1];
  for (i = 0; i < 4; ++i)
    pthread_create(&threads[i], NULL, ask, &wrong[i]);
  for (i = 0; i < 4; ++i)
    pthread_join(threads[i], NULL);
  printf("%d wrong\n", wrong[0] + wrong[1] + wrong[2] + wrong[3]);
  return 0;
}
"""
PROCESSOR: Final = """
#include "llvm/host_features.h"
#include <cstdio>
int main() {
  for (const std::string &F : passpilot::hostFeatures())
    std::puts(F.c_str());
}
"""
POLICY: Final = """\
def small(obs):
    return obs["size"] < 50

def gcc(obs):
    return 2 if obs["statements"] < 5 else 1

def breaks(obs):
    raise ValueError("no idea")
"""


def run(*command: str | Path, cwd: Path, good: bool = True) -> str:
    """What a command says, on both streams."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=GENEROUS * 5,  # C++ compiles LLVM's headers
    )
    assert (done.returncode == 0) is good, done.stdout
    return done.stdout


def flags() -> Sequence[str]:
    """pkg-config's."""
    folder = passpilot("plugin-path", "--pkgconfigdir", cwd=ROOT).out.decode().strip()
    command = ("pkg-config", "--cflags", "--libs", "passpilot")
    found = subprocess.check_output(command, env={**ENVIRONMENT, "PKG_CONFIG_PATH": folder}, text=True)
    return found.split()


def copied(name: str, to: Path) -> Path:
    """An example in a folder where it may write, with its model."""
    folder = shutil.copytree(EXAMPLES / name, to / name)
    run(sys.executable, "model.py", cwd=folder)
    (folder / "policy.py").write_text(POLICY)
    return folder


@pytest.fixture
def decide(tmp_path: Path) -> Path:
    """The C program, built with pkg-config's flags."""
    folder = copied("c_api", tmp_path)
    run("cc", "-std=c99", *STRICT, "decide.c", *flags(), "-o", "decide", cwd=folder)
    return folder / "decide"


def test_the_header_is_plain_c_and_cpp(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(
        "#include <passpilot.h>\nint main(void) { return passpilot_last_error()[0]; }\n"
    )
    for language in ("-xc -std=c89", "-xc -std=c99", "-xc -std=c2x", "-xc++ -std=c++98", "-xc++ -std=c++20"):
        options = (*language.split(), *STRICT, "a.c", *(f for f in flags() if f.startswith("-I")))
        for compiler in ("gcc", "clang-22"):
            run(compiler, *options, "-fsyntax-only", cwd=tmp_path)


def test_where_the_library_is() -> None:
    assert Path(passpilot("plugin-path", "--c", cwd=ROOT).out.decode().strip()) == c_library()
    two = passpilot("plugin-path", "--c", "--cmakedir", cwd=ROOT)
    assert (two.code, "expected one of --mlir, -c, --cmakedir, --pkgconfigdir, got 2" in two.err) == (
        2,
        True,
    )


def test_a_c_program_asks_a_model(decide: Path) -> None:
    told = run(decide, "onnx:model.onnx", cwd=decide.parent)
    assert told == "square: inline\nprint_table: call\nmain_loop: inline\n"
    assert run(decide, cwd=decide.parent) == "square: inline\nprint_table: call\nmain_loop: call\n"


def test_a_c_program_starts_python(decide: Path) -> None:
    told = run(decide, "python:policy.py:small", cwd=decide.parent)
    assert told == "square: inline\nprint_table: call\nmain_loop: call\n"
    told = run(decide, "python:policy.py:breaks", cwd=decide.parent, good=False)
    where = decide.parent / "policy.py"
    assert told == f"decide: call advisor at decision 0: ValueError: no idea ({where}:8)\n"
    told = run(decide, "onnx:nobody.onnx", cwd=decide.parent, good=False)
    assert told == "decide: model nobody.onnx: expected an ONNX file, got: No such file or directory\n"


def test_a_program_built_with_cmake(decide: Path) -> None:
    cmake = Path(sys.executable).with_name("cmake")
    folder = decide.parent
    found = passpilot("plugin-path", "--cmakedir", cwd=ROOT).out.decode().strip()
    run(cmake, "-B", "build", f"-Dpasspilot_DIR={found}", cwd=folder)
    run(cmake, "--build", "build", cwd=folder)
    assert "print_table: call" in run(folder / "build" / "decide", "onnx:model.onnx", cwd=folder)
    listing = (folder / "CMakeLists.txt").read_text().replace("passpilot 0.1 ", "passpilot 7 ")
    (folder / "CMakeLists.txt").write_text(listing)
    told = run(cmake, "-B", "other", f"-Dpasspilot_DIR={found}", cwd=folder, good=False)
    assert 'requested version "7"' in told


def test_the_package_may_be_moved(decide: Path) -> None:
    moved = decide.parent / "elsewhere" / "plugin"
    for part in ("include", "pkgconfig", "cmake"):
        shutil.copytree(c_library().with_name(part), moved / part)
    for library in (c_library(), c_library().with_suffix("")):  # the library, and the linker's script
        shutil.copy(library, moved)
    environment = {**ENVIRONMENT, "PKG_CONFIG_PATH": str(moved / "pkgconfig")}
    found = subprocess.check_output(
        ("pkg-config", "--cflags", "--libs", "passpilot"), env=environment, text=True
    )
    run("cc", "decide.c", *found.split(), "-o", "decide", cwd=decide.parent)
    assert str(moved.parent) in run("ldd", decide, cwd=decide.parent)
    assert "main_loop: call" in run(decide, "const:0", cwd=decide.parent)
    told = run(decide, "python:policy.py:small", cwd=decide.parent, good=False)
    assert "decide: passpilot: expected " in told


def test_a_process_of_pythons_ends_well_with_a_runner_that_lives(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(POLICY)
    program = (
        "from tests.plugin.native.c.client import CRunner\n"
        "print(CRunner('python:policy.py:small', {'size': ('int64', (1,))}).ask(size=3))\n"
    )
    assert run("env", f"PYTHONPATH={ROOT}", sys.executable, "-c", program, cwd=tmp_path) == "1\n"


@pytest.mark.parametrize("runner", ["onnx:model.onnx", "python:policy.py:small"])
def test_threads_of_a_c_program(runner: str, tmp_path: Path) -> None:
    folder = copied("c_api", tmp_path)
    model = (folder / "model.py").read_text().replace("Or (small, once)", "And (small, small)")
    (folder / "model.py").write_text(model.replace(", int64[1] calls", "").replace("(calls", "(size"))
    run(sys.executable, "model.py", cwd=folder)
    (folder / "threads.c").write_text(THREADS)
    run("cc", "-std=c99", *STRICT, "-pthread", "threads.c", *flags(), "-o", "threads", cwd=folder)
    assert run(folder / "threads", runner, cwd=folder) == "0 wrong\n"


def test_the_processors_features_are_llvms(tmp_path: Path) -> None:
    (tmp_path / "main.cpp").write_text(PROCESSOR)
    sources = (tmp_path / "main.cpp", NATIVE / "llvm" / "host_features.cpp")
    include, folder = run("llvm-config-22", "--includedir", "--libdir", cwd=tmp_path).split()
    archives = (f"-lLLVM{name}" for name in ("TargetParser", "Support", "Demangle"))
    command = ("c++", "-std=c++17", f"-I{NATIVE}", "-isystem", include, *sources)
    run(*command, f"-L{folder}", "-Wl,--gc-sections", *archives, "-o", "features", cwd=tmp_path)
    _, _, attributes, _ = _core.processor("native")
    here = {name[1:] for name in attributes.split(",") if name[0] == "+"}
    assert set(run(tmp_path / "features", cwd=tmp_path).split()) == here


@pytest.fixture(scope="module")
def gcc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin for GCC, built by its own Makefile."""
    folder = copied("gcc_plugin", tmp_path_factory.mktemp("gcc"))
    told = run("make", cwd=folder)
    assert "warning" not in told
    return folder


def compiled(gcc: Path, to: Path, *options: str) -> tuple[str, str]:
    """What GCC says, and the assembly that it writes, of a program that runs as it should."""
    plugin = (f"-fplugin={gcc / 'advised_inline.so'}", *(f"-fplugin-arg-advised_inline-{o}" for o in options))
    command: tuple[str | Path, ...] = ("g++", "-O2", *(plugin if options else ()), gcc / "program.cpp")
    told = run(*command, "-o", to / "program", cwd=gcc)
    run(*command, "-S", "-o", to / "program.s", cwd=gcc)
    assert run(to / "program", cwd=gcc) == "15129 has 5 digits\n"
    return told, (to / "program.s").read_text()


def called(assembly: str) -> set[str]:
    """The program's functions that are called."""
    names = re.findall(r"\bcall\s+_ZL?\d+(\w+)i\b", assembly)
    return {*names}


@pytest.mark.parametrize(
    ("runner", "calls"),
    {
        "onnx:model.onnx": {"digits"},
        "python:policy.py:gcc": {"digits"},
        "const:1": {"digits", "square"},
        "const:2": set(),
    }.items(),
)
def test_gcc_inlines_as_it_is_advised(gcc: Path, tmp_path: Path, runner: str, calls: set[str]) -> None:
    told, assembly = compiled(gcc, tmp_path, f"runner={runner}")
    assert called(assembly) == calls
    for name in ("digits", "square"):
        decision = "call" if name in calls else "inline"
        assert re.search(rf"program\.cpp:\d+:\d+: note: passpilot: ‘int {name}\(int\)’: {decision}\n", told)


def test_gcc_is_itself_by_default(gcc: Path, tmp_path: Path) -> None:
    assert compiled(gcc, tmp_path)[1] == compiled(gcc, tmp_path, "runner=default")[1]


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_no_advice_makes_gcc_wrong(gcc: Path, tmp_path: Path, seed: int) -> None:
    run("csmith", "--seed", str(seed), "-o", "random.c", cwd=tmp_path)
    command = ("gcc", "-w", "-O2", "-I/usr/include/csmith", "random.c", "-o", "program")
    run(*command, cwd=tmp_path)
    checksum = run(tmp_path / "program", cwd=tmp_path)
    decisions = set()
    for runner in (f"random:{seed}", "const:2"):
        plugin = f"-fplugin={gcc / 'advised_inline.so'}"
        told = run(*command, plugin, f"-fplugin-arg-advised_inline-runner={runner}", cwd=tmp_path)
        decisions |= {*re.findall(r"note: passpilot: .*: (.*)", told)}
        assert run(tmp_path / "program", cwd=tmp_path) == checksum
    assert decisions == {"as GCC decides", "call", "inline"}


def test_gccs_decisions_are_logged_and_replayed(gcc: Path, tmp_path: Path) -> None:
    _, assembly = compiled(gcc, tmp_path, "runner=onnx:model.onnx", f"log={tmp_path / 'x.log'}")
    assert "digits" in passpilot("log", "show", tmp_path / "x.log", cwd=tmp_path).out.decode()
    assert compiled(gcc, tmp_path, f"runner=replay:{tmp_path / 'x.log'}")[1] == assembly


def test_gcc_stops_where_the_runner_fails(gcc: Path, tmp_path: Path) -> None:
    for runner, why in {
        "onnx:nobody.onnx": "model nobody.onnx: expected an ONNX file",
        "const:3": "expected const:N with an integer of 0 to 2",
        "python:policy.py:breaks": "gcc-inline advisor at decision 0 "
        "(function _ZL6digitsi, program.cpp:8:12): ValueError: no idea (",
    }.items():
        flags = ("-fplugin=./advised_inline.so", f"-fplugin-arg-advised_inline-runner={runner}")
        out = tmp_path / "program.o"
        told = run("g++", "-O2", "-c", *flags, "program.cpp", "-o", out, cwd=gcc, good=False)
        assert f"fatal error: passpilot: {why}" in told or why in told
        assert not out.exists()
