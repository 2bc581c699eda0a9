# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policy `@oz`: options of LLVM that make training programs smaller, taken greedily."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from passpilot.training.policy_folder import PolicyText, RecipeChoice
from tools.policies.choice import choose
from tools.policies.made import MadePolicy, chosen_text
from tools.policies.units import Ways, by_program, data_hash, ratios, training_units

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tools.policies.choice import Lever

UNITS: Final = 4
"""Of a program."""
LARGEST: Final = 1.005
"""Of a program's ratio to -Oz with a lever."""

SCALARS: Final = "constraint-elimination,correlated-propagation,jump-threading"
VECTORS: Final = "slp-vectorizer,vector-combine,instcombine<no-verify-fixpoint>"
SINKING: Final = "gvn-sink,simplifycfg<sink-common-insts;hoist-common-insts>,instcombine<no-verify-fixpoint>"
TAIL: Final = f"function({SCALARS},{VECTORS},{SINKING}),globaldce,mergefunc"
"""Put together of the pipelines that `passpilot tune` tries, by the objects of large units."""
HOISTING: Final = (
    "function(gvn-hoist,gvn-sink,simplifycfg<sink-common-insts;hoist-common-insts>,loop-mssa(licm),gvn,dse,"
    "instcombine<no-verify-fixpoint>,simplifycfg),globaldce,mergefunc"
)
ESTIMATE: Final = "estimate-profile<limit=40;small=400>"
"""Chosen by the size and the instructions that programs execute."""
SPARING: Final = "enable-machine-outliner=optimistic-pgo"
EVERYWHERE: Final = "enable-machine-outliner=always"

OPTIONS: Final = (
    "disable-lsr",
    "lsr-drop-solution",
    "disable-machine-licm",
    "enable-linkonceodr-outlining",
    "tail-merge-size=2",
    "optsize-jump-table-density=10",
    "addr-sink-using-gep=false",
)
"""Of LLVM's code generation; ninety others changed nothing or made programs larger."""


def option(name: str) -> Lever:
    """The lever that adds an option of LLVM."""
    return lambda recipe: replace(recipe, options=(*recipe.options, name))


def make(folder: Path, jobs: int, *, small: bool) -> MadePolicy:
    """Choose the recipes, and write the policy's folder."""
    units = training_units("Oz", UNITS, small=small)
    ways = Ways("Oz", jobs)
    plain = by_program({unit: made.size for unit, made in ways.compile(RecipeChoice(), units).items()})

    def measure(recipe: RecipeChoice) -> Mapping[str, float]:
        sizes = {unit: made.size for unit, made in ways.compile(recipe, units).items()}
        return ratios(by_program(sizes), plain)

    start = RecipeChoice(f"{TAIL},{ESTIMATE}", (SPARING, "apply-ext-tsp-for-size"))
    levers = {name: option(name) for name in OPTIONS}
    print(f"oz: {len(units)} units of {len(plain)} programs")
    first, steps = choose(start, levers, measure, LARGEST)
    rest = first.options[1:]
    everywhere = replace(first, pipeline=TAIL, options=(EVERYWHERE, *rest))
    others = [
        everywhere,
        replace(everywhere, pipeline=TAIL.replace(f"{VECTORS},", "")),
        replace(everywhere, pipeline=HOISTING),
    ]
    text = PolicyText(
        name="oz",
        description="Makes programs smaller than -Oz",
        card=chosen_text("oz", "object size relative to -Oz", steps),
        data={"training units (bitcode)": data_hash(units)},
    )
    return MadePolicy(folder, text, {}, [first, *others])
