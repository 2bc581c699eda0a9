# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Evaluation`: programs one after the other, what is told of each, and what is left behind."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from passpilot.plugin.errors import CompilationError
from passpilot.training.corpus.layout import Corpus
from passpilot.training.evaluation.competitors import Competitor, baseline
from passpilot.training.evaluation.evaluate import Evaluation
from passpilot.training.evaluation.program import EvaluationPlan
from passpilot.training.evaluation.results import ProgramResult
from passpilot.training.studies.compile_cache import CompileCache
from tests.training.evaluation.small import corpus as write_corpus


def test_programs_come_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the end no file is left but those of the cache, and no command may start."""
    corpus = Corpus.read(write_corpus(tmp_path))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    plain = baseline("-Oz")
    assert isinstance(plain, Competitor)
    plan = EvaluationPlan([plain], 2, 1, True, True, 60, 60)
    cache = CompileCache(str(tmp_path / "cache"))
    evaluation = Evaluation(plan, corpus, [each.name for each in reversed(corpus.programs)], cache)
    result = evaluation.new_result(["-Oz"])
    steps, finished = list[tuple[int, int]](), list[tuple[str, int]]()

    def done(program: ProgramResult) -> None:
        finished.append((program["name"], len(result.programs)))

    evaluation.run(result, lambda count, total: steps.append((count, total)), done)
    assert finished == [("shout", 1), ("count", 2)]
    assert [each["name"] for each in result.programs] == ["shout", "count"]
    # Three units, two links, and for both programs a run for the output and one for the time.
    assert steps == [(count, 9) for count in range(1, 3 + 2 + 2 * 2 + 1)]
    assert not list((tmp_path / "temporary").iterdir())
    assert cache.contents.files == 3
    with pytest.raises(CompilationError, match="since the evaluation has ended"):
        evaluation._commands.run(["true"], 1)


def test_the_rounds_of_a_result_without_runs_are_none(tmp_path: Path) -> None:
    corpus = Corpus.read(write_corpus(tmp_path))
    for runs, rounds in ((True, 7), (False, 0)):
        plan = EvaluationPlan([], 2, 7, runs, True, 60, 60)
        facts = Evaluation(plan, corpus, [], CompileCache("")).new_result([]).facts
        assert (facts["rounds"], facts["corpus"]) == (rounds, str(corpus.folder))
        assert "clang version 22" in str(facts["compiler"])
