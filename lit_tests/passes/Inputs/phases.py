# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies for advised-pipeline, and a table and an embedding of a user's own."""

from dataclasses import dataclass

from passpilot import TensorSpec, llvm
from passpilot.passes.shipped.phases import Phases

PLAN = [1, 2, 0]


def by_plan(obs):
    return PLAN[obs["step"].item()]


def first_allowed(obs):
    return int(obs["mask"][0, 1:].argmax()) + 1


def one_by_one(obs):
    return int(obs["mask"][0, 1:].argmax()) + 1 if obs["mask"][0, 1:].any() else 0


PHASES = Phases(
    "my-phases",
    ["function(mem2reg)", "cgscc(inline),globaldce"],
    TensorSpec("functions", "float32", (1,)),
    lambda module: len(module.functions),
)


@llvm.module_pass("my-phases")
@dataclass(frozen=True)
class MyPhases:
    def run(self, module):
        return PHASES.run(module, 10)


BAD = Phases("bad-phases", ["no-such-pass"], TensorSpec("one", "float32", (1,)), lambda module: 1)


@llvm.module_pass("bad-phases")
@dataclass(frozen=True)
class BadPhases:
    def run(self, module):
        return BAD.run(module, 10)
