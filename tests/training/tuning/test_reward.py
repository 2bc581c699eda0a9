# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewards of a search: what they measure, sums and limits."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import passpilot
from passpilot.plugin.errors import Error, UsageError
from passpilot.training.machines.local import Machines
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.reward import NAMES, Limited, RewardText, WeightedSum
from passpilot.training.tuning.search import Search
from passpilot.training.tuning.sizes import SizeMeasure, Sizes, estimated_sizes, object_sizes
from passpilot.training.tuning.study import Budget
from passpilot.training.tuning.unit import LLVMS_OWN, Compiled, Unit, UnitChoice
from tests.command import passpilot as command
from tests.training.tuning.units import modules, units

TWICE = "_ZNK3BoxILi5EE5twiceEv"


def compiled(whole: list[Unit], choice: UnitChoice = LLVMS_OWN) -> list[Compiled]:
    """All units with one choice."""
    made = Engine(whole, Machines(2)).compile([(0, choice), (1, choice)])
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
    assert sizes["object"].total == sizes["allocated"].total > sizes["text"].total
    assert sizes["object"].total > sizes["estimate"].total
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
        found = Search(whole, Engine(whole, Machines(2)), measure, Budget(12)).run()
        totals[len(limits)] = (found.start.total, found.best.total)
    assert totals[0][1] < totals[0][0]
    # The start itself is beyond the limit, so that any outcome within it is better.
    assert totals[1][0] == math.inf


@pytest.mark.parametrize(
    ("text", "limits", "told"),
    [
        ("cats", [], "--reward: expected allocated, text, .* got 'cats'"),
        ("0.5*text-mca", [], "--reward: expected allocated, text, .* got '0.5.text-mca'"),
        ("text+", [], "--reward: expected allocated, text, .* got ''"),
        ("text", ["mca"], "--at-most: expected NAME:RATIO such as mca:1.01, got 'mca'"),
        ("text", ["executed:"], "--at-most: expected NAME:RATIO such as mca:1.01, got 'executed:'"),
        ("text", ["executed:1: x"], "--at-most: expected {} and the program's arguments, got 'x'"),
        ("text", ["cats:1"], "--at-most: expected NAME:RATIO such as mca:1.01, got 'cats:1'"),
        ("text", ["mcaa:1.01"], "'mcaa:1.01'; NAME is one of allocated, .* executed; did you mean 'mca'"),
    ],
)
def test_what_is_wrong_is_said(text: str, limits: list[str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        RewardText.parse(text, limits)


def test_the_command_takes_rewards(tmp_path: Path) -> None:
    main, _ = modules(tmp_path)
    flags = ("--reward=instructions", "--at-most=mca:1.5", "--compiles=20", "--jobs=2")
    done = command("tune", main, *flags, "-o", "f.decisions", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "main.bc: instructions " in done.err
    assert "# instructions " in (tmp_path / "f.decisions").read_text()


@pytest.mark.parametrize(
    ("text", "start", "best", "told"),
    [
        ("text", 100.4, 90.6, ".text 100 -> 91 bytes"),
        ("allocated", 100, 90, "allocated 100 -> 90 bytes"),
        ("compressed", 100, 90, "xz 100 -> 90 bytes"),
        ("mca", 1234567.8, 1.25, "mca 1.23457e+06 -> 1.25"),
        ("text+object", 1e6, 9.5e5, "text+object 1e+06 -> 950000"),
        ("run: {} x", 1, 0.98765, "run time 1 -> 0.988"),
    ],
)
def test_a_change_in_words(text: str, start: float, best: float, told: str) -> None:
    assert RewardText.parse(text).change(start, best) == told


def test_terms_and_limits() -> None:
    made = RewardText.parse("0.5*text + mca+2*mca", ["instructions:1.5", "estimate:2", "mca:1"])
    assert made.terms == [(0.5, "text"), (1.0, "mca"), (2.0, "mca")]
    assert made.limits == [("instructions", 1.5), ("estimate", 2.0), ("mca", 1.0)]
    assert made.parts == ("mca", "instructions")
    assert (made.text, made.run) == ("0.5*text + mca+2*mca", None)
    assert RewardText.parse("text").parts == ()
    runs = [RewardText.parse(text).run for text in ("run", " run :", "run: {} 'a b' c")]
    assert runs == [(), (), ("{}", "a b", "c")]
    for wrong in ("mca:1.", "mca:-1", "mca:1.01x", ":1"):
        with pytest.raises(UsageError, match="--at-most: expected NAME:RATIO"):
            RewardText.parse("text", ["mca:1.01", wrong])
    with pytest.raises(UsageError, match=r"expected \{\} and the program's arguments, got 'x \{\}'"):
        RewardText.parse("run: x {}")


def made_of(*parts: dict[str, float]) -> list[Compiled]:
    """Compiled units where these parts of functions were measured."""
    return [Compiled(b"", {}, LLVMS_OWN, 0, {"mca": each}) for each in parts]


def test_parts_of_functions_that_others_cannot_see() -> None:
    code = "define {}void @f() {{\n  ret void\n}}\ndefine internal void @g() {{\n  ret void\n}}\n"
    whole = [Unit(passpilot.Module(code.format(each).encode()), "") for each in ("", "linkonce_odr ")]
    measure = RewardText.parse("mca").measure(whole, object_sizes)
    found = measure(made_of({"f": 1, "g": 2}, {"f": 4, "g": 8, "new": 16}))
    assert found.functions == {"f": 5, "0:g": 2, "1:g": 8, "1:new": 16}
    assert found.owners == {"f": 0, "0:g": 0, "1:g": 1, "1:new": 1}
    assert (found.total, list(found.objects)) == (31, [3, 28])


def constant(values: list[float]) -> SizeMeasure:
    """A measure of one function and one object, whose values come one after the other."""
    left = iter(values)

    def measure(made: object) -> Sizes:  # noqa: ARG001
        value = next(left)
        return Sizes(value, {"f": value}, {"f": 0}, [value])

    return measure


def test_weights_are_shares_of_the_start() -> None:
    made = made_of({})
    weighed = WeightedSum([(3, constant([200, 100])), (1, constant([0, 0.5]))])
    assert weighed(made).total == 0.75e6
    later = weighed(made)
    assert later.total == pytest.approx(0.375e6 + 0.25e6 * 0.5), "what was nothing counts as one"
    assert later.functions["f"] == pytest.approx(later.total)
    assert list(later.objects) == [pytest.approx(later.total)]
    assert later.owners == {"f": 0}


def test_a_limit_is_relative_to_the_start() -> None:
    limited = Limited(constant([10, 9, 8, 7]), constant([100, 150, 151, 90]), 1.5)
    totals = [limited(made_of({})) for _ in range(4)]
    assert [each.total for each in totals] == [10, 9, math.inf, 7]
    assert totals[2].functions == {"f": 8}
