# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the package's policies are made: `python -m tools.policies`."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
import pytest

from bench.lib.targets import Sizes
from bench.measure.policies.levers import Record
from passpilot.plugin.errors import Error
from passpilot.runners.policy.bundle import read_bundle
from passpilot.training.policy_folder import PointChoice, PolicyText, RecipeChoice
from tools.policies import card as cards
from tools.policies import targets
from tools.policies.card import choice_text, write_with_card
from tools.policies.choice import Step, choose
from tools.policies.formulas import AMONG_LOCAL, RANGE, SPLIT, split_priority
from tools.policies.oz import TOP, is_taken, recipes
from tools.policies.units import RecipeCompiler, Unit, by_program, data_hash, ratios

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.policies.choice import Lever

ROOT = Path(__file__).parents[2]
SAVES = {"half": {"a": 0.5, "b": 0.5}, "little": {"a": 0.9999, "b": 0.9999}, "mixed": {"a": 0.2, "b": 1.1}}
"""What the levers of a test multiply the sizes of two programs by."""


def measured(recipe: RecipeChoice) -> dict[str, float]:
    sizes = {"a": 1.0, "b": 1.0}
    for option in recipe.options:
        for name, ratio in SAVES[option].items():
            sizes[name] *= ratio
    return sizes


def lever(option: str) -> Lever:
    return lambda recipe: RecipeChoice(recipe.pipeline, (*recipe.options, option))


def test_the_choice_takes_what_saves_most_and_refuses_what_makes_a_program_grow() -> None:
    levers = {name: lever(name) for name in SAVES}
    said: list[str] = []
    recipe, steps = choose(RecipeChoice(), levers, measured, 1.005, said.append)
    assert recipe.options == ("half", "mixed")  # 1.1 is refused, 0.55 is not
    assert [step.lever for step in steps] == ["start", "half", "mixed"]
    assert steps[1].mean == pytest.approx(0.5)
    assert steps[2].largest == pytest.approx(0.55)
    assert any(line.startswith("taken: half") for line in said)


def test_a_formula_orders_split_live_ranges_by_weight_and_size() -> None:
    session = onnxruntime.InferenceSession(split_priority(0.5, AMONG_LOCAL))

    def priority(weight: float, size: int, stage: int = SPLIT) -> float:
        inputs = {
            "weight": np.array([weight], np.float32),
            "li_size": np.array([size]),
            "stage": np.array([stage]),
            "priority_default": np.array([7.0]),
        }
        return float(session.run(None, inputs)[0].item())

    assert priority(3, 16, stage=1) == 7
    pairs = [(0.0, 16), (1e-3, 16), (1e-3, 64), (5.0, 16), (float("inf"), 16)]
    ordered = [priority(*each) for each in pairs]
    assert ordered == sorted(set(ordered))
    assert AMONG_LOCAL <= ordered[0] < ordered[-1] <= AMONG_LOCAL + RANGE


def test_a_lever_must_save_enough_and_may_reach_the_limit() -> None:
    def found(ratio: float, largest: float) -> tuple[str, ...]:
        sizes = {(): {"a": 1.0, "b": 1.0}, ("x",): {"a": ratio, "b": 1.005}}
        levers = {"x": lever("x")}
        chosen, _ = choose(
            RecipeChoice(), levers, lambda each: sizes[tuple(each.options)], largest, lambda _: 0
        )
        return tuple(chosen.options)

    assert found(0.5, 1.005) == ("x",)
    assert found(0.5, 1.004) == ()
    assert found((1 - 0.0006) ** 2 / 1.005, 1.005) == ("x",)
    assert found((1 - 0.0004) ** 2 / 1.005, 1.005) == ()


def test_oz_takes_what_saves_against_both_references_and_makes_nothing_larger() -> None:
    sizes = {"nothing": 100, TOP: 100, "good": 99, "for one": 99, "packs badly": 99}
    record: Record = {
        reference: {
            program: {
                name: {"allocated": size, "text": size, "stripped": size, "xz": size}
                for name, size in sizes.items()
            }
            for program in "ab"
        }
        for reference in ("R1", "R2")
    }
    record["R2"]["a"]["for one"]["allocated"] = record["R2"]["b"]["for one"]["allocated"] = 100
    record["R1"]["a"]["packs badly"]["xz"] = 101
    assert [name for name in sizes if is_taken(record, name)] == ["good"]


def test_a_target_takes_what_saves_in_objects_and_links_and_costs_no_link() -> None:
    saved = {"good": 2, "link=0": 3, "table=1": 1, "table=2": 2}

    def measure(options: Sequence[str] | None) -> dict[str, Sizes]:
        less = sum(saved.get(option, 0) for option in options or ())
        more = 3 if "link=0" in (options or ()) else 0
        sizes = Sizes(100 - less, 100, 100, 100, 100 - less + 2 * more)
        return {"a": sizes, "b": sizes}

    taken, steps = targets.choose(["start"], [*saved, "nothing"], measure)
    assert taken == ["good", "table=2"]
    assert [step.lever for step in steps if step.taken] == [
        "the options for all targets",
        "good",
        "table=1",
        "table=2",
        "all that is taken, against -Oz",
    ]
    assert "| table=2 | 0.9897 | 1.0000 | 0.9897 | 0.9600 | yes |" in targets.card({"RV32IMC": steps})


def test_recipes_have_the_options_of_targets() -> None:
    made = recipes(
        ["disable-lsr", "tail-merge-size=2"], {"RV32IMC": ["outliner-benefit-threshold=4", "good"]}
    )
    assert "disable-lsr" not in made[0].options
    assert "disable-lsr" in made[1].options
    assert [dict(recipe.targets) for recipe in made] == [
        {"riscv32": ["outliner-benefit-threshold=4", "good"]},
        {"riscv32": ["outliner-benefit-threshold=4", "good"]},
        {"riscv32": ["good"]},
        {"riscv32": ["outliner-benefit-threshold=4", "good"]},
    ]
    assert recipes([], {"wasm32": ["good"]})[3].targets == {"wasm": ["good", "outliner-benefit-threshold=1"]}


def test_sums_and_ratios() -> None:
    units = {Unit("a", Path("1")): 3.0, Unit("b", Path("2")): 5.0, Unit("a", Path("3")): 4.0}
    assert by_program(units) == {"a": 7, "b": 5}
    assert ratios({"a": 7.0, "b": 5.0, "c": 1.0}, {"a": 14.0, "b": 2.0, "c": 0.0}) == {"a": 0.5, "b": 2.5}


def test_the_hash_of_data_is_of_the_order_and_the_bytes(tmp_path: Path) -> None:
    units = [Unit("p", tmp_path / name) for name in "ab"]
    for unit in units:
        unit.bitcode.write_text(unit.bitcode.name)
    first = data_hash(units)
    assert data_hash(units) == first != data_hash(units[::-1])
    units[1].bitcode.write_text("c")
    assert data_hash(units) != first
    assert data_hash([]) == hashlib.sha256().hexdigest()


def test_a_made_card_keeps_what_was_written_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cards, "SHIPPED", tmp_path / "shipped")
    card = choice_text("mine", "size", [Step("start", 1.0, 1.0), Step("x", 0.98765, 1.00449)])
    assert card.startswith("`python -m tools.policies mine` made this policy: size, the geometric mean")
    assert card.endswith(
        "| taken | mean | largest |\n|---|---|---|\n| start | 1.0000 | 1.0000 |\n| x | 0.9877 | 1.0045 |\n"
    )
    text = PolicyText(name="mine", description="d", card=card)
    points = {"inline": PointChoice(runner="default")}
    write_with_card(tmp_path / "new", text, points, [RecipeChoice()])
    assert (tmp_path / "new" / "card.md").read_text().startswith("# mine\n\n## How it was chosen\n\n`python")
    (tmp_path / "shipped" / "mine").mkdir(parents=True)
    (tmp_path / "shipped" / "mine" / "card.md").write_text("# By hand\n\n\n## How it was chosen\nold\n")
    write_with_card(tmp_path / "again", text, points, [RecipeChoice()])
    whole = (tmp_path / "again" / "card.md").read_text()
    assert whole.startswith("# By hand\n\n## How it was chosen\n\n`python")
    assert "old" not in whole
    lines = (tmp_path / "again" / "policy.toml").read_text().splitlines()
    assert lines[0] == "# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
    assert lines[1] == "# `python -m tools.policies mine` made this file."
    assert read_bundle(str(tmp_path / "again"), "again").name == "mine"


def test_what_a_recipe_makes_of_a_unit_is_compiled_once(tmp_path: Path) -> None:
    (tmp_path / "a.ll").write_text(
        "define i32 @f(i32 %x) {\n  %y = mul i32 %x, 777\n  %z = sdiv i32 %y, 13\n  ret i32 %z\n}\n"
        "define i32 @g(i32 %x) {\n  %y = mul i32 %x, 777\n  %z = sdiv i32 %y, 13\n  ret i32 %z\n}\n"
    )
    unit, compiler = Unit("p", tmp_path / "a.ll"), RecipeCompiler("Oz", 1)
    plain = compiler.compile(RecipeChoice(), [unit])[unit]
    assert plain.size > 0
    assert plain.spills == 0
    assert compiler.compile(RecipeChoice("mergefunc"), [unit])[unit].size < plain.size
    (tmp_path / "a.ll").unlink()
    assert compiler.compile(RecipeChoice(), [unit]) == {unit: plain}
    with pytest.raises(Error, match=r"a\.ll"):
        compiler.compile(RecipeChoice("globaldce"), [unit])


def test_an_unknown_policy_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.policies", "fast"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "expected names of oz, spill, got fast" in done.stderr


@pytest.mark.soak
def test_the_policies_are_made_of_two_programs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.policies", "--small", "-o", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    size = read_bundle(str(tmp_path / "oz"), "oz")
    assert size.recipes[0].options[:2] == ("apply-ext-tsp-for-size", "disable-machine-licm")
    assert [recipe.aim for recipe in size.recipes] == ["", "file", "compressed", "rom"]
    assert "## How it was chosen" in (tmp_path / "oz" / "card.md").read_text()
    spill = read_bundle(str(tmp_path / "spill"), "spill")
    assert list(spill.points) == ["priority"]
