# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One command with several compilations: each has its log, and steps that ask nothing are silent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.toolchain import llvm_plugin
from tests.cli.cc.test_main import CALLS, NO, cc, good, logs
from tests.command import OPT
from tests.plugin.native.stock.tools import Done, tool

TARGET: Final = f"#pragma omp begin declare target\n{CALLS}#pragma omp end declare target\n"
CLANG: Final = OPT.with_name("clang")
WAITS: Final = f"""
import os, subprocess

def decide(obs):
    if not os.path.exists("one.log"):
        words = ["{CLANG}", "-O2", "-fpass-plugin={llvm_plugin()}", "-c", "calls.c"]
        subprocess.run(words, env={{**os.environ, "PASSPILOT_INLINE": "const:1"}}, check=True)
    return True
"""
OPENMP: Final = ("-fopenmp", "--offload-arch=gfx906,gfx908", "-nogpulib")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with sources, and with a `lipo` that keeps the first of the objects that it should join."""
    (tmp_path / "calls.c").write_text(CALLS)
    (tmp_path / "target.c").write_text(TARGET)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/lipo").write_text('#!/bin/sh\ncp "$4" "$3"\n')
    (tmp_path / "bin/lipo").chmod(0o755)
    return tmp_path


def test_every_architecture_has_its_log(here: Path) -> None:
    architectures = ("--target=arm64-apple-macosx", "-arch", "arm64", "-arch", "arm64e", "-arch", "x86_64")
    for _ in range(2):
        done = cc(NO, "--log=logs/", "-O2", "-c", "calls.c", *architectures, cwd=here, PATH=path(here))
        assert done.code == 0, done.err
        assert [name.split("-")[0] for name in logs(here)] == ["calls.c"] * 3
        assert list(logs(here).values()) == [2, 2, 2]


def path(here: Path) -> str:
    return f"{here / 'bin'}:/usr/bin:/bin"


def test_every_processor_has_its_log_and_the_host_is_silent(here: Path) -> None:
    assert good(NO, "--log=logs/", "-O2", "-Werror", "-c", "target.c", *OPENMP, cwd=here) == ""
    assert list(logs(here).values()) == [2, 2, 2]


def test_word_sizes_in_one_folder_have_logs_of_their_own(here: Path) -> None:
    for size in ("-m32", "-m64", "-march=haswell", "-m32"):
        good(NO, "--log=logs/", "-O2", "-c", "calls.c", size, cwd=here)
    assert list(logs(here).values()) == [2, 2, 2]


@pytest.mark.parametrize("flags", ["-c -save-temps", "-c -save-temps=obj -o x.o", "-save-temps -S"])
def test_steps_before_the_optimizer_are_silent_and_have_no_log(flags: str, here: Path) -> None:
    advice = (NO, "--evict=default", "--log=logs/")
    assert good(*advice, "-O2", "-Werror", "calls.c", *flags.split(), cwd=here) == ""
    assert [name.rsplit("-", 1)[1] for name in logs(here)] == ["evict.log", "inline.log"]
    assert sum(logs(here).values()) >= 2


def test_an_optimizer_that_does_not_run_is_no_reason_to_load_a_runner(here: Path) -> None:
    """As in the first step of -save-temps."""
    (here / "policy.py").write_text("raise ValueError('no')\n")
    flags = ("-O2", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", "calls.c")
    assert good("--inline=python:policy.py:decide", "--log=logs/", *flags, cwd=here) == ""
    assert not logs(here)


@pytest.mark.parametrize(
    ("point", "flags", "count"),
    [
        ("inline", "-O2 -c calls.c", 1),
        ("inline", "-O2 -S -save-temps calls.c", 1),
        ("inline", "-O2 -c calls.c target.c", 2),
        ("inline", "-O2 -c target.c -fopenmp --offload-arch=gfx906 -nogpulib", 3),
        ("inline", "-O2 -flto calls.c target.c -shared -o out.so", 3),
        ("evict", "-O2 -flto calls.c main.c -shared -fPIC -o out.so", 1),
    ],
)
def test_a_file_takes_the_log_of_one_compilation(point: str, flags: str, count: int, here: Path) -> None:
    (here / "main.c").write_text(CALLS.replace("twice", "thrice"))
    done = cc(f"--{point}=default", f"--log={point}=one.log", *flags.split(), cwd=here)
    refused = f"--log: expected a folder for a command with {count} compilations, got {point}=one.log"
    assert (done.code, refused in done.err) == ((1, True) if count > 1 else (0, False)), done.err
    assert (here / "one.log").exists() == (count == 1)


def stock(here: Path, log: str, *flags: str) -> Done:
    """A command of stock clang whose log is named by the environment, as in a build."""
    env = {"PASSPILOT_LOG": log, "PASSPILOT_INLINE": "const:1"}
    return tool("clang", "-O2", *flags, cwd=here, env=env)


def test_stock_clang_names_logs_alike_in_every_run(here: Path) -> None:
    """Its steps write temporary objects, whose names are new each time."""
    (here / "main.c").write_text(CALLS.replace("twice", "thrice"))
    (here / "logs").mkdir()
    for _ in range(2):
        assert stock(here, "logs", "calls.c", "main.c", "-shared", "-fPIC", "-o", "out.so").code == 0
        assert list(logs(here).values()) == [2, 2]


@pytest.mark.parametrize("runner", ["const:1", "python:policy.py:decide"])
def test_a_build_cannot_replace_a_log(runner: str, here: Path) -> None:
    """But the same compilation may be made again, with other options, too."""
    (here / "policy.py").write_text("def decide(obs):\n    return True\n")
    (here / "main.c").write_text(CALLS.replace("twice", "thrice"))
    flags = ("-mllvm", f"-passpilot-inline={runner}", "-c")
    for level in ("-O2", "-O3"):
        assert stock(here, "one.log", *flags, level, "calls.c").code == 0
    if "user.passpilot.compilation" not in os.listxattr(here / "one.log"):
        pytest.skip("the file system has no extended attributes")
    first = (here / "one.log").read_bytes()
    for other in ("main.c", "calls.c -m32 -o m32.o", "calls.c -o pic.o"):
        done = stock(here, "one.log", *flags, *other.split())
        told = "decision log one.log: expected one compilation per log, got a file with the log of another"
        assert (done.code, told in done.err) == (1, True), done.err
    assert (here / "one.log").read_bytes() == first
    assert sorted(path.name for path in here.glob("*.o")) == ["calls.o"]
    (here / "one.log").unlink()
    done = stock(here, "one.log", "calls.c", "main.c", "-shared", "-fPIC", "-o", "out.so")
    assert (done.code, told in done.err, (here / "out.so").exists()) == (1, True, False)


def test_two_at_once_do_not_replace_a_log(here: Path) -> None:
    """Neither finds a log when it begins: the second waits until the first has written it."""
    (here / "policy.py").write_text(WAITS)
    (here / "main.c").write_text(CALLS.replace("twice", "thrice"))
    flags = ("-mllvm", "-passpilot-inline=python:policy.py:decide", "-c", "main.c")
    done = stock(here, "one.log", *flags)
    told = "expected one compilation per log, got a file with the log of another"
    assert (done.code, told in done.err) == (1, True), done.err
    assert not (here / "main.o").exists()
