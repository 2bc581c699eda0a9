# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The guide to compilers in C++: its programs are built and run, and print what it says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.plugin.native.c.test_cpp import SECONDS
from tests.plugin.native.c.test_programs import ENVIRONMENT, EXAMPLES

GUIDE: Final = EXAMPLES.parent / "docs" / "cpp.md"
TITLE: Final = re.compile(r"(?:# |// |; )([\w.]+)\n")
BLOCKS: Final = re.findall(r"```(\w+)\n(.*?)```", GUIDE.read_text(), re.DOTALL)
SHELL: Final = [text for language, text in BLOCKS if language == "sh"]
SAID: Final = [text for language, text in BLOCKS if language == "text"][1:]
"""Behind the function's signature."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the guide's files are."""
    titled = {match[1]: text for _, text in BLOCKS if (match := TITLE.match(text))}
    assert {*titled} == {"shrink.cpp", "calls.ll", "policy.py"}
    for name, text in titled.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.soak  # compiling LLVM's headers takes half a minute
@pytest.mark.parametrize("index", [0, 1])
def test_the_guides_programs_print_what_it_says(index: int, folder: Path) -> None:
    assert len(SHELL) == len(SAID) == 2
    done = subprocess.run(
        ["bash", "-ec", SHELL[index]],
        cwd=folder,
        env={**ENVIRONMENT, "EXAMPLES": str(EXAMPLES)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    assert done.stdout.replace(f"{folder}/", "") == SAID[index]


def test_the_guide_shows_the_function_as_it_is() -> None:
    header = (EXAMPLES.parent / "plugin" / "native" / "include" / "passpilot" / "llvm.h").read_text()
    assert "llvm::Error registerAdvisors(llvm::PassBuilder &PB," in header
    assert "llvm::Error passpilot::registerAdvisors(llvm::PassBuilder &, " in GUIDE.read_text()
