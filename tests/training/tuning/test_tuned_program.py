# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of a corpus as units of a search, and the commands that link them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.errors import InputError, UsageError
from passpilot.training.corpus.layout import Corpus, CorpusProgram, CorpusUnit, ProgramRun
from passpilot.training.tuning.reward import PartSums, RewardText
from passpilot.training.tuning.sizes import object_sizes, start_time
from passpilot.training.tuning.tuned_program import (
    link_driver,
    link_words,
    linked_program,
    single_module,
)
from passpilot.training.tuning.whole_program import merged_program

TEXT: Final = RewardText.parse("text")
ARGUMENTS: Final = ("-triple", "x86_64", "-mrelocation-model", "static")


def corpus(folder: Path, *levels: str) -> Corpus:
    """A corpus of units of these levels, named a.c, b.c and so on."""
    units = {}
    for name, level in zip("abc", levels, strict=False):
        path = folder / f"{name}.ll"
        path.write_text(f'source_filename = "{name}.c"\ndefine i32 @{name}() {{\n  ret i32 1\n}}\n')
        units[f"{name}.c"] = CorpusUnit(f"{name}.c", path, (*ARGUMENTS, level, "-ffunction-sections"))
    return Corpus(folder, units)


PROGRAM: Final = CorpusProgram(
    "demo",
    "c",
    "cc",
    ("b.c",),
    (("a.c", "b.c"), ("c.c",)),
    ("x.o",),
    ("-lm", "-pie"),
    (ProgramRun(),),
    "/here",
)


def test_words_that_link_a_program() -> None:
    assert link_words(PROGRAM, ["-more"], lambda name: f"<{name}>") == [
        "<b.c>", "-Wl,--start-lib", "<a.c>", "<b.c>", "-Wl,--end-lib", "-Wl,--start-lib", "<c.c>",
        "-Wl,--end-lib", "x.o", "-lm", "-pie", "-Wl,--no-dependent-libraries", "-more",
    ]  # fmt: skip
    assert link_driver(PROGRAM) == "clang-22"
    assert link_driver(replace(PROGRAM, language="c++")) == "clang++-22"


def test_a_program_of_a_corpus(tmp_path: Path) -> None:
    made = linked_program(corpus(tmp_path, "-Oz", "-O2", "-Os"), PROGRAM, "", RewardText.parse("mca"))
    assert [each.name for each in made.units] == ["b.c", "a.c", "c.c"], "in the order of the link, once each"
    assert [each.pipeline for each in made.units] == ["default<O2>", "default<Oz>", "default<Os>"]
    assert {(each.relocation_model, each.sections, each.as_clang) for each in made.units} == {
        ("static", True, True)
    }
    assert {each.rewards for each in made.units} == {("mca",)}
    assert isinstance(made.measure, PartSums)
    assert made.linked is not None
    assert [word for word in made.linked.command if isinstance(word, int)] == [0, 1, 0, 2]
    assert (made.linked.command[0], made.linked.command[-1]) == ("clang-22", "-Wl,--icf=safe")
    assert (made.name, made.linked.folder, made.runs) == ("demo", "/here", PROGRAM.runs)


def test_a_pipeline_of_the_user_and_a_program_without_a_folder(tmp_path: Path) -> None:
    program = replace(PROGRAM, libraries=(), directory="")
    made = linked_program(corpus(tmp_path, "-O0", "-O0"), program, "default<O3>", TEXT)
    (unit,) = made.units
    assert (unit.pipeline, unit.as_clang) == ("default<O3>", False)
    assert made.linked is not None
    assert made.linked.folder == str(tmp_path)
    timed = linked_program(corpus(tmp_path, "-O1", "-O1"), program, "", RewardText.parse("run"))
    assert timed.measure is start_time


def test_a_program_that_cannot_be_searched(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected a unit of .* in program demo, got c\.c"):
        linked_program(corpus(tmp_path, "-Oz", "-Oz"), PROGRAM, "", TEXT)
    told = r"expected optimized units in demo, got -O0 for a\.c; build with an optimization level"
    with pytest.raises(InputError, match=told):
        linked_program(corpus(tmp_path, "-O0", "-Oz", "-Oz"), PROGRAM, "", TEXT)


def test_a_module_of_its_own(tmp_path: Path) -> None:
    corpus(tmp_path, "-Oz")
    path = str(tmp_path / "a.ll")
    made = single_module(path, "default<Os>", RewardText.parse("text"))
    (unit,) = made.units
    assert (made.name, unit.pipeline, unit.relocation_model) == (path, "default<Os>", "pic")
    assert (made.sizes, made.linked, made.runs) == (object_sizes, None, ())
    assert single_module(path, "x", RewardText.parse("mca")).units[0].rewards == ("mca",)
    with pytest.raises(
        UsageError, match=r"expected a program for 'run: \{\} x', got a module; give --corpus"
    ):
        single_module(path, "default<Os>", RewardText.parse("run: {} x"))


@pytest.mark.parametrize(
    ("levels", "got"),
    [(("-Oz", "-Os", "-Oz"), "-Os, -Oz"), (("-O0", "-O0", "-O0"), "no -O, or -O0"), ((), "")],
)
def test_link_time_optimization_has_one_level(levels: tuple[str, ...], got: str, tmp_path: Path) -> None:
    program = PROGRAM if levels else replace(PROGRAM, objects=(), libraries=())
    with pytest.raises(InputError, match=f"tune: expected one level in demo, got {got}; build with one"):
        merged_program(corpus(tmp_path, *levels), program, TEXT, 1)
