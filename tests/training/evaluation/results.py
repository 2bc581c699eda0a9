# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of evaluations, made up, for the tests of their tables."""

from __future__ import annotations

from passpilot.training.evaluation.results import CompetitorResult, EvaluationResult, ProgramResult
from passpilot.training.timing.paired_times import RunTime


def competitor(
    allocated: int | None = None,
    objects: int | None = None,
    seconds: float | None = None,
    *,
    decisions: int | None = None,
    agreed: int | None = None,
    run: float | None = None,
    errors: tuple[str, ...] = (),
) -> CompetitorResult:
    """What a competitor makes of a program."""
    time: RunTime | None = None
    if run is not None:
        time = {"seconds": run, "ratio": 9.0, "low": None, "high": None, "pairs": 1}
    return {
        "allocated": allocated,
        "text": None,
        "stripped": None,
        "xz": None,
        "objects": objects,
        "compile_seconds": seconds,
        "cached": 0,
        "decisions": decisions,
        "agreed": agreed,
        "run": time,
        "instructions": None,
        "output": "right",
        "errors": list(errors),
    }


def program(name: str, warnings: tuple[str, ...] = (), **results: CompetitorResult) -> ProgramResult:
    """A program; the names of its competitors are keywords."""
    return {
        "name": name,
        "language": "c",
        "units": 1,
        "results": dict(results),
        "functions": {"names": [], "sizes": {}, "rest": {}},
        "warnings": list(warnings),
    }


def evaluation(*programs: ProgramResult, policies: tuple[str, ...] = ("mine",)) -> EvaluationResult:
    """An evaluation with the baselines `Oz` and `O2`."""
    contenders = [{"name": name, "kind": "baseline"} for name in ("Oz", "O2")]
    contenders += [{"name": name, "kind": "policy"} for name in policies]
    facts = {"corpus": "/a_corpus", "compiler": "clang <22>"}
    return EvaluationResult(facts, contenders, ["Oz", "O2"], list(programs))
