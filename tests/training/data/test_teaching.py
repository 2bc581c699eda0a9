# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`gather`: pipelines, programs in teachers' names, gains call by call, and the order of what comes."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from passpilot.plugin.errors import Error
from passpilot.training.data.gather import Taught, TaughtModule, Teaching, gather
from passpilot.training.tuning.decision_file import CallKey, UnitDecisions, write_decisions
from tests.training.calls import CALLS


@pytest.fixture
def module(tmp_path: Path) -> TaughtModule:
    (tmp_path / "calls.ll").write_text(CALLS)
    return TaughtModule("program", "calls.c", str(tmp_path / "calls.ll"), "default<Oz>")


def taught(module: TaughtModule, **teaching: object) -> Taught:
    (made,) = gather([module], Teaching(**teaching))  # type: ignore[arg-type]
    assert not isinstance(made, Error), made
    return made


def test_gains_are_those_of_the_calls(module: TaughtModule, tmp_path: Path) -> None:
    """The n-th call of a pair has its own; other units and teachers have none."""
    calls = [CallKey("caller", "callee", number) for number in (1, 2)]
    units = [
        UnitDecisions("other.c", {calls[0]: False}, gains={calls[0]: 99}),
        UnitDecisions("calls.c", dict.fromkeys(calls, False), gains={calls[1]: 7}),
    ]
    write_decisions(str(tmp_path / "program.decisions"), units)
    made = taught(module, teachers=(f"decisions:{tmp_path}/{{program}}.decisions",))
    assert made.rows.gains.tolist() == [0, 7]
    assert made.rows.tensors["inlining_decision"].tolist() == [[0], [0]]
    assert made.teacher == f"decisions:{tmp_path}/{{program}}.decisions"
    assert taught(module, teachers=("const:0",)).rows.gains.tolist() == [0, 0]
    write_decisions(str(tmp_path / "program.decisions"), units[:1])
    with warnings.catch_warnings(action="ignore"):  # the child process says that there is none for calls.c
        assert not taught(module, teachers=(made.teacher,)).rows.gains.any()


def test_a_module_without_passes_has_those_for_size(module: TaughtModule) -> None:
    """A pipeline that asks nothing has no decisions."""
    plain = TaughtModule(module.program, module.name, module.path, "")
    rows, same = taught(plain).rows, taught(module).rows
    assert len(rows) == len(same) == 2
    assert np.array_equal(rows.tensors["cost_estimate"], same.tensors["cost_estimate"])
    assert len(taught(TaughtModule("p", "n", module.path, "dce")).rows) == 0
    early = TaughtModule("p", "n", module.path, "default<Oz>")
    assert len(taught(early, at={"pipeline-start": "always-inline"}).rows) == 2
    assert len(taught(early, at={"pipeline-start": "inline"}).rows) != 2


def test_the_best_teacher_is_that_of_the_reward(module: TaughtModule) -> None:
    """The sizes are told for all; rows are those of the best."""
    for teachers in (("const:0", "const:1"), ("const:1", "const:0")):
        made = taught(module, teachers=teachers)
        assert list(made.sizes) == list(teachers)
        assert made.sizes["const:1"] < made.sizes["const:0"]
        assert made.teacher == "const:1"
        assert made.rows.tensors["inlining_decision"].all()
    estimated = taught(module, teachers=("const:0", "const:1"), reward="native-estimate")
    assert set(estimated.sizes.values()).isdisjoint(made.sizes.values())


def test_a_step_for_every_module_and_an_error_in_its_place(module: TaughtModule, tmp_path: Path) -> None:
    gone = TaughtModule("b", "gone.c", str(tmp_path / "gone.ll"), "")
    steps = list[int]()
    made = gather([module, gone, module], Teaching(), lambda: steps.append(1))
    found = [(isinstance(each, Error), len(steps)) for each in made]
    assert found == [(False, 1), (True, 2), (False, 3)]


@pytest.mark.parametrize(
    ("teaching", "said"),
    [
        ({"point": "nowhere"}, "nowhere"),
        ({"reward": "speed"}, "reward: expected one of"),
        ({"point": "evict", "reward": "native-estimate"}, "expected points of the pipeline"),
    ],
)
def test_what_cannot_be_taught_is_an_error_at_once(
    teaching: dict[str, str], said: str, module: TaughtModule
) -> None:
    with pytest.raises(Error, match=said):
        next(gather([module], Teaching(**teaching)))  # type: ignore[arg-type]
