# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from pathlib import Path
from typing import Final

import pytest

from passpilot.features.llvm.size import FEATURES, GOALS
from passpilot.passes.optimize import optimize
from passpilot.passes.shipped.size import SIZE
from passpilot.plugin.errors import PolicyError
from passpilot.plugin.module import Module
from passpilot.runners.python import Observation

ADVISED: Final = Path(__file__).parents[3] / "lit_tests" / "passes" / "Inputs" / "advised.ll"


def observed() -> dict[str, dict[str, list[float]]]:
    """What a policy sees of the functions of the input, by their names."""
    seen: dict[str, dict[str, list[float]]] = {}

    def keep(obs: Observation) -> int:
        values = {row.spec.name: obs[row.spec.name].reshape(-1).tolist() for row in FEATURES}
        seen[getattr(obs.site, "name", "")] = values
        return 0

    optimize(Module.read(ADVISED), "advised-size", [SIZE.advisor(keep)])
    return seen


def test_features_of_functions() -> None:
    seen = observed()
    assert list(seen) == ["nest", "pragma", "small", "calls"]
    nest, small = seen["nest"], seen["small"]
    assert nest["work"][0] > nest["hottest"][0] > 7
    picked = ("instructions", "blocks", "loops", "loop_depth", "calls", "call_sites", "is_local")
    assert [nest[name] for name in picked] == [[18], [5], [2], [2], [0], [0], [0]]
    assert [small[name] for name in picked] == [[2], [1], [0], [0], [0], [1], [1]]
    assert small["work"] == [2.0]
    assert small["call_frequency"] == [1.0]
    assert (nest["mask"], small["mask"]) == ([1, 1, 1], [1, 0, 1])


@pytest.mark.parametrize("goal", GOALS)
def test_goal_becomes_an_attribute(goal: str) -> None:
    def decide(obs: Observation) -> int:
        return GOALS.index(goal) if getattr(obs.site, "name", "") == "calls" else 0

    module = Module.read(ADVISED)
    before = {function.name: function.attributes for function in module.functions}
    optimize(module, "advised-size", [SIZE.advisor(decide)])
    after = {function.name: function.attributes for function in module.functions}
    assert after == {**before, "calls": [goal] if goal else []}


def test_failing_policy_leaves_an_error() -> None:
    def fail(obs: Observation) -> int:
        raise ValueError(str(obs["instructions"]))

    with pytest.raises(PolicyError, match="size"):
        optimize(Module.read(ADVISED), "advised-size", [SIZE.advisor(fail)])


def test_functions_without_a_name_have_calls_of_their_own() -> None:
    calls: list[float] = []

    def keep(obs: Observation) -> int:
        calls.append(obs["call_sites"].item())
        return 0

    called = "  call void @0()\n  call void @0()\n  call void @1()\n"
    text = f"define void @0() {{\n  ret void\n}}\ndefine void @1() {{\n{called}  ret void\n}}\n"
    optimize(Module.read(text.encode(), name="nameless"), "advised-size", [SIZE.advisor(keep)])
    assert calls == [2, 1]
