# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policy `@oz`, as it comes with passpilot."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from passpilot.runners.policy.bundle import find_bundle
from passpilot.training.evaluation.unwind_check import check_unwind
from passpilot.training.rewards import code_bytes
from passpilot.training.tuning.recipes import TAILS
from tests.command import passpilot
from tests.corpus.build import build
from tests.corpus.programs import all_programs
from tests.plugin.unwind_programs import FRAMES

PROGRAM = "device[0] = 1; device[1] = 2; device[2] = 3; device[3] = 4; device[4] = 5; device[5] = 6;"
SOURCE = f"""
extern volatile int device[8];
void start(int n) {{ if (__builtin_expect(n < 0, 0)) {{ {PROGRAM} }} }}
void again(int n) {{ if (__builtin_expect(n < 1, 0)) {{ {PROGRAM} }} }}
void more(int n) {{ if (__builtin_expect(n < 2, 0)) {{ {PROGRAM} }} }}
void run(int n) {{ for (int i = 0; i < n; ++i) for (int j = i; j < n; ++j) {{ {PROGRAM} }} }}
"""
"""The same instructions in three functions that rarely run, and in a loop within a loop."""


def test_the_outliner_spares_loops(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(SOURCE)
    flags = ("-Oz", "-ffunction-sections", "-c", "a.c", "-o")
    done = passpilot("cc", "--policy=@oz", *flags, "a.o", cwd=tmp_path)
    assert done.code == 0, done.err
    subprocess.run(["clang-22", *flags, "b.o"], cwd=tmp_path, check=True, timeout=60)
    assert code_bytes((tmp_path / "a.o").read_bytes()) < code_bytes((tmp_path / "b.o").read_bytes())
    dump = ["llvm-objdump-22", "-dr", "--no-show-raw-insn", "a.o"]
    text = subprocess.run(dump, cwd=tmp_path, check=True, timeout=60, capture_output=True, text=True).stdout
    parts = re.split(r"^[0-9a-f]+ <(\w+)>:$", text, flags=re.MULTILINE)
    functions = dict(zip(parts[1::2], parts[2::2], strict=True))
    calls = re.compile(r"R_X86_64\S+\s+\S*OUTLINED")
    assert calls.search(functions["start"])
    assert not calls.search(functions["run"])


def test_the_first_recipe_is_for_size_and_time_and_the_others_are_for_size() -> None:
    first, *others = find_bundle("@oz").recipes
    assert "estimate-profile" in first.pipeline
    assert first.options[0] == "enable-machine-outliner=optimistic-pgo"
    assert {each.options[0] for each in others} == {"enable-machine-outliner=always"}


def test_the_same_module_becomes_the_same_bytes(tmp_path: Path) -> None:
    """LLVM's gvn-sink and gvn-hoist follow addresses: with the first, this module differed in each run."""
    assert not build(["lz4"])
    module = all_programs()["lz4"].unit("lz4libs/lz4.c", "Oz")
    outputs = [tmp_path / f"{number}.bc" for number in range(4)]
    for output in outputs:
        done = passpilot("opt", "--policy=@oz", "-Oz", module, "-o", output, cwd=tmp_path)
        assert done.code == 0, done.err
    assert len({output.read_bytes() for output in outputs}) == 1
    pipelines = [recipe.pipeline for recipe in find_bundle("@oz").recipes] + list(TAILS)
    assert not [pipeline for pipeline in pipelines if re.search("gvn-(sink|hoist)", pipeline)]


def test_all_recipes_write_smaller_unwind_tables(tmp_path: Path) -> None:
    assert {each.options[-1] for each in find_bundle("@oz").recipes} == {"unwind=linked"}
    (tmp_path / "a.cpp").write_text(FRAMES)
    flags = ("--policy=@oz", "-Oz", "-w", "-c", "-emit-llvm", "a.cpp", "-o", "a.bc")
    done = passpilot("cc", *flags, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    for name, more in (("small.o", ()), ("full.o", ("-unwind=full",))):
        done = passpilot("llc", "--policy=@oz", *more, "-filetype=obj", "a.bc", "-o", name, cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
    found = check_unwind(str(tmp_path / "full.o"), str(tmp_path / "small.o"))
    assert found.differences == ()
    assert found.sizes[1] < found.sizes[0]
