# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewards of a search: what they measure, sums and limits."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import passpilot
from passpilot.plugin.errors import Error, UsageError
from passpilot.training.tuning.engine import LocalEngine
from passpilot.training.tuning.reward import NAMES, RewardText
from passpilot.training.tuning.search import Search
from passpilot.training.tuning.sizes import Sizes, estimated_sizes, object_sizes
from passpilot.training.tuning.unit import LLVMS_OWN, Compiled, Unit, UnitChoice
from tests.command import passpilot as command
from tests.training.tuning.units import modules, units

TWICE = "_ZNK3BoxILi5EE5twiceEv"


def compiled(whole: list[Unit], choice: UnitChoice = LLVMS_OWN) -> list[Compiled]:
    """All units with one choice."""
    made = LocalEngine(whole, 2).compile([(0, choice), (1, choice)])
    good = [each for each in made if not isinstance(each, Error)]
    assert len(good) == 2
    return good


def measured(paths: list[Path], text: str) -> Sizes:
    """One reward of the program as LLVM compiles it."""
    reward = RewardText.parse(text)
    whole = [Unit(each.module, each.pipeline, rewards=reward.parts) for each in units(paths)]
    return reward.measure(whole, object_sizes)(compiled(whole))


def test_what_rewards_measure(tmp_path: Path) -> None:
    paths = modules(tmp_path)
    sizes = {name: measured(paths, name) for name in NAMES}
    optimized = passpilot.Module(paths[0])
    passpilot.optimize(optimized, "default<Oz>")
    (main,) = (each for each in optimized.functions if each.name == "main")
    assert sizes["instructions"].functions["main"] == main.instruction_count
    assert sizes["object"].total == sizes["text"].total > sizes["estimate"].total
    assert sizes["estimate"].functions[TWICE] * 2 == sizes["object"].functions[TWICE]
    assert min(sizes["mca"].functions["main"], sizes["mca"].functions[TWICE]) > 0
    assert sizes["allocation-cost"].total > 0
    for each in sizes.values():
        assert each.total == pytest.approx(sum(each.objects))
        assert set(each.functions) == set(each.owners)


def test_a_sum_is_relative_to_the_start(tmp_path: Path) -> None:
    whole = units(modules(tmp_path))
    reward = RewardText.parse("3*object + estimate")
    measure = reward.measure(whole, object_sizes)
    start, other = compiled(whole), compiled(whole, UnitChoice(tail="function(reg2mem)"))
    assert measure(start).total == pytest.approx(1e6)
    expected = 0.75e6 * object_sizes(other).total / object_sizes(start).total
    expected += 0.25e6 * estimated_sizes(other).total / estimated_sizes(start).total
    assert measure(other).total == pytest.approx(expected)
    assert expected > 1e6


def test_what_passes_a_limit_is_never_taken(tmp_path: Path) -> None:
    paths = modules(tmp_path)
    totals = {}
    for limits in ([], ["instructions:0.999"]):
        reward = RewardText.parse("object", limits)
        whole = [Unit(each.module, each.pipeline, rewards=reward.parts) for each in units(paths)]
        measure = reward.measure(whole, object_sizes)
        start = compiled(whole)
        assert math.isfinite(measure(start).total) == (not limits)
        found = Search(whole, LocalEngine(whole, 2), measure, compiles=12).run()
        totals[len(limits)] = (found.start.total, found.best.total)
    assert totals[0][1] < totals[0][0]
    # The start itself is beyond the limit, so that any outcome within it is better.
    assert totals[1][0] == math.inf


@pytest.mark.parametrize(
    ("text", "limits", "told"),
    [
        ("cats", [], "--reward: expected text, .* got 'cats'"),
        ("0.5*text-mca", [], "--reward: expected text, .* got '0.5.text-mca'"),
        ("text+", [], "--reward: expected text, .* got ''"),
        ("text", ["mca"], "--at-most: expected NAME:RATIO such as mca:1.01, got 'mca'"),
        ("text", ["cats:1"], "--at-most: expected NAME:RATIO such as mca:1.01, got 'cats:1'"),
    ],
)
def test_what_is_wrong_is_said(text: str, limits: list[str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        RewardText.parse(text, limits)


def test_the_command_takes_rewards(tmp_path: Path) -> None:
    main, _ = modules(tmp_path)
    flags = ("--reward=instructions", "--at-most=mca:1.5", "--compiles=6", "--jobs=2")
    done = command("tune", main, *flags, "-o", "f.decisions", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "main.bc: instructions " in done.err
    assert "# instructions " in (tmp_path / "f.decisions").read_text()
