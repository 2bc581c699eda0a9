# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ladder of a real build: what is taken, what it says is lost, and that a build has the bytes it says."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from passpilot.training.file_sizes import file_sizes
from passpilot.training.ladder.ladder import LadderResult, LadderSizes
from passpilot.training.tuning.build import rebuild_line
from tests.command import Done, passpilot
from tests.training.ladder.project import ENVIRONMENT, make, write_project

CMAKE = """\
cmake_minimum_required(VERSION 3.20)
project(demo C CXX)
set(CMAKE_C_FLAGS -Oz)
set(CMAKE_CXX_FLAGS -Oz)
add_library(words STATIC words.c)
add_executable(demo main.cpp)
target_link_libraries(demo words)
"""


def shell(line: str, folder: Path) -> None:
    """Run a line as a user types it."""
    words = ["bash", "-ec", line]
    done = subprocess.run(words, cwd=folder, env=ENVIRONMENT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def same(path: Path, sizes: LadderSizes) -> bool:
    """Whether a program has the sizes; compressed, the build's identity takes some bytes more or less."""
    found = file_sizes(str(path))
    return found[:3] == (sizes.allocated, sizes.text, sizes.stripped) and abs(found.xz - sizes.xz) <= 16


@pytest.fixture(scope="module")
def climbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """The folder of a project and its ladder, all allowed, and what the command said."""
    folder = write_project(tmp_path_factory.mktemp("ladder") / "project")
    words = ("--ladder", "--allow=all,hardening", "--compiles=4", "-o", "out")
    done = passpilot("tune", *words, "--", "make", "-s", cwd=folder, timeout=600)
    assert done.code == 0, done.err
    return folder, done


def test_the_line_builds_the_bytes_it_says(climbed: tuple[Path, Done]) -> None:
    folder, done = climbed
    result = LadderResult.read(str(folder / "out/demo.ladder.json"))
    taken = {row.lever for row in result.taken}
    assert {"sections", "icf-safe", "no-pie", "lto-full", "block-placement"} <= taken
    assert len({row.rung for row in result.taken}) == len(taken)
    assert result.end.allocated < 0.75 * result.start.allocated
    said = re.search(r"^build demo with: (.*)$", done.out.decode(), re.MULTILINE)
    assert said
    assert same(make(folder, said[1]), result.end)
    (folder / "CMakeLists.txt").write_text(CMAKE)
    shell("cmake -B build", folder)
    line = rebuild_line(["cmake", "--build", str(folder / "build")], result.flags)
    shell(line.replace(" YOUR-OPTIONS", ""), folder)
    assert same(folder / "build/demo", result.end)


def test_rows_multiply_to_the_whole_and_say_what_is_lost(climbed: tuple[Path, Done]) -> None:
    folder, done = climbed
    result = LadderResult.read(str(folder / "out/demo.ladder.json"))
    below = result.start
    for row in result.taken:
        assert row.below == below
        assert row.on_top
        assert row.on_top.allocated <= below.allocated
        below = row.on_top
    assert below == result.end
    assert all(bool(row.loses) == bool(row.group) for row in result.rows if row.lever != "decisions")
    unwind = {row.lever: row.on_top.allocated for row in result.rows if row.rung == "unwind" and row.on_top}
    assert unwind["unwind-least"] <= min(unwind.values())
    shown = done.out.decode()
    assert "lto-full" in shown
    assert "taken; hardening: the program has a fixed address" in shown
    assert "passpilot: demo: icf-safe: 0." in done.err
    page = (folder / "out/demo.ladder.md").read_text()
    assert "![What every lever takes](demo.ladder.svg)" in page
    assert all(f"| {row.lever} |" in page for row in result.rows)
    assert (folder / "out/demo.ladder.svg").read_text().count("<rect") > len(result.taken)
    assert not list((folder / "out").glob("*.search"))


def test_size_repeats_it_and_takes_only_what_is_allowed(climbed: tuple[Path, Done]) -> None:
    folder, _ = climbed
    done = passpilot("size", "--ladder", "out/demo", "--result=-", cwd=folder, timeout=600)
    assert done.code == 0, done.err
    (again,) = json.loads(done.out)
    before = LadderResult.read(str(folder / "out/demo.ladder.json"))
    assert again["start"]["allocated"] == before.start.allocated
    rows = {row["lever"]: row for row in again["rows"]}
    assert {name for name, row in rows.items() if row["is_taken"] and row["group"]} == set()
    assert rows["sections"]["is_taken"]
    assert rows["unwind-exceptions"]["note"] == "--allow=unwind"
    assert rows["no-pie"]["note"] == "--allow=hardening"
    assert "-no-pie" not in again["flags"]
    assert "unwind" not in again["flags"]


def test_sizes_of_files(climbed: tuple[Path, Done]) -> None:
    folder, _ = climbed
    made = [
        "main.o" if target == "x86_64-pc-linux-gnu" else f"{target}.o"
        for target in ("x86_64-pc-linux-gnu", "wasm32", "x86_64-pc-windows-msvc", "arm64-apple-macos13")
    ]
    for name in made[1:]:
        words = ["clang-22", f"--target={name[:-2]}", "-Oz", "-c", "words.c", "-o", name]
        subprocess.run(words, cwd=folder, check=True)
    subprocess.run(["clang++-22", "-Oz", "-c", "main.cpp"], cwd=folder, check=True)
    done = passpilot("size", *made, "--result=-", cwd=folder)
    assert done.code == 0, done.err
    files = json.loads(done.out)["files"]
    assert [file["name"] for file in files] == made
    for file in files:
        loaded = sum(part["size"] for part in file["sections"] if part["is_loaded"])
        assert file["allocated"] == loaded > file["text"] > 0
        assert os.path.getsize(folder / file["name"]) > file["stripped"] > file["xz"] > 0
    shown = passpilot("size", *made, "--markdown=-", cwd=folder).out.decode()
    assert re.search(r"^\| *\.text \| ", shown, re.MULTILINE)
    assert re.search(r"^\| *code \| - \| \d+ \| - \| - \|$", shown, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("size", "--ladder", "Makefile"),
            "size: expected a corpus for --ladder, or DIR/PROGRAM of one, got Makefile; `passpilot tune",
        ),
        (("size", "--ladder", "out", "x"), "size: expected one corpus with --ladder, got 2 files"),
        (("size", "--run={}", "Makefile"), "size: --run: expected --ladder beside it"),
        (("size", "Makefile"), "Makefile: expected an object of ELF, COFF, Mach-O or wasm, got another file"),
        (("size", "gone"), "gone: expected a file that can be read, got: No such file or directory"),
        (("size", "--reward=text", "demo"), "size: --reward: expected --ladder beside it"),
        (
            ("size", "--result=-", "--markdown=-", "demo"),
            "size: --markdown, --result: expected one for standard",
        ),
        (("size", "--ladder", "out/other"), "ladder: --program: expected one of demo, got other"),
        (("size", "--ladder", "--allow=pie", "out"), "--allow: expected some of all, icf, constants,"),
        (
            ("size", "--ladder", "--reward=xz", "out"),
            "ladder: expected a reward of allocated, text, file, comp",
        ),
        (("tune", "--run={}", "-o", "x", "a.bc"), "tune: --run: expected --ladder beside it"),
        (
            ("tune", "--ladder", "-o", "x", "a.bc"),
            "tune: --ladder: expected a build or a corpus without a mod",
        ),
        (("tune", "--ladder", "--lto", "-o", "x", "--", "make"), "without --lto, got --lto"),
        (("tune", "--ladder", "--result=x.json", "-o", "x", "--", "make"), "without --result, got --result"),
        (("tune", "--ladder", "--threads=2", "-o", "x", "--", "make"), "without --threads, got --threads"),
    ],
)
def test_wrong_words_are_one_line(climbed: tuple[Path, Done], words: tuple[str, ...], said: str) -> None:
    done = passpilot(*words, cwd=climbed[0])
    assert done.code in (1, 2)
    assert said in done.err
    assert done.err.count("\n") == 1
