# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans, their files and their scripts, which stock mlir-opt runs as we do."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from passpilot.passes.mlir.pipeline import run_pipeline
from passpilot.passes.mlir.schedule.advised import (
    MLIR_INTERCHANGE,
    MLIR_PACK,
    MLIR_PARALLEL,
    MLIR_VECTORIZE,
)
from passpilot.passes.mlir.schedule.apply import schedule
from passpilot.passes.mlir.schedule.choices import best_plan, structures
from passpilot.passes.mlir.schedule.model import estimate, machine, roles
from passpilot.passes.mlir.schedule.plan import KernelPlan, OperationPlan, read_plan, write_plan
from passpilot.passes.mlir.schedule.shape import shapes_in
from passpilot.passes.mlir.tile import MLIR_TILE
from passpilot.plugin.errors import CompilationError, InputError
from passpilot.runners.python import Observation
from tests.passes.mlir.linalg import parsed
from tests.passes.mlir.schedule.kernels import KERNELS, MATMUL
from tests.stock import run

PACKED = KernelPlan("matmul", packs={"1": (6, 16, 4)})
PLANNED = PACKED.with_operation(
    3, OperationPlan((2, 0, 5, 0, 0, 0), (1, 0, 2, 3, 4, 5), (1, 1, 1, 0, 0, 0), 2)
)


def planned(name: str, number: int) -> KernelPlan:
    """The plan of the estimate with the structure of a number."""
    module = parsed(KERNELS[name])
    here = machine()
    fused = schedule(module.operation, KernelPlan(name)).fused
    known = list(structures(name, fused, here))
    structure = known[number % len(known)]
    shapes = schedule(parsed(KERNELS[name]).operation, structure).structured
    rng = random.Random(number)
    return replace(structure, operations=tuple(best_plan(shape, here, rng, samples=40) for shape in shapes))


@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize("name", KERNELS)
def test_stock_mlir_opt_runs_the_script_to_the_same_bytes(name: str, number: int, tmp_path: Path) -> None:
    plan = planned(name, number)
    module = parsed(KERNELS[name])
    script = schedule(module.operation, plan).script(plan)
    (tmp_path / "script.mlir").write_text(script)
    (tmp_path / "kernel.mlir").write_text(KERNELS[name])
    library = f"--transform-preload-library=transform-library-paths={tmp_path}/script.mlir"
    stock = run("mlir-opt", tmp_path / "kernel.mlir", library, "-transform-interpreter")
    assert stock == f"{module}\n".encode()
    assert b"vector<" in stock


def test_a_packed_matmul_keeps_its_sums_in_registers() -> None:
    module = parsed(MATMUL)
    shapes = schedule(module.operation, replace(PLANNED, operations=())).structured
    assert [shape.name for shape in shapes].count("linalg.transpose") == 3
    assert shapes[3].extents == (4, 3, 10, 6, 16, 4)
    module = parsed(MATMUL)
    schedule(module.operation, PLANNED)
    text = str(module)
    assert re.search(r"scf.for .* iter_args\(%\w+ = %\w+\) -> \(vector<6x16xf32>\)", text)
    assert text.count("vector.outerproduct") == 12, "4 steps, unrolled twice, and the fifth time"


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = str(tmp_path / "m.decisions")
    plan = replace(PLANNED, packs={}, root=OperationPlan((8, 0, 0)), function='a"b\\c')
    write_plan(path, plan, ["a note"], ["linalg.fill"])
    assert read_plan(path) == plan
    assert "# a note" in Path(path).read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "expected keys among function, fuse, packs, root, operations, got 'x'"),
        ("fuse = true", "expected function, got none"),
        ('function = "f"\n[[operations]]\ntile = [-1]', "expected a number of 0 to"),
        ('function = "f"\n[[operations]]\nunroll = 0', "expected a number of 1 to 64"),
        ('function = "f"\n[packs]\n0 = "x"', "expected an array"),
        ("function", "expected TOML"),
    ],
)
def test_a_file_that_is_no_plan_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.decisions"
    path.write_text(text)
    with pytest.raises(InputError, match=f"bad.decisions.*{re.escape(message)}|{re.escape(message)}"):
        read_plan(str(path))


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (KernelPlan("other"), "expected a function other in the module"),
        (KernelPlan("matmul", packs={"7": (1, 1, 1)}), "packs: expected numbers below 2, got 7"),
        (KernelPlan("matmul", packs={"1": (4,)}), "packs: 1: expected 3 numbers for linalg.matmul, got 1"),
        (replace(PACKED, root=OperationPlan((4, 0, 0))), "root: expected no packs beside it"),
        (KernelPlan("matmul", operations=(OperationPlan(),) * 9), "expected at most 2, got 9"),
        (
            KernelPlan("matmul", operations=(OperationPlan(tile=(4, 4), interchange=(0, 0)),)),
            "interchange: expected each of the 2 loops of linalg.fill once",
        ),
    ],
)
def test_a_plan_that_does_not_fit_is_refused(plan: KernelPlan, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        schedule(parsed(MATMUL).operation, plan)


def test_a_file_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "m.decisions")
    write_plan(path, KernelPlan("matmul", operations=(OperationPlan(),) * 9), [], [])
    with pytest.raises(InputError, match="expected at most 2, got 9"):
        run_pipeline(parsed(MATMUL), f"builtin.module(advised-schedule{{decisions={path}}})")


def test_a_plan_that_mlir_cannot_carry_out_is_an_error() -> None:
    plan = KernelPlan("matmul").with_operation(1, OperationPlan(vector=(7, 7, 7)))
    with pytest.raises(
        CompilationError, match="schedule: function matmul: expected MLIR to carry the plan out"
    ):
        schedule(parsed(MATMUL).operation, plan)


def test_the_estimate_prefers_registers_to_scalars_and_spills() -> None:
    shape = shapes_in(parsed(MATMUL).operation)[1]
    here = replace(machine(), vector_bytes=32, registers=16)
    assert roles(shape) == (0, 1, 2)
    costs = [
        estimate(shape, OperationPlan(vector=vector), here)
        for vector in ((6, 16, 4), (1, 8, 4), (24, 48, 4), ())
    ]
    assert min(costs) == costs[0]
    assert max(costs) == costs[3]


def test_runners_take_every_decision() -> None:
    seen: dict[str, list[dict[str, int]]] = {"vectorize": [], "interchange": []}

    def vector(obs: Observation) -> int:
        assert obs["mask"][0, int(obs.default())]
        seen["vectorize"].append({"loop": int(obs["loop"].item()), "planned": int(obs["planned"].item())})
        return int(obs.default())

    def reverse(obs: Observation) -> int:
        seen["interchange"].append({"place": int(obs["place"].item())})
        return max(loop for loop in range(12) if obs["mask"][0, loop])

    def tile(obs: Observation) -> int:
        return 2 if obs["loops"] == 6 and obs["mask"][0, 2] else 0

    module = parsed(MATMUL)
    advisors = [
        MLIR_VECTORIZE.advisor(vector),
        MLIR_INTERCHANGE.advisor(reverse),
        MLIR_PACK.advisor(lambda obs: bool(obs["is_contraction"])),
        MLIR_TILE.advisor(tile),
    ]
    run_pipeline(module, "builtin.module(advised-schedule)", advisors)
    assert {each["loop"] for each in seen["vectorize"]} >= {0, 1, 2, 3, 4, 5}
    assert [each["place"] for each in seen["interchange"]] == [0, 1, 2, 3, 4, 5]
    assert "vector.outerproduct" in str(module)
    assert "linalg.pack" not in str(module)


@pytest.mark.parametrize("shared", [False, True])
def test_a_runner_decides_about_threads(shared: bool) -> None:
    module = parsed(MATMUL)
    advisor = MLIR_PARALLEL.advisor(lambda obs: shared and obs["threads"] == 2)
    run_pipeline(module, "builtin.module(advised-schedule{threads=2})", [advisor])
    assert ("scf.forall" in str(module)) == shared


@pytest.mark.parametrize("name", KERNELS)
def test_random_decisions_are_carried_out(name: str) -> None:
    for seed in range(4):
        module = parsed(KERNELS[name])
        points = (MLIR_VECTORIZE, MLIR_INTERCHANGE, MLIR_PACK, MLIR_TILE)
        advisors = [point.advisor(f"random:{seed}") for point in points]
        for advisor in advisors:
            advisor.may_idle = True
        run_pipeline(module, "builtin.module(advised-schedule)", advisors)
        module.operation.verify()


def test_a_file_gives_what_the_plan_says(tmp_path: Path) -> None:
    path = str(tmp_path / "m.decisions")
    write_plan(path, PLANNED, [], [])
    module, expected = parsed(MATMUL), parsed(MATMUL)
    run_pipeline(module, f"builtin.module(advised-schedule{{decisions={path}}})")
    schedule(expected.operation, PLANNED)
    assert str(module) == str(expected)
