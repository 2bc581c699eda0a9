# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Evaluation`: programs one after the other, what is told of each, and what is left behind."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from passpilot.plugin.errors import CompilationError
from passpilot.training.corpus.layout import Corpus, CorpusProgram
from passpilot.training.evaluation.competitors import Competitor, baseline
from passpilot.training.evaluation.compile_cache import CompileCache
from passpilot.training.evaluation.evaluate import Evaluation, Toolchain
from passpilot.training.evaluation.program import EvaluationPlan
from passpilot.training.evaluation.results import EvaluationResult
from tests.training.evaluation.small import corpus as write_corpus


def test_programs_come_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the end no file is left but those of the cache, and no command may start."""
    corpus = Corpus.read(write_corpus(tmp_path))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    plain = baseline("-Oz")
    assert isinstance(plain, Competitor)
    toolchain = Toolchain.find()
    plan = EvaluationPlan([plain], 2, 1, True, True, 60, 60, toolchain.linkers)
    cache = CompileCache(str(tmp_path / "cache"))
    programs = list(reversed(corpus.programs))
    evaluation = Evaluation(plan, corpus, programs, toolchain, 60, cache)
    result = EvaluationResult({}, [{"name": "-Oz", "kind": "baseline"}], ["-Oz"])
    steps, finished = list[int](), list[tuple[str, int]]()

    def done(program: CorpusProgram) -> None:
        finished.append((program.name, len(result.programs)))

    evaluation.run(result, lambda: steps.append(1), done)
    assert finished == [("shout", 1), ("count", 2)]
    assert [each["name"] for each in result.programs] == ["shout", "count"]
    # Three units, two links, and for both programs a run for the output and one for the time.
    assert len(steps) == evaluation.steps == 3 + 2 + 2 * 2
    assert not list((tmp_path / "temporary").iterdir())
    assert len(list((tmp_path / "cache").rglob("*.o"))) == 3
    with pytest.raises(CompilationError, match="the end of the evaluation"):
        evaluation._commands.run(["true"], 1)
