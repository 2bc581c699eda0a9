# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a build by make compiles all again: by its target `clean`, if the text of the Makefile has one."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from passpilot.training.corpus.recorded.makefile import after_cleaning


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("clean:\n\trm -f *.o\n", True),
        ("all: x\nclean distclean :: ; rm -f x\n", True),
        ("$(X) \\\n  clean: y\n", True),
        ("clean := yes\nall:\n\techo clean: it\n", False),
        (".PHONY: clean\ndistclean: x\nx: clean\n# clean:\n", False),
        ("clean::=3\n", False),
        ("-include rules.mk none.mk $(X)\n", True),
        ("", False),
    ],
)
def test_what_a_makefile_has(text: str, has: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("Makefile").write_text(f"ran := $(shell touch ran)\n{text}")
    Path("rules.mk").write_text("clean: ; rm -f x\n")
    line = after_cleaning(["make", "-j2", "all"])
    assert line == ("make clean && make -j2 all" if has else "make -B -j2 all")
    assert not Path("ran").exists(), "nothing of the Makefile has run"


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("make -C sub", "make -C sub clean && make -C sub"),
        ("gmake --directory=sub -f other.mk BOARD=m4 x", "gmake -C sub -f other.mk BOARD=m4 clean && gmake "),
        ("make -f sub/Makefile -j 2", "make -f sub/Makefile clean && make -f sub/Makefile -j 2"),
        ("make -Csub -k", "make -C sub clean && make -Csub -k"),
        ("make -C none", "make -B -C none"),
        ("make -sB", "make -sB"),
        ("make --always-make", "make --always-make"),
    ],
)
def test_where_a_makefile_is(
    command: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    for name in ("Makefile", "other.mk"):
        Path("sub", name).write_text("all: ;\nclean: ;\n")
    assert after_cleaning(shlex.split(command)).startswith(line)
    before = after_cleaning(shlex.split(command), "passpilot build -- ", " CC=x")
    assert " && passpilot build -- " in before or before.startswith("passpilot build -- ")
    assert before.endswith(" CC=x")
