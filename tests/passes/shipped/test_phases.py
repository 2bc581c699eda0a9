# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Phase ordering on functions, and what cannot be a table; lit_tests has the rest."""

from __future__ import annotations

from typing import cast

import pytest

from passpilot.features.llvm.phases import FUNCTION_PIPELINES, OPCODES, count_opcodes
from passpilot.features.spec import TensorSpec
from passpilot.passes.optimize import optimize
from passpilot.passes.shipped.phases import Phases
from passpilot.passes.shipped.pipeline import FUNCTION
from passpilot.plugin.errors import RegistrationError
from passpilot.plugin.module import Module
from tests.plugin.ir.test_in_passes import TEXT


def read() -> Module:
    return Module.read(TEXT.encode(), name="text")


def test_each_function_has_a_sequence_and_a_budget_of_its_own() -> None:
    seen: list[tuple[str, int, int]] = []

    def policy(obs: object) -> int:
        values = cast("dict[str, list[int]]", obs)
        site = obs.site  # type: ignore[attr-defined]
        seen.append((site.name, int(values["step"][0]), int(values["last"][0])))
        return int(values["mask"].reshape(-1)[1:].argmax()) + 1  # type: ignore[attr-defined]

    with FUNCTION.point.advisor(policy) as advisor:
        optimize(read(), "function(advised-function-pipeline{budget=2})", [advisor])
    assert [row[:2] for row in seen] == [("leaf", 0), ("leaf", 1), ("f", 0), ("f", 1)]
    assert seen[0][2] == seen[2][2] == 0
    assert seen[1][2] == 1


def test_the_pipelines_of_the_table_are_valid_in_any_order() -> None:
    for seed in range(4):
        module = read()
        with FUNCTION.point.advisor(f"random:{seed}") as advisor:
            optimize(module, "function(advised-function-pipeline{budget=20})", [advisor])
        module.verify()
    assert len(set(FUNCTION_PIPELINES)) == len(FUNCTION_PIPELINES)


def test_the_embedding_counts_every_instruction() -> None:
    module = read()
    counts = count_opcodes(module)
    assert sum(counts) == sum(function.instruction_count for function in module.functions)
    assert counts[OPCODES.index("mul")] == 1


@pytest.mark.parametrize("table", [[], "globaldce", ["globaldce", ""]])
def test_a_table_of_nothing_is_refused(table: list[str]) -> None:
    with pytest.raises(RegistrationError, match="expected a table of pipeline texts"):
        Phases("no-phases", table, TensorSpec("one", "float32", (1,)), lambda _: 1)


@pytest.mark.usefixtures("restored_registries")
def test_a_name_has_one_owner_at_a_place_of_the_user() -> None:
    def make() -> Phases:
        return Phases("test-phases", ["globaldce"], TensorSpec("one", "float32", (1,)), lambda _: 1)

    here = rf"{make.__code__.co_filename}:{make.__code__.co_firstlineno + 1}"
    make()
    with pytest.raises(
        RegistrationError,
        match=f"at {here}: expected a new name, got one that the decision point at {here} owns",
    ):
        make()
