# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`verify` in this process: one verdict for every unit in order, and what each one says."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from passpilot.training.corpus import verification
from passpilot.training.corpus.builder import CorpusDraft, build_corpus
from passpilot.training.corpus.elf import code_hash
from passpilot.training.corpus.layout import Corpus, CorpusUnit, UnitOrigin
from passpilot.training.corpus.verification import Verdict, verify
from tests import stock
from tests.training.corpus.test_builder import TRIPLE, bitcode, unit


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """Three units; the build's code of the first one is known."""
    drafts = [unit(name, bitcode(tmp_path, name), "-triple", TRIPLE, "-Oz") for name in ("a", "b", "c")]
    made = build_corpus(str(tmp_path / "corpus"), CorpusDraft(drafts)).corpus
    stock.run(
        "clang", "-cc1", "-Oz", "-emit-obj", "-x", "ir", tmp_path / "corpus/a.bc", "-o", tmp_path / "a.o"
    )
    sha256 = code_hash((tmp_path / "a.o").read_bytes())
    origins = {**made.facts.origins, "a": replace(made.facts.origins["a"], code_sha256=sha256)}
    return replace(made, facts=replace(made.facts, origins=origins))


def verdicts(corpus: Corpus, **units: CorpusUnit) -> list[Verdict]:
    """The verdicts with some units changed."""
    return list(verify(replace(corpus, units={**corpus.units, **units}), 2))


def changed(corpus: Corpus, change: Callable[[UnitOrigin], UnitOrigin]) -> Corpus:
    """The corpus with another origin of the first unit."""
    origins = {**corpus.facts.origins, "a": change(corpus.facts.origins["a"])}
    return replace(corpus, facts=replace(corpus.facts, origins=origins))


def test_every_unit_has_its_verdict(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    steps = list[int]()
    found = list[Verdict]()
    for each in verify(corpus, 1, lambda: steps.append(1)):
        assert len(steps) == len(found)
        found.append(each)
    assert found == [Verdict("a", "", True), Verdict("b", "", False), Verdict("c", "", False)]
    assert len(steps) == 3
    assert not list((tmp_path / "scratch").iterdir())


def test_what_differs_from_the_build(corpus: Corpus) -> None:
    other = changed(corpus, lambda origin: replace(origin, code_sha256="00"))
    said = "a: expected the machine code of the build's object, got other code"
    assert verdicts(other)[:2] == [Verdict("a", said, True), Verdict("b", "", False)]
    another = changed(corpus, lambda origin: replace(origin, sha256="0123456789abcdef0123"))
    said = "a: expected the bitcode of hash 0123456789abcdef, got another"
    assert verdicts(another)[0] == Verdict("a", said, False)


def test_the_target_is_the_corpus_or_else_the_arguments(corpus: Corpus, tmp_path: Path) -> None:
    bare = replace(corpus, facts=replace(corpus.facts, target="", origins={}))
    assert {each.problem for each in verdicts(bare)} == {""}
    arm = replace(corpus.units["b"], arguments=("-cc1", "-triple", "arm"))
    assert verdicts(bare, b=arm)[1].problem == f"b: expected a module for arm, got one for {TRIPLE}"
    assert verdicts(corpus, b=replace(arm, arguments=("-cc1", "-triple", TRIPLE)))[1].problem == ""
    (tmp_path / "none.bc").write_bytes(bitcode(tmp_path, triple=""))
    none = replace(corpus.units["b"], bitcode=tmp_path / "none.bc")
    expected = f"b: expected a module for {TRIPLE}, got one for no target"
    assert verdicts(bare, b=none)[1].problem == expected


def test_units_that_do_not_compile(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    one = corpus.units["b"]
    found = verdicts(
        corpus,
        a=replace(one, name="a", arguments=()),
        b=replace(one, arguments=("-cc1", "-fno-such")),
        c=replace(one, name="b", arguments=("-cc1", "a\0b")),
    )
    assert [each.problem for each in found][1:] == [
        "b: expected it to compile, got error: unknown argument: '-fno-such'",
        "b: expected it to compile, got: embedded null byte",
    ]
    assert not any(each.compared for each in found)
    monkeypatch.setattr(verification, "DEADLINE", 1e-9)
    assert verdicts(corpus)[2].problem == "c: expected it to compile within 1e-09 s, got no end"
