# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policies of `passpilot eval`, as ways to compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from passpilot.cli.cc.best_of import VARIANTS
from passpilot.cli.evaluated import competitor, table_text
from passpilot.plugin.errors import UsageError
from passpilot.training.evaluation.competitors import OUTLINER, CompileWay
from passpilot.training.evaluation.results import EvaluationResult
from passpilot.training.policy_folder import PointChoice, PolicyText, RecipeChoice, write_policy


def way(text: str, program: str = "lua") -> CompileWay:
    """The only way of a policy."""
    (only,) = competitor(text).ways(program)
    return only


@pytest.mark.parametrize(
    ("text", "told", "points"),
    [
        ("const:0", {"PASSPILOT_INLINE": "const:0"}, ("inline",)),
        (
            "evict=random:1 priority=default --timeout=3",
            {"PASSPILOT_EVICT": "random:1", "PASSPILOT_PRIORITY": "default", "PASSPILOT_TIMEOUT": "3"},
            ("evict", "priority"),
        ),
        (
            "advised-size=const:1 inline=const:0",
            {"PASSPILOT_ADVISE": "advised-size=const:1", "PASSPILOT_INLINE": "const:0"},
            ("advised-size", "inline"),
        ),
        ("--inline=const:1 --at=pipeline-start=sroa", None, ("inline",)),
        ("'grpc:localhost:1?token=a b'", {"PASSPILOT_INLINE": "grpc:localhost:1?token=a b"}, ("inline",)),
    ],
)
def test_words_are_options_of_cc(text: str, told: dict[str, str] | None, points: tuple[str, ...]) -> None:
    made = way(text)
    assert (made.level, made.flags, made.plugin) == ("Oz", (), True)
    assert told is None or made.environment == told
    assert (competitor(text).name, competitor(text).kind, competitor(text).points) == (text, "policy", points)


def test_a_level_in_front_is_the_policys() -> None:
    made = way("-Os+outline const:0")
    assert (made.level, made.flags, made.environment) == ("Os", OUTLINER, {"PASSPILOT_INLINE": "const:0"})
    assert competitor("-O3").kind == "baseline", "a level alone"


def test_a_program_has_its_own_decision_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("lua", "re2"):
        (tmp_path / f"{name}.d").write_text("")
    text = "decisions:{program}.d evict=random:3"
    for name in ("lua", "re2"):
        assert way(text, name).environment["PASSPILOT_DECISIONS"] == f"{name}.d"
    assert competitor(text).points == ("inline", "evict")
    assert way("decisions:lua.d", "re2").environment == {"PASSPILOT_DECISIONS": "lua.d"}


def test_a_policy_decides_at_the_points_inside_llvm(tmp_path: Path) -> None:
    """Decisions of other passes are not in the logs of a build."""
    never = PointChoice(runner="const:0")
    points = {"inline": never, "advised-size": never}
    recipes = RecipeChoice(), RecipeChoice(points={"evict": PointChoice(runner="default")})
    write_policy(str(tmp_path / "mine"), PolicyText(name="mine", description="decides"), points, recipes)
    assert competitor(f"--policy={tmp_path / 'mine'}").points == ("inline", "evict")
    assert competitor(f"evict=const:32 --policy={tmp_path / 'mine'}").points == ("evict", "inline")
    assert way("@oz?recipe=2").environment == {"PASSPILOT_POLICY": "@oz?recipe=2"}
    assert competitor("@oz").points == (), "it is pipelines and options"


def test_tries_of_a_policy_are_ways() -> None:
    ways = competitor("-O2 @oz?tries=2 --timeout=4").ways("lua")
    assert [each.environment["PASSPILOT_POLICY"] for each in ways] == ["@oz?recipe=1", "@oz?recipe=2"]
    assert {(each.level, each.plugin, each.environment["PASSPILOT_TIMEOUT"]) for each in ways} == {
        ("O2", True, "4")
    }


def test_best_of_has_the_variants_of_cc() -> None:
    ways = competitor("-O3+outline best-of:2").ways("lua")
    assert [(each.environment, each.plugin) for each in ways] == [
        ({}, False),
        ({"PASSPILOT_POLICY": VARIANTS[1]}, True),
    ]
    assert {(each.level, each.flags) for each in ways} == {("O3", OUTLINER)}
    assert len(competitor("best-of:1").ways("lua")) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("'const:0", 'expected closed quotes, got "\'const:0": No closing quotation'),
        ("-O2 ", None),
        ("  ", "expected a runner, a decision file or a level, got '  '"),
        ("best-of:0", "expected best-of:N, got 'best-of:0'"),
        ("best-of:2 const:0", "expected best-of:N, got 'best-of:2 const:0'"),
        ("const:0 -g", "expected options of passpilot cc, got '-g'"),
    ],
)
def test_what_is_no_policy(text: str, told: str | None) -> None:
    expected = f"eval: --policy: {told or 'expected a runner, a decision file or a level'}"
    with pytest.raises(UsageError) as caught:
        competitor(text)
    assert str(caught.value).startswith(expected)


@pytest.mark.parametrize(("count", "title"), [(0, "0 programs, "), (1, "1 program, "), (2, "2 programs, ")])
def test_the_table_counts_programs_and_leaves_out_the_reference(count: int, title: str) -> None:
    contenders = [{"name": name, "kind": "baseline"} for name in ("-Oz", "-O2\x1b")]
    programs = [{"name": str(number), "results": {}} for number in range(count)]
    made = EvaluationResult({}, contenders, ["-Oz"], programs)  # type: ignore[arg-type]
    first, heads, *rows = table_text(made).splitlines()
    assert first.startswith(title)
    assert heads.startswith("against -Oz ")
    assert [row.split()[0] for row in rows] == [r"-O2\x1b"]
