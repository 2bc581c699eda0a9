# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The specs of the developer corpus and its split hold together; nothing is fetched here."""

from __future__ import annotations

import re
import sys
from collections import Counter

import pytest

from bench.lib import ROOT
from passpilot.training.corpus.partition import PARTS, SplitFile
from tests.command import run
from tests.corpus.fetch import configured
from tests.corpus.programs import DRIVERS, Program, all_programs, programs
from tests.corpus.shared import SPLIT

MORE = {name: each for name, each in all_programs().items() if name not in programs()}


def test_there_are_many_more() -> None:
    assert len(MORE) >= 25
    languages = Counter(each.lang for each in MORE.values())
    assert min(languages["c"], languages["c++"]) >= 10
    assert sum(bool(each.driver.stdout_sha256) for each in MORE.values()) >= 20


@pytest.mark.parametrize("program", MORE.values(), ids=lambda each: each.name)
def test_a_program_is_pinned_and_can_be_run(program: Program) -> None:
    assert re.fullmatch("[0-9a-f]{64}", program.origin.sha256)
    assert re.fullmatch("[0-9a-f]{64}", program.driver.stdout_sha256)
    assert program.license
    assert program.source.parts[-3:] == ("more", "src", program.name)
    for name in (*program.driver.sources, *program.driver.files):
        assert (DRIVERS / name).is_file()


def test_every_program_is_in_one_part_with_its_family() -> None:
    split = SplitFile.read(str(SPLIT))
    part = {name: part for part, names in split.parts.items() for name in names}
    assert set(part) == set(all_programs())
    for family in split.families.values():
        assert len({part[name] for name in family}) == 1, family


def test_every_part_has_both_languages() -> None:
    split = SplitFile.read(str(SPLIT))
    assert set(split.parts) == set(PARTS)
    assert len(split.parts["validation"]) >= 5
    assert len(split.parts["test"]) >= 6
    for name, names in split.parts.items():
        languages = Counter(all_programs()[each].lang for each in names)
        assert min(languages["c"], languages["c++"]) >= 3, name


def test_nobody_has_looked_at_the_programs_for_test() -> None:
    """The programs of spec.toml have been measured since the beginning."""
    assert not set(SplitFile.read(str(SPLIT)).parts["test"]) & set(programs())


def test_a_template_of_cmake_is_filled_in() -> None:
    template = "#cmakedefine A 1\n#cmakedefine B 1\n#cmakedefine01 C\n#cmakedefine01 D\n#define E @E@ ${F}x\n"
    made = configured(template, {"A": "yes", "C": "1", "E": "5", "F": "6"})
    assert made == "#define A 1\n/* #undef B */\n#define C 1\n#define D 0\n#define E 5 6x\n"


@pytest.mark.parametrize("option", ["--level=O2", "--reference=R2"])
def test_the_export_takes_names_behind_options(option: str) -> None:
    command = [sys.executable, "-m", "tests.corpus.export", "corpus", option, "zstd", "nothing"]
    done = run(*command, cwd=ROOT)
    assert done.code == 2
    assert done.err.endswith("error: unknown program 'nothing'\n")
