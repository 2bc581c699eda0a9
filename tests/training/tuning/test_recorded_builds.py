# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot tune -- BUILD` sees compilers of all names, in builds of all shapes, or says what has run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.errors import InputError, PasspilotWarning
from passpilot.training.corpus.layout import Corpus
from passpilot.training.tuning.build import rebuild_line, recorded_corpus
from tests.command import PASSPILOT, passpilot

CLANG: Final = str(shutil.which("clang-22"))
CALLS: Final = r"""
#define _GNU_SOURCE
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv) {
  const char *how = argv[1], *file = argv[2];
  char **words = argv + 2;
  pid_t child = 0;
  int status = 0;
  if (!strcmp(how, "execv")) execv(file, words);
  if (!strcmp(how, "execve")) execve(file, words, environ);
  if (!strcmp(how, "execvp")) execvp(file, words);
  if (!strcmp(how, "execvpe")) execvpe(file, words, environ);
  if (!strcmp(how, "execl")) execl(file, words[0], words[1], words[2], words[3], (char *)0);
  if (!strcmp(how, "execlp")) execlp(file, words[0], words[1], words[2], words[3], (char *)0);
  if (!strcmp(how, "execle")) execle(file, words[0], words[1], words[2], words[3], (char *)0, environ);
  if (!strcmp(how, "posix_spawn") && posix_spawn(&child, file, 0, 0, words, environ)) return 3;
  if (!strcmp(how, "posix_spawnp") && posix_spawnp(&child, file, 0, 0, words, environ)) return 3;
  if (!strcmp(how, "system")) {
    char text[4096] = "";
    for (; *words; ++words) strcat(strcat(text, *words), " ");
    return system(text) != 0;
  }
  if (!child || waitpid(child, &status, 0) != child) return 4;
  return status != 0;
}
"""
BY_PATH: Final = ("execv", "execve", "execl", "execle", "posix_spawn")
BY_NAME: Final = ("execvp", "execvpe", "execlp", "posix_spawnp", "system")


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that starts another one by the function that its first argument names."""
    folder = tmp_path_factory.mktemp("caller")
    (folder / "a.c").write_text(CALLS)
    subprocess.run([CLANG, "-w", "a.c", "-o", "caller"], cwd=folder, check=True)
    return folder / "caller"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a source for C and one for C++."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(PASSPILOT.parent), os.environ["PATH"]]))  # has cmake
    (tmp_path / "a.c").write_text('#include "a.h"\nint main(void) { return N; }\n')
    (tmp_path / "a.h").write_text("#define N 0\n")
    (tmp_path / "b.cpp").write_text("int main() {}\n")
    return tmp_path


def units(command: str | list[str], output: str = "out") -> set[str]:
    """The names of the units that a build compiles."""
    words = shlex.split(command) if isinstance(command, str) else command
    return set(Corpus.read(recorded_corpus(words, output)).units)


def commands(output: str = "out") -> list[dict[str, object]]:
    """What has been recorded."""
    return [json.loads(file.read_text()) for file in (Path(output) / "recording/commands").iterdir()]


def test_every_function_that_starts_programs_is_seen(here: Path, caller: Path) -> None:
    lines = []
    for how in (*BY_PATH, *BY_NAME):
        shutil.copy(here / "a.c", here / f"{how}.c")
        lines.append(
            f"{caller} {how} {CLANG if how in BY_PATH else 'clang-22'} -Oz -c {how}.c || touch {how}.failed &"
        )
    assert units(["sh", "-c", "\n".join([*lines, "wait"])]) == {f"{how}.c" for how in (*BY_PATH, *BY_NAME)}
    assert not list(here.glob("*.failed"))


def test_compilers_of_all_names(here: Path) -> None:
    names = ["cc", "gcc", "clang", "clang-22", "./gcc-12", "./gcc-12.2", "./x86_64-linux-gnu-gcc"]
    cxx = ["c++", "./x86_64-linux-gnu-g++-12", "clang++-22"]
    lines = []
    for number, name in enumerate(names + cxx):
        if name.startswith("./"):
            shutil.copy("/bin/false", here / name)
        shutil.copy(here / "b.cpp", here / f"{number}.cpp")
        lines.append(f"{name} -Oz -c {number}.cpp &")
    assert len(units(["sh", "-c", "\n".join([*lines, "wait"])])) == len(names + cxx)
    drivers = {str(row["command"]).split(".cpp")[0][-1]: row["driver"] for row in commands()}
    assert drivers == {str(n): "cc" if n < len(names) else "c++" for n in range(len(names + cxx))}


def test_a_name_of_clang_with_a_target(here: Path) -> None:
    shutil.copy("/bin/false", here / "aarch64-linux-gnu-clang-22")
    assert units("./aarch64-linux-gnu-clang-22 -Oz -c a.c") == {"a.c"}
    assert (here / "a.o").read_bytes()[18] == 183  # EM_AARCH64


def test_launchers_and_scripts(here: Path) -> None:
    for name in ("ccache", "distcc"):
        shutil.copy("/bin/false", here / name)
    (here / "gcc").write_text(f'#!/bin/sh\nexec {CLANG} -DN=0 "$@"\n')
    (here / "gcc").chmod(0o755)
    assert units("./ccache clang-22 -Oz -c a.c") == {"a.c"}
    assert units("./distcc clang-22 -Oz -c a.c", "second") == {"a.c"}
    assert units("./gcc -Oz -c a.c", "third") == {"a.c"}
    assert "-DN=0" in str(commands("third")[0]["command"])  # the script's own option
    assert units(f"{PASSPILOT} cc -Oz -c a.c", "fourth") == {"a.c"}
    cleared = f"env -i LD_PRELOAD=libm.so.6 PATH=/bin:/usr/bin sh -c '{CLANG} -Oz -c a.c; :'"
    assert units(cleared, "fifth") == {"a.c"}


@pytest.mark.parametrize("generator", ["Unix Makefiles", "Ninja"])
def test_a_tree_of_cmake_that_names_the_compiler(here: Path, generator: str) -> None:
    (here / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(a C)\nadd_executable(a a.c)\n"
    )
    configured = [
        "cmake",
        "-G",
        generator,
        "-B",
        "build",
        f"-DCMAKE_C_COMPILER={CLANG}",
        "-DCMAKE_C_FLAGS=-Oz",
    ]
    subprocess.run(configured, check=True, stdout=subprocess.DEVNULL)
    build = ["cmake", "--build", "build"]
    assert units(build) == {"a.c"}
    assert str(here / "out") not in (here / "build/CMakeCache.txt").read_text()

    decisions = here / "a.decisions"
    decisions.write_text('{"format": "passpilot decisions 3"}')
    line = rebuild_line(build, f"--decisions={decisions}")
    assert line.startswith(f"cmake -S {here} -B build -DCMAKE_C_COMPILER_LAUNCHER='passpilot;cc;--decisions=")
    done = subprocess.run(["sh", "-ec", line], capture_output=True, text=True, check=False)
    assert "passpilot" in done.stdout + done.stderr, "our compiler reads the file, and says what it is"


def test_a_tree_that_the_search_configures_stays_valid(here: Path) -> None:
    (here / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(a C)\nadd_executable(a a.c)\n"
    )
    assert units(["sh", "-ec", "cmake -B build -DCMAKE_C_FLAGS=-Oz; cmake --build build"]) == {"a.c"}
    (here / "a.c").write_text("int main(void) { return 2 - 2; }\n")
    subprocess.run(["cmake", "--build", "build"], check=True, stdout=subprocess.DEVNULL)


def test_a_changed_header_renews_the_corpus(here: Path) -> None:
    build = "sh -c 'test -e done || clang-22 -Oz -c a.c'"
    assert units(build) == {"a.c"}
    before = (here / "out/corpus").stat().st_mtime_ns
    (here / "done").touch()
    with pytest.warns(PasspilotWarning, match="compiles nothing new; tuning what out/corpus has"):
        units(build)
    assert (here / "out/corpus").stat().st_mtime_ns == before
    (here / "done").unlink()
    (here / "a.h").write_text("#define N 1\n")
    units(build)
    assert (here / "out/corpus").stat().st_mtime_ns != before
    (here / "a.h").write_text("#define N 2\n")
    (here / "done").touch()
    with pytest.raises(InputError, match=r"to compile .*a\.h, which has changed, got its old object"):
        units(build)


def test_what_has_run_is_said(here: Path) -> None:
    shutil.copy("/bin/true", here / "arm-none-eabi-gcc")
    with pytest.raises(
        InputError,
        match=r"got nothing; passpilot cannot stand in for .*-gcc: .* clang --target=arm-none-eabi$",
    ):
        units("./arm-none-eabi-gcc -c a.c")
    with pytest.raises(InputError, match=r"got nothing: it ran sh, true, and none of cc, gcc"):
        units(["/bin/sh", "-c", "/bin/true; exit 0"])
    with pytest.raises(InputError, match=r"^tune: expected a command, got \./none"):
        units("./none")


@pytest.mark.parametrize("target", ["x86_64-linux-gnu", "thumbv7em-none-eabi", "wasm32-unknown-unknown"])
def test_a_build_of_a_library_alone(here: Path, target: str) -> None:
    (here / "a.c").write_text(
        "int unknown(int);\nstatic int help(int a) { return unknown(a) * 3 + unknown(a + 1); }\n"
        "int one(int a) { return help(a); }\nint two(int a) { return help(a) + help(a + 1); }\n"
    )
    build = ["sh", "-ec", f"clang-22 --target={target} -Oz -c a.c; ar rcs liba.a a.o"]
    done = passpilot("tune", "--compiles=2", "-o", "out", "--", *build, cwd=here)
    assert done.code == 0, done.err
    found = re.search(r"library: allocated (\d+) -> (\d+) bytes", done.err)
    assert found
    assert int(found[1]) >= int(found[2]) > 20, "nothing is dropped, though nothing calls it"
    wrong = passpilot("tune", "--lto", "-o", "out", "--", *build, cwd=here)
    assert "--lto: expected a linked program, got library, a library" in wrong.err


@pytest.mark.parametrize(
    ("build", "text"),
    [
        ("true", "got nothing: it ran true, and none of cc, gcc"),
        (
            "./arm-none-eabi-gcc -c a.c",
            "got nothing; passpilot cannot stand in for arm-none-eabi-gcc: configure the build for",
        ),
        ("clang-22 -c a.c", ""),
        ("env -i /bin/sh -c 'clang-22 -c a.c'", ""),
    ],
)
def test_a_build_that_compiles_nothing_is_named(build: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int a;\n")
    (tmp_path / "arm-none-eabi-gcc").write_text("#!/bin/sh\n")
    (tmp_path / "arm-none-eabi-gcc").chmod(0o755)
    done = passpilot("build", "--unwind=none", "--", *shlex.split(build), cwd=tmp_path)
    assert (done.code, bool(done.err)) == (0, bool(text)), done.err
    assert text in done.err
    assert done.err.startswith("passpilot: warning: build: expected " * bool(text))
