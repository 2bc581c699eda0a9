# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a search says to its first users: odd modules, builds with advice, nothing found, wrong values."""

from __future__ import annotations

import platform
import re
from pathlib import Path
from typing import Any, Final

import pytest

import passpilot
from passpilot.cli.tune_text import summary
from passpilot.plugin.errors import InputError, UsageError
from passpilot.training.tuning.result import TuneResult
from passpilot.training.tuning.speed import run_hint
from tests.command import PASSPILOT, Done, refused, run
from tests.command import passpilot as command

SMALL: Final = "int main(void) { return 0; }\n"
TWICE: Final = "static int twice(int n) { return n * 2; }\nint f(int n) { return twice(n) + twice(n + 1); }\n"
MAKEFILE: Final = "CC = clang-22\nmain: main.c\n\t$(CC) -Oz main.c -o main\n"


def bitcode(folder: Path, *flags: str) -> str:
    """A module that clang makes with these flags."""
    (folder / "a.c").write_text(TWICE)
    done = run("clang-22", *flags, "-emit-llvm", "-c", "a.c", "-o", "a.bc", cwd=folder)
    assert done.code == 0, done.err
    return str(folder / "a.bc")


def test_a_module_of_o0_is_refused(tmp_path: Path) -> None:
    bitcode(tmp_path, "-O0")
    told = refused("tune", "a.bc", "--compiles=2", "-o", "a.decisions", cwd=tmp_path)
    assert (
        "tune: a.bc: expected a module that may be optimized, got another: clang has made it with -O0" in told
    )
    assert "make it by clang-22 -O2 -Xclang -disable-llvm-passes -emit-llvm -c" in told
    told = refused("train", "data", "a.bc", "-o", "data", cwd=tmp_path)
    assert "a.bc: asks nothing: clang has made it with -O0, which forbids optimization (optnone)" in told
    for words in (
        ("opt", "a.bc", "-O2", "--inline=const:0", "-o", "b.bc"),
        ("compare", "a.bc", "--inline=const:0"),
    ):
        done = command(*words, cwd=tmp_path)
        assert done.code == 0
        assert "was never asked: clang has made it with -O0" in done.err, words


def test_a_module_that_is_optimized_is_a_warning(tmp_path: Path) -> None:
    bitcode(tmp_path, "-O2")
    done = command("tune", "a.bc", "--compiles=2", "-o", "a.decisions", cwd=tmp_path)
    assert done.code == 0
    assert (
        done.err.count("expected a module that is not optimized yet, got another: it is optimized already")
        == 1
    )
    assert "a.bc: asks nothing: it is optimized already" in refused(
        "train", "data", "a.bc", "-o", "d", cwd=tmp_path
    )
    done = command("opt", "a.bc", "-O2", "--inline=const:0", "-o", "b.bc", cwd=tmp_path)
    assert "was never asked: it is optimized already" in done.err


def test_a_module_as_it_should_be_says_nothing(tmp_path: Path) -> None:
    bitcode(tmp_path, "-O2", "-Xclang", "-disable-llvm-passes")
    for words in (
        ("tune", "a.bc", "--compiles=2", "-o", "a.decisions"),
        ("train", "data", "a.bc", "-o", "data"),
        ("opt", "a.bc", "-O2", "--inline=const:0", "-o", "b.bc"),
    ):
        done = command(*words, cwd=tmp_path)
        assert done.code == 0
        assert "clang has" not in done.err


def test_what_to_do_about_a_program_of_another_machine() -> None:
    assert run_hint(f"{platform.machine()}-pc-linux-gnu") == ""
    linux, bare = run_hint("sparc-unknown-linux-gnu"), run_hint("thumbv7em-none-unknown-eabi")
    assert "it is for sparc-unknown-linux-gnu, not for this machine: sudo apt-get install qemu-user" in linux
    assert "qemu" not in bare
    assert "--reward=mca estimates cycles without a run" in bare


def test_the_summary_of_a_kernel_has_no_sizes() -> None:
    times = {"functions": {"before": {"f": 10.0}, "after": {"f": 5.0}}}
    found = TuneResult("k.mlir", (), 10.0, 5.0, 3, 1.0, [(1, 0.1, 10.0)], 0, times)
    assert summary(found) == "  time: 1 s, 3 compilations"


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A folder with a program that cannot be smaller, and its build."""
    (tmp_path / "main.c").write_text(SMALL)
    (tmp_path / "Makefile").write_text(MAKEFILE)
    return tmp_path


def tuned(folder: Path, *words: str) -> Done:
    done = command("tune", "--compiles=2", "-o", "out", "--", *words, cwd=folder)
    assert done.code == 0, done.err
    return done


def test_a_search_that_finds_nothing_says_so(built: Path) -> None:
    done = tuned(built, "make", "-s", "-B")
    assert (
        "main: nothing found that is better than the compiler's own; no decision file is written\n"
        in done.err
    )
    assert done.out == b""
    assert (built / "out/main.json").exists()
    assert not (built / "out/main.decisions").exists()
    (built / "out/main.decisions").write_text("passpilot decisions 1\n")
    assert re.search(
        r"is written; /\S+/out/main\.decisions is of an earlier search\n",
        tuned(built, "make", "-s", "-B").err,
    )
    module = bitcode(built, "-Oz", "-Xclang", "-disable-llvm-passes")
    result = passpilot.tune(module, compiles=1, output=str(built / "a.decisions"))
    assert not result.decides
    assert not (built / "a.decisions").exists()


ADVISED: Final = {
    "PASSPILOT_POLICY=@oz": ("make", "-B"),
    "PASSPILOT_INLINE=const:0": ("make", "-B"),
    "--policy=@oz": ("make", "-B", f"CC={PASSPILOT} cc --policy=@oz"),
    "--unwind=shared": ("make", "-B", f"CC={PASSPILOT} cc --unwind=shared"),
    "PASSPILOT_POLICY=@oz in the build": ("sh", "-c", "PASSPILOT_POLICY=@oz make -B"),
}


@pytest.mark.parametrize("advice", ADVISED)
def test_a_build_with_advice_is_refused(advice: str, built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if advice.startswith("PASSPILOT_") and " " not in advice:
        monkeypatch.setenv(*advice.split("="))
    done = command("tune", "--compiles=2", "-o", "out", "--", *ADVISED[advice], cwd=built)
    assert done.code == 1
    assert f"a build without advice of its own, got {advice.partition(' ')[0]}; build with clang" in done.err
    assert not (built / "out").exists()
    monkeypatch.delenv(advice.partition("=")[0], raising=False)
    tuned(built, "make", "-B")


WRONG: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "keyword": (
        {"compile": 2},
        "tune: expected keywords of passpilot.tune, got compile; did you mean 'compiles'?",
    ),
    "other keyword": ({"zzz": 2}, "got zzz; help(passpilot.tune) lists them"),
    "compiles": ({"compiles": -1}, "tune: compiles: expected a whole number of 0 or more, got -1"),
    "fraction": ({"compiles": 1.5}, "tune: compiles: expected a whole number of 0 or more, got 1.5"),
    "seconds": ({"seconds": 0}, "tune: seconds: expected a number above 0, got 0"),
    "text": ({"seconds": "60"}, "tune: seconds: expected a number above 0, got '60'"),
    "seed": ({"seed": None}, "tune: seed: expected a whole number of 0 or more, got None"),
    "threads": ({"threads": 0}, "tune: threads: expected a whole number of 1 or more, got 0"),
    "jobs": ({"jobs": -2}, "tune: jobs: expected a whole number of 0 or more, got -2"),
    "build": (
        {"build": "make -j2"},
        "tune: build: expected a list of texts, got the text 'make -j2'; write build=['make', '-j2']",
    ),
    "search": ({"search": "inline"}, "got the text 'inline'; write search=['inline']"),
    "words": ({"keep": [3]}, "tune: keep: expected a list of texts, got 3"),
    "no list": ({"program": 3}, "tune: program: expected a list of texts, got 3"),
    "output": ({"output": "none/x"}, "tune: -o: expected a file in a folder, got none/x: "),
    "update": ({"update": "none"}, "expected a decision file or a study, got none, no file"),
    "no decisions": ({"update": "text"}, 'decisions text:1: expected "passpilot decisions 1", got'),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_values_are_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("no decisions\n")
    values, told = WRONG[name]
    source = () if "build" in values else ("none.bc",)
    with pytest.raises((UsageError, InputError)) as caught:
        passpilot.tune(source, **values)
    assert told in str(caught.value)
