# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The catalogue of decision points, compared with what its rows stand for."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import pytest

import passpilot
from passpilot.cli.features import main
from passpilot.features.catalogue import EMIT_PASSES, HOOKED, PASS_POINTS, RENAMED, Limit, emit_points
from passpilot.features.custom import feature, registered
from passpilot.features.domain import Choice
from passpilot.features.point import POINTS, find_point, find_table
from passpilot.passes.python.registry import LLVM, MLIR
from passpilot.plugin import _core
from passpilot.plugin.errors import PasspilotWarning
from passpilot.runners.remote import wire

pytestmark = pytest.mark.usefixtures("restored_registries")


def test_it_imports_nothing() -> None:
    script = (
        "import passpilot.features, sys; before = {*sys.modules}\n"
        "import passpilot.features.catalogue\nprint(*{*sys.modules} - before)"
    )
    told = subprocess.check_output([sys.executable, "-c", script], text=True).split()
    assert set(told) <= {"passpilot.features.catalogue", "__future__"}


def test_a_row_stays_as_it_is() -> None:
    with pytest.raises(AttributeError, match=r"HookedPoint.name: it cannot be changed"):
        HOOKED["inline"].name = "outline"  # type: ignore[misc]


@pytest.mark.parametrize("name", HOOKED)
def test_an_advisor_takes_what_its_row_says(name: str) -> None:
    row = HOOKED[name]
    kind = getattr(passpilot, row.advisor)
    assert kind.point == name
    taken = inspect.signature(kind).parameters
    assert set(taken) == {"runner", "log", *row.keywords}
    if row.limit:
        assert taken[row.limit.keyword].default == row.limit.default
        assert isinstance(row.limit.default, int) or not row.limit.whole
    with passpilot.advisor(name, "const:0") as advisor:
        assert type(advisor) is kind


def test_rows_are_those_of_cpp() -> None:
    theirs = [(each.name, each.function, each.question, _limit(each.limit)) for each in _core.hooked_points()]
    ours = [(row.name, row.function, row.question, _limit(row.limit)) for row in HOOKED.values()]
    assert theirs == ours


def test_passes_of_code_generation_are_those_of_cpp() -> None:
    assert _core.emit_passes() == [*EMIT_PASSES.items()]
    assert {*EMIT_PASSES} <= {*PASS_POINTS}
    allocator = ("ra-order", "ra-action", "ra-colour", "ra-split")
    assert emit_points() == ("evict", "priority", *allocator, "schedule", *EMIT_PASSES)


@pytest.mark.parametrize("name", POINTS.own)
def test_every_row_is_documented(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = find_table(name)
    assert len({row.doc for row in rows}) == len(rows) > 0
    assert min(len(row.doc) for row in rows) > 4
    assert main(["--point", name]) == 0
    listed = capsys.readouterr().out
    assert [row.spec.name for row in rows if f"{row.spec.name} " not in listed or row.doc not in listed] == []


def _limit(limit: Limit | _core.PointLimit | None) -> object:
    return limit and (limit.option, limit.value, limit.help, limit.default, limit.whole)


@pytest.mark.parametrize("name", HOOKED)
def test_words_of_logs_stand_for_advice(name: str) -> None:
    domain, log = find_point(name).domain, HOOKED[name].log
    for advice in log.words:
        domain.accept(advice)
    assert not log.idle or log.idle in log.words.values()
    if name == "evict":
        assert isinstance(domain, Choice)
        assert log.words == {domain.count - 1: "keep"}, "as passpilot.DO_NOT_EVICT"


@pytest.mark.parametrize("name", PASS_POINTS)
def test_a_point_has_the_name_of_its_pass(name: str) -> None:
    assert find_point(name).name == name
    passes = (f"advised-{name.removeprefix('mlir-')}", "advised-schedule")
    assert name in LLVM.own or not MLIR.own.keys().isdisjoint(passes)


def test_the_registry_has_the_points_of_the_catalogue() -> None:
    assert [*POINTS.own] == [*HOOKED, *PASS_POINTS]
    assert set(RENAMED.values()) <= {*HOOKED, *PASS_POINTS}
    assert not {*RENAMED} & {*POINTS.own}


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_a_name_of_before_is_taken_with_a_warning(old: str, new: str) -> None:
    with pytest.warns(PasspilotWarning, match=f"^decision point '{old}' is called '{new}' now$"):
        assert find_point(old) == find_point(new)
    with pytest.warns(PasspilotWarning):
        assert find_table(old) == find_table(new)
    with pytest.warns(PasspilotWarning), passpilot.advisor(old, "const:0") as advisor:
        assert advisor.point == new
    with pytest.warns(PasspilotWarning):
        feature("int64[1]", point=old, name="theirs")(lambda _: 0)
    assert [*registered(new)] == ["theirs"]
    line = json.loads(wire.hello(find_point(new))) | {"point": old}
    with pytest.warns(PasspilotWarning):
        assert wire.read_hello(json.dumps(line).encode()).name == new


@pytest.mark.parametrize("old", RENAMED)
def test_a_name_of_before_is_free_for_users(old: str) -> None:
    row, advice = (passpilot.TensorSpec(name, "int64", (1,)) for name in ("n", "yes"))
    passpilot.DecisionPoint(old, features=[row], advice=advice, default=lambda _: 0)
    assert find_point(old).name == old
