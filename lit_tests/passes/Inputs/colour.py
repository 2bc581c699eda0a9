# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A pass that asks which colour a function is to have."""

from dataclasses import dataclass

import passpilot
from passpilot import Choice, Feature, TensorSpec

COLOUR = passpilot.DecisionPoint(
    "colour",
    features=[Feature(TensorSpec("size", "int64", (1,)), "instructions of the function")],
    advice=TensorSpec("colour_choice", "int64", (1,)),
    domain=Choice(4),
    default=lambda values: 2,
)


@passpilot.llvm.function_pass("paint")
@dataclass(frozen=True)
class Paint:
    def run(self, function):
        colour = COLOUR.ask({"size": function.instruction_count}, function)
        function.add_attribute(f'"colour"="{colour}"')
        return True


def large(obs):
    return 3 if obs["size"].item() > 5 else obs.default()


def broken(obs):
    return 9
