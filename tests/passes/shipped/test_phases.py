# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Phase ordering on functions, and what cannot be a table; lit_tests has the rest."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from passpilot.features.llvm.phases import (
    FUNCTION_LIMITS,
    FUNCTION_PIPELINES,
    MODULE_LIMITS,
    MODULE_PIPELINES,
    OPCODES,
    count_opcodes,
)
from passpilot.features.spec import TensorSpec
from passpilot.passes.optimize import optimize
from passpilot.passes.python.api import module_pass
from passpilot.passes.shipped.phases import Phases
from passpilot.passes.shipped.pipeline import FUNCTION, MODULE
from passpilot.plugin.errors import RegistrationError
from passpilot.plugin.module import Module
from tests.corpus.build import bindir
from tests.plugin.ir.test_in_passes import TEXT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from passpilot.plugin.ir import ModuleIR


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


@pytest.mark.usefixtures("restored_registries")
def test_a_pipeline_with_a_limit_is_not_for_units_with_a_larger_function() -> None:
    sizes = [function.instruction_count for function in read().functions]
    assert max(sizes) < sum(sizes), "the limit is one for each function"
    for limit, allowed in ((max(sizes), 1), (max(sizes) - 1, 0)):
        masks: list[list[int]] = []

        def policy(obs: object, masks: list[list[int]] = masks) -> int:
            masks.append(cast("dict[str, NDArray[np.int64]]", obs)["mask"].reshape(-1).tolist())
            return 0

        name, table, one = f"limited-{limit}", ["globaldce", "mergefunc"], TensorSpec("one", "float32", (1,))
        phases = Phases(name, table, one, lambda _: 1, limits={"mergefunc": limit})

        @module_pass(f"run-{name}")
        @dataclass(frozen=True)
        class Run:
            def run(self, module: ModuleIR, phases: Phases = phases) -> bool:
                return phases.run(module, 3)

        optimize(read(), f"run-{name}", [phases.point.advisor(policy)])
        assert masks == [[1, 1, allowed]]


@pytest.mark.usefixtures("restored_registries")
def test_a_pipeline_that_changed_nothing_waits_for_another_that_changes_something() -> None:
    """A change lifts the ban, because the pipeline may now find something to do."""
    one = TensorSpec("one", "float32", (1,))
    phases, choices = Phases("waits", ["globaldce", "function(sroa)"], one, lambda _: 1), iter((1, 2, 0))
    masks: list[list[int]] = []

    def policy(obs: object) -> int:
        masks.append(cast("dict[str, NDArray[np.int64]]", obs)["mask"].reshape(-1).tolist())
        return next(choices)

    @module_pass("run-waits")
    @dataclass(frozen=True)
    class Run:
        def run(self, module: ModuleIR) -> bool:
            return phases.run(module, 3)

    optimize(Module.read(NO_FIXPOINT.encode()), "run-waits", [phases.point.advisor(policy)])
    assert masks == [[1, 1, 1], [1, 0, 1], [1, 1, 1]]


@pytest.mark.usefixtures("restored_registries")
def test_what_a_runner_knows_of_the_steps_before() -> None:
    one = TensorSpec("one", "float32", (1,))
    phases, choices = Phases("knows", ["function(sroa)", "function(adce)"], one, lambda _: 1), iter((2, 1, 0))
    seen: list[list[int]] = []
    changed: list[bool] = []

    def policy(obs: object) -> int:
        values = cast("dict[str, NDArray[np.int64]]", obs)
        seen.append([int(values[name][0]) for name in ("size", "initial_size", "step", "last")])
        return next(choices)

    @module_pass("run-knows")
    @dataclass(frozen=True)
    class Run:
        def run(self, module: ModuleIR) -> bool:
            changed.append(phases.run(module, 3))
            return changed[-1]

    module = Module.read(NO_FIXPOINT.encode())
    before = sum(function.instruction_count for function in module.functions)
    optimize(module, "run-knows", [phases.point.advisor(policy)])
    after = sum(function.instruction_count for function in module.functions)
    assert seen == [[before, before, 0, 0], [before, before, 1, 2], [after, before, 2, 1]]
    assert after < before
    assert changed == [True]


@pytest.mark.parametrize(
    ("name", "point", "budget"),
    [("advised-pipeline", MODULE, 12), ("advised-function-pipeline", FUNCTION, 6)],
)
def test_the_usual_budget(name: str, point: Phases, budget: int) -> None:
    steps: list[int] = []

    def policy(obs: object) -> int:
        values = cast("dict[str, NDArray[np.int64]]", obs)
        steps.append(int(values["step"][0]))
        return (
            0
            if values["mask"].reshape(-1)[1:].sum() == 0
            else int(values["mask"].reshape(-1)[1:].argmax()) + 1
        )

    text = "define i32 @f(i32 %x) {\n  ret i32 %x\n}\n"
    with point.point.advisor(policy) as advisor:
        optimize(Module.read(text.encode()), name, [advisor])
    assert steps == list(range(budget))


def test_the_shipped_limits() -> None:
    """Nothing that a usual program has is as large; what takes long on larger functions has a limit."""
    assert {*MODULE_LIMITS} < {*MODULE_PIPELINES}
    assert {*FUNCTION_LIMITS} < {*FUNCTION_PIPELINES}
    assert {*MODULE_LIMITS.values(), *FUNCTION_LIMITS.values()} == {50_000}
    assert MODULE._limits.count(50_000) == len(MODULE_LIMITS)
    with pytest.raises(RegistrationError, match=r"expected limits of pipelines of the table, got \['dce'\]"):
        Phases("no", ["globaldce"], TensorSpec("one", "float32", (1,)), lambda _: 1, limits={"dce": 1})


def test_the_embedding_counts_every_instruction() -> None:
    module = read()
    counts = count_opcodes(module)
    assert sum(counts) == sum(function.instruction_count for function in module.functions)
    assert counts[OPCODES.index("mul")] == 1


NO_FIXPOINT = """
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare void @llvm.lifetime.start.p0(ptr)
define void @f() {
  %a = alloca ptr, align 8
  %b = alloca i32, align 4
  store ptr null, ptr %a, align 8
  store ptr null, ptr null, align 8
  store i32 0, ptr null, align 4
  store ptr null, ptr null, align 8
  call void @llvm.lifetime.start.p0(ptr %b)
  %1 = load volatile i32, ptr null, align 4
  store i32 0, ptr %b, align 4
  %2 = load ptr, ptr %a, align 8
  %3 = load i32, ptr %b, align 4
  store i32 %3, ptr %2, align 4
  ret void
}
"""
"""Code that LLVM's instcombine does not finish in one iteration: what its check is for."""

USERS = """
import sys
from dataclasses import dataclass
from passpilot import Module, Phases, TensorSpec, llvm, optimize

PHASES = Phases("mine", [sys.argv[1]], TensorSpec("one", "float32", (1,)), lambda module: 1)

@llvm.module_pass("my-phases")
@dataclass(frozen=True)
class MyPhases:
    def run(self, module):
        return PHASES.run(module, 1)

module = Module.read("in.ll")
before = module.assembly()
optimize(module, "my-phases", [PHASES.point.advisor("const:1")])
print(module.assembly() != before)
"""


@pytest.mark.parametrize("table", ["instcombine", "instcombine<max-iterations=1>"])
def test_a_users_table_is_without_llvms_check_for_its_own_tests(table: str, tmp_path: Path) -> None:
    """LLVM ends the process if the check fails; hence the child process."""
    (tmp_path / "in.ll").write_text(NO_FIXPOINT)
    checked = [str(bindir() / "opt"), f"-passes={table}", "-disable-output", "in.ll"]
    done = subprocess.run(checked, cwd=tmp_path, capture_output=True, check=False)
    assert b"did not reach a fixpoint" in done.stderr
    command = [sys.executable, "-c", USERS, f"function({table})"]
    assert subprocess.check_output(command, cwd=tmp_path, text=True) == "True\n"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (
            "instcombine,gvn,instcombine",
            "instcombine<no-verify-fixpoint>,gvn,instcombine<no-verify-fixpoint>",
        ),
        ("instcombine<max-iterations=2>", "instcombine<max-iterations=2;no-verify-fixpoint>"),
        ("instcombine<verify-fixpoint>", "instcombine<verify-fixpoint>"),
        ("instcombine<no-verify-fixpoint>", "instcombine<no-verify-fixpoint>"),
        ("aggressive-instcombine,instcombine-x", "aggressive-instcombine,instcombine-x"),
    ],
)
@pytest.mark.usefixtures("restored_registries")
def test_how_instcombine_is_read(text: str, read: str) -> None:
    assert Phases("a", [text], TensorSpec("one", "float32", (1,)), lambda _: 1).table == (read,)


def test_the_shipped_tables_have_no_pass_that_is_known_to_be_wrong() -> None:
    text = ",".join([*MODULE.table, *FUNCTION.table])
    assert "iroutliner" not in text
    assert text.count("instcombine") == text.count("instcombine<no-verify-fixpoint>") > 0


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
