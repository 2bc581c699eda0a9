# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from pathlib import Path
from typing import Final

import pytest

from passpilot.features.llvm.slp import FEATURES
from passpilot.passes.optimize import optimize
from passpilot.passes.shipped.slp import SLP
from passpilot.plugin.errors import PolicyError
from passpilot.plugin.module import Module
from passpilot.runners.python import Observation

INPUT: Final = Path(__file__).parents[3] / "lit_tests" / "passes" / "Inputs" / "vectorizable.ll"
AT: Final = {"vectorizer-start": "advised-slp"}


def observed() -> dict[str, dict[str, list[float]]]:
    """What a policy sees of the functions, by their names."""
    seen: dict[str, dict[str, list[float]]] = {}

    def keep(obs: Observation) -> int:
        values = {row.spec.name: obs[row.spec.name].reshape(-1).tolist() for row in FEATURES}
        seen[getattr(obs.site, "name", "")] = values
        return 1

    optimize(Module.read(INPUT), "advised-slp", [SLP.advisor(keep)])
    return seen


def test_features_of_functions() -> None:
    seen = observed()
    names = ("add", "exact", "backwards", "distant", "serial", "hinted", "straight")
    assert tuple(seen) == names
    picked = (
        "stores",
        "store_groups",
        "grouped_stores",
        "grouped_loads",
        "loops",
        "integer",
        "floating_point",
    )
    assert [seen["straight"][name] for name in picked] == [[4], [1], [4], [4], [0], [4], [0]]
    assert [seen["exact"][name] for name in picked] == [[0], [0], [0], [0], [1], [1], [1]]
    assert [seen["distant"][name] for name in picked] == [[1], [0], [0], [2], [1], [3], [0]]
    assert seen["straight"]["grouped_work"] == [4.0]
    assert seen["add"]["work"][0] > 100


def test_every_row_is_observed() -> None:
    assert list(observed()["add"]) == [row.spec.name for row in FEATURES]


@pytest.mark.parametrize("answer", [False, True])
def test_a_function_is_vectorized_or_not(answer: bool) -> None:
    module = Module.read(INPUT)
    with SLP.advisor(lambda _: answer) as advisor:
        optimize(module, "default<O2>", [advisor], at=AT)
        assert advisor.stats.decisions == 7
    straight = module.function("straight")
    assert straight is not None
    vectors = [inst for inst in straight.instructions if inst.opcode == "store"]
    assert len(vectors) == (1 if answer else 4)
    assert not [each for each in straight.attributes if "slp" in each], "nothing stays in the module"


def test_failing_policy_leaves_an_error() -> None:
    def fail(_: Observation) -> int:
        raise ValueError("no luck")

    with pytest.raises(PolicyError, match="no luck"):
        optimize(Module.read(INPUT), "advised-slp", [SLP.advisor(fail)])
