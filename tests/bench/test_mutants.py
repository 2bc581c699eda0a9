# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sample of mutants, and the record of what came of them."""

from __future__ import annotations

import importlib.util
import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from bench.lib import ROOT
from bench.pages import reliability
from bench.sweeps import mutants, mutations
from bench.sweeps.mutations import ordered
from bench.sweeps.reach import probed


@pytest.mark.parametrize(
    ("kind", "file"), [("python", "runners/remote/fifo.py"), ("native", "plugin/native/runtime/session.cpp")]
)
def test_a_mutant_is_one_mistake_in_one_line(kind: str, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == "python" and not importlib.util.find_spec("cosmic_ray"):
        pytest.skip("`make mutants` installs Cosmic Ray")
    monkeypatch.setattr(mutations, "files", lambda _: [file])
    sample = list(itertools.islice(ordered(kind, mutants.SEED), 20))
    assert len({mutant.key for mutant in sample}) == 20
    for mutant in sample:
        old, new = (ROOT / mutant.file).read_text().splitlines(), mutant.text().splitlines()
        assert old[mutant.line - 1].strip() == mutant.before
        changed = [line.strip() for before, line in zip(old, new, strict=True) if before != line]
        assert changed == [mutant.after]


def test_a_probe_stands_in_front_of_its_statement() -> None:
    text = "def a():\n    if b(\n        1\n    ):\n        pass\n    elif c:\n        d()\n"
    new = probed(text, [(3, "if"), (6, "elif"), (7, "call")])
    notes = {line: text for line, text in enumerate(new.splitlines(), 1) if "note" in text}
    assert [(line, text.count(" "), text.split('"')[3]) for line, text in notes.items()] == [
        (2, 4, "if"),
        (3, 4, "elif"),
        (9, 8, "call"),
    ]


def test_a_test_that_fails_is_named(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_yes(): pass\n\ndef test_no(): assert 0\n")
    script = f"from bench.sweeps.mutants import run_tests; print(run_tests(['{tmp_path}/test_it.py']))"
    told = subprocess.check_output([sys.executable, "-c", script], cwd=ROOT, text=True)
    assert told.strip().endswith("test_it.py::test_no")


def test_the_record_says_why_a_mutant_is_equivalent() -> None:
    rows = mutants.read().values()
    assert {row["result"] for row in rows} <= {"killed", "survived", "equivalent", "no code"}
    assert all(row["by"] for row in rows if row["result"] == "equivalent")
    page = reliability.mutants(list(rows))
    for name, native in (("Python", False), ("C++", True)):
        killed = [
            row for row in rows if row["result"] == "killed" and ("plugin/native" in row["file"]) == native
        ]
        assert f"| **{name}** | {len(killed)} |" in page
