# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policies of `passpilot eval`, as ways to compile."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

import passpilot
from passpilot.cli.cc.best_of import VARIANTS
from passpilot.cli.evaluate import competitor
from passpilot.plugin.errors import UsageError
from passpilot.plugin.failures import shown
from passpilot.training.evaluation.competitors import OUTLINER, CompileWay
from passpilot.training.evaluation.results import EvaluationResult
from passpilot.training.evaluation.tables import table_text
from passpilot.training.policy_folder import PointChoice, PolicyText, RecipeChoice, write_policy
from tests.command import passpilot as passpilot_command
from tests.training.evaluation.small import corpus


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
    assert (competitor(text).name, competitor(text).kind, competitor(text).points) == (
        shown(text),
        "policy",
        points,
    )


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
        assert way(text, name).environment["PASSPILOT_DECISIONS"] == os.path.abspath(f"{name}.d")
    assert competitor(text).points == ("inline", "evict")
    assert way("decisions:lua.d", "re2").environment == {"PASSPILOT_DECISIONS": os.path.abspath("lua.d")}


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
        ("best-of:9", "expected best-of:N with N up to 4, got 9"),
        ("const:0 -g", "expected options of passpilot cc, got '-g'"),
        (
            "const:0 --laod=x.py",
            "expected options of passpilot cc, got '--laod=x.py'; did you mean '--load'?",
        ),
    ],
)
def test_what_is_no_policy(text: str, told: str | None) -> None:
    expected = f"eval: --contender: {told or 'expected a runner, a decision file or a level'}"
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


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(tmp_path_factory.mktemp("small"))


def test_the_function_measures_what_the_command_measures(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSPILOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PASSPILOT_INLINE", "const:1")  # a policy is what its text says
    steps, finished = list[tuple[int, int]](), list[str]()
    rows = passpilot.evaluate(
        small,
        ["const:0", "best-of:2"],
        baselines=["-Oz", "-O2"],
        rounds=0,
        output=str(tmp_path / "a.json"),
        step=lambda count, total: steps.append((count, total)),
        done=lambda each: finished.append(each["name"]),
    )
    assert finished == ["count", "shout"]
    assert [count for count, _ in steps] == list(range(1, steps[0][1] + 1))
    contenders = ("--contender=const:0", "--contender=best-of:2", "--baselines=-Oz,-O2")
    done = passpilot_command(
        "eval", f"--corpus={small}", *contenders, "--rounds=0", "-o", "b.json", cwd=tmp_path
    )
    assert done.code == 0, done.err
    first, second = (json.loads((tmp_path / name).read_text()) for name in ("a.json", "b.json"))
    figures = ("allocated", "text", "stripped", "xz", "objects", "decisions", "agreed", "output", "errors")
    for one, other in zip(first["programs"], second["programs"], strict=True):
        for name, result in one["results"].items():
            assert [result[key] for key in figures] == [other["results"][name][key] for key in figures]
    assert first["complete"] is True

    assert len(rows) == len(list(rows)) == 2 * 4
    assert [(row["program"], row["policy"]) for row in rows][:2] == [("count", "-Oz"), ("count", "-O2")]
    assert all(isinstance(value, (str, int, float, type(None))) for row in rows for value in row.values())
    by_name = {row["policy"]: row for row in rows if row["program"] == "count"}
    sizes = {name: row["allocated"] for name, row in by_name.items()}
    assert by_name["-O2"]["allocated_ratio"] == sizes["-O2"] / sizes["-Oz"]  # type: ignore[operator]
    assert by_name["const:0"]["decisions"] == 3
    assert repr(rows).startswith("2 programs, geometric means")
    assert "best-of:2" in repr(rows)


def test_a_result_is_resumed(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSPILOT_CACHE", str(tmp_path / "cache"))
    output = str(tmp_path / "r.json")
    keywords: dict[str, Any] = {"baselines": ["-Oz"], "no_runs": True, "no_logs": True, "output": output}
    passpilot.evaluate(small, **keywords)
    finished = list[str]()
    rows = passpilot.evaluate(small, **keywords, resume=True, done=lambda each: finished.append(each["name"]))
    assert (len(rows), finished) == (2, [])


@pytest.mark.parametrize(
    ("keywords", "error", "told"),
    [
        (
            {"contenders": ["const:0 --wrong"]},
            passpilot.errors.UsageError,
            "expected options of passpilot cc",
        ),
        ({"baselines": ["-O7"]}, passpilot.errors.UsageError, "expected levels such as -Oz"),
        ({"resume": True}, passpilot.errors.UsageError, "--resume has no effect without"),
        (
            {"contenders": ["-Oz"]},
            passpilot.errors.InputError,
            "expected different policies, got '-Oz' twice",
        ),
        ({"program": ["none"]}, passpilot.errors.InputError, "expected programs among count, shout"),
        (
            {"corpus": "none"},
            passpilot.errors.InputError,
            "none: expected the folder of a corpus, got no such",
        ),
    ],
)
def test_wrong_arguments(keywords: dict[str, Any], error: type[Exception], told: str, small: Path) -> None:
    with pytest.raises(error, match=re.escape(told)):
        passpilot.evaluate(**{"corpus": small, **keywords})


def test_links_optimize_and_apply_policies(small: Path) -> None:
    """Only a link can inline `work`; a policy that refuses keeps it. Instructions are counted."""
    made = passpilot.evaluate(
        small, ["const:0"], baselines=["-Oz"], program=["count"], lto=True, runs="instructions", rounds=0
    )
    (program,) = made.programs
    plain, refused = program["results"].values()
    assert plain["errors"] == refused["errors"] == []
    functions = program["functions"]
    kept = {name: sizes[functions["names"].index("work")] for name, sizes in functions["sizes"].items()}
    assert kept["-Oz"] == 0 < kept["const:0"]
    assert (plain["instructions"] or 0) > 10_000
    assert plain["instructions"] == pytest.approx(refused["instructions"], rel=0.2)
    assert plain["objects"] is None
    with pytest.raises(UsageError, match=r"--lto: expected policies that compile once, got 'best-of:2'"):
        passpilot.evaluate(small, ["best-of:2"], lto=True)


def test_a_point_that_nobody_has() -> None:
    with pytest.raises(UsageError, match=r"got 'inlin'.*did you mean 'inline'"):
        competitor("inlin=const:1")
