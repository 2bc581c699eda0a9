# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`TunedTrials`: a callback of searches that keeps their trials in a study file."""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from passpilot.plugin.errors import InputError
from passpilot.plugin.failures import utf8
from passpilot.training.studies.study_file import (
    MINIMIZE,
    SPACE,
    KeptTrial,
    Parameter,
    StudyFile,
    best_fact,
    compiler_version,
    study_name,
)
from passpilot.training.tuning.decision_file import UnitDecisions, decision_text, read_decisions
from passpilot.training.tuning.recipes import BROUGHT, EVICTION, OPTIONS, PLACED, SPEED_TAILS, TAILS

if TYPE_CHECKING:
    from passpilot.training.tuning.study import Study, Trial
    from passpilot.training.tuning.unit import Compiled, Unit, UnitChoice

DECISIONS: Final = "decisions"
"""The fact of a trial with the text of its decision file; trials have it that were the best so far."""

OTHER: Final = "other"
_EVICTION: Final = [option for options in EVICTION for option in options]

CHOICES: Final[Mapping[str, Sequence[str]]] = {
    "lever": ["start", *BROUGHT, OTHER],
    "pipeline": ["", *TAILS, *SPEED_TAILS, OTHER],
    "options": ["", *dict.fromkeys(" ".join(options) for options in (PLACED, *OPTIONS) if options), OTHER],
    "unwind": ["", "shared", "faults", OTHER],
    "eviction": ["", *_EVICTION, OTHER],
}
"""The values of the parameters of trials that are texts."""

SHARE: Final = {"low": 0.0, "high": 1.0}


def program_digest(units: Sequence[Unit], *others: str) -> str:
    """A hash of what the sizes of a program depend on: its units, the compiler and others."""
    digest = hashlib.sha256(utf8("\0".join((compiler_version(), *others))))
    for unit in units:
        digest.update(unit.digest())
    return digest.hexdigest()


class TunedTrials:
    """Keeps the trials of one search.

    Args:
        file: where.
        program: its name.
        reward: what is made small.
        digest: that of `program_digest`.
    """

    def __init__(self, file: StudyFile, program: str, reward: str, digest: str) -> None:
        facts = {
            "kind": "tune",
            "program": program,
            "reward": reward,
            "compiler": compiler_version(),
            "digest": digest,
            SPACE: {**CHOICES, "calls decided": SHARE},
        }
        self._file, self._run = file, ""
        self._name = study_name(program, reward, digest)
        file.study(self._name, MINIMIZE, facts)

    def begin(self, settings: object, first: Callable[[], str]) -> str:
        """The decisions that the search with these settings begins with.

        They are those of `first`, or, if the search was killed, those that it began with: the result is equal
        though better ones are known by now.
        """
        self._run = f"run {hashlib.sha256(repr(settings).encode()).hexdigest()[:16]}"
        return self._file.begin(self._name, self._run, first)

    def end(self) -> None:
        """The search has ended: with the same settings, the next one begins anew."""
        self._file.end(self._name, self._run)

    def __call__(self, search: Study, trial: Trial) -> None:
        """Keep a trial, after it has been measured."""
        units = search.tried
        choices = [unit.choice for unit in units]
        keys = [one.key(choice) for one, choice in zip(search.units, choices, strict=True)]
        facts: dict[str, object] = {"choices": hashlib.sha256(utf8("\0".join(keys))).hexdigest()}
        if search.improves(trial.value):
            facts[DECISIONS] = decision_text(_decisions(search, units))
        parameters = {
            **_texts(search.lever or "start", choices),
            "calls decided": _share([len(c.inline) for c in choices], [len(unit.asked) for unit in units]),
        }
        self._file.add(self._name, KeptTrial(trial.value, parameters, facts))


def _decisions(search: Study, units: Sequence[Compiled]) -> list[UnitDecisions]:
    return [
        UnitDecisions(
            unit.name,
            dict(compiled.choice.inline),
            compiled.choice.tail,
            compiled.choice.options,
            dict(compiled.choice.functions),
        )
        for unit, compiled in zip(search.units, units, strict=True)
    ]


def _share(decided: Sequence[int], all_: Sequence[int]) -> float:
    return min(1.0, sum(decided) / (sum(all_) or 1))


def _texts(lever: str, choices: Sequence[UnitChoice]) -> dict[str, Parameter]:
    """What a trial is, in few values: those that most units have."""

    def common(name: str, values: Sequence[str]) -> str:
        ((value, _),) = Counter(values).most_common(1)
        return value if value in CHOICES[name] else OTHER

    options = [choice.options for choice in choices]
    unwind = [[each[7:] for each in some if each.startswith("unwind=")] for some in options]
    evicting = [[each for each in some if each in _EVICTION] for some in options]
    others = [[e for e in some if e not in _EVICTION and not e.startswith("unwind=")] for some in options]
    return {
        "lever": common("lever", [lever]),
        "pipeline": common("pipeline", [choice.tail for choice in choices]),
        "options": common("options", list(map(" ".join, others))),
        "unwind": common("unwind", list(map(" ".join, unwind))),
        "eviction": common("eviction", list(map(" ".join, evicting))),
    }


def best_decisions(path: str, program: str, reward: str, digest: str) -> str:
    """The text of the best decisions for a program in a study file; see `best_fact`.

    Raises:
        InputError: it is no study file.
    """
    about = {"kind": "tune", "program": program, "reward": reward}
    return best_fact(path, about, study_name(program, reward, digest), DECISIONS)


def decisions_in(text: str, where: str) -> list[UnitDecisions]:
    """The decisions in a text of a study.

    Raises:
        InputError: a line is not a decision, or names an option or a pass that is not permitted.
    """
    if not text:
        return []
    with tempfile.TemporaryDirectory(prefix="passpilot-study-") as folder:
        path = Path(folder, "decisions")
        path.write_bytes(utf8(text))
        try:
            return read_decisions(str(path))
        except InputError as error:
            raise InputError(
                f"{where}: expected decisions, got: {str(error).removeprefix(folder)}"
            ) from error
