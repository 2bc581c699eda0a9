# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Searches that make the instructions of runs few, or keep them within a limit."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.command import passpilot, run
from tests.training.evaluation.small import corpus
from tests.training.tuning.test_speed import build

COUNTED = ("tune", "--runs=instructions", "--jobs=2", "--seed=1", "-o", "out")


def test_fewer_instructions_are_found_exactly(tmp_path: Path) -> None:
    folder = build(tmp_path)
    flags = ("--compiles=3", "--reward=run: {} 20000", "--unseen={} 30000")
    done = passpilot(*COUNTED, *flags, "--", "make", cwd=folder, timeout=300)
    assert done.code == 0, done.err
    table = json.loads((folder / "out/demo.json").read_text())
    assert table["confirmed"]["low"] == table["confirmed"]["ratio"] < 0.95
    assert table["unseen"]["ratio"] < 0.95
    assert re.search(r"demo: instructions 1 -> 0\.\d{3} ", done.err)
    assert f"demo: instructions {table['confirmed']['ratio']:.4f}, unseen inputs" in done.err


def test_a_limit_of_instructions_holds(tmp_path: Path) -> None:
    corpus(tmp_path)
    sizes = {}
    for ratio in ("9", "0.5: {} 1 2"):
        flags = ("--corpus=corpus", "--program=count", "--compiles=2", f"--at-most=run:{ratio}")
        done = passpilot(*COUNTED, *flags, cwd=tmp_path, timeout=300)
        assert done.code == 0, done.err
        table = json.loads((tmp_path / "out/count.json").read_text())
        sizes[ratio] = table["text"] - table["start"]
    assert sizes["9"] < 0
    assert sizes["0.5: {} 1 2"] == 0, "no program has half of the instructions"


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--runs=instructions"], "--runs: expected --reward=run or --at-most=run:RATIO beside it"),
        (["--runs=instructions", "--at-most=run:x"], "--at-most: expected NAME:RATIO"),
        (["--runs=instructions", "--at-most=run:1.1"], "expected a program that runs, got the module in.ll"),
        (
            ["--runs=instructions", "--at-most=run:1.1: x"],
            "--at-most: expected {} and the program's arguments",
        ),
        (["--profile=none"], "profile .*/none: expected a readable file"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, flags: list[str], told: str) -> None:
    (tmp_path / "in.ll").write_text("define i32 @f() {\n  ret i32 7\n}\n")
    done = passpilot("tune", *flags, "--compiles=1", "in.ll", "-o", "out", cwd=tmp_path)
    assert done.code in (1, 2)
    assert re.match(f"passpilot: error: .*{told}", done.err)
    assert not (tmp_path / "out").exists()


def test_valgrind_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = passpilot("tune", "--runs=instructions", "--reward=run", "--corpus=c", "-o", "out", cwd=tmp_path)
    assert done.code == 1
    assert (
        "passpilot: error: instructions: valgrind is not on the PATH; sudo apt-get install valgrind"
        in done.err
    )


def test_a_search_uses_the_profile(tmp_path: Path) -> None:
    """`work` never ran in the profile, and so is for size at -O2."""
    corpus(tmp_path)
    (tmp_path / "p.prof").write_text("unused:900:1\n 1: 900\n")
    starts = []
    for more in ((), ("--profile=p.prof",)):
        flags = (
            "tune",
            "sources/count/work.c.bc",
            "--passes=default<O2>",
            "--compiles=1",
            *more,
            "-o",
            "out",
        )
        code = ("-O2", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", "sources/count/work.c")
        assert run("clang-22", *code, "-o", "sources/count/work.c.bc", cwd=tmp_path).code == 0
        done = passpilot(*flags, "--reward=text", "--result=r.json", cwd=tmp_path)
        assert done.code == 0, done.err
        starts.append(json.loads((tmp_path / "r.json").read_text())["start"])
    assert starts[1] < starts[0]
