# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search of a kernel's schedule: it runs, it is right, it goes on, and it refuses what it cannot do."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import passpilot
from passpilot.passes.mlir.lower import to_llvm_dialect, translate
from passpilot.passes.mlir.schedule.apply import schedule
from passpilot.passes.mlir.schedule.plan import KernelPlan, OperationPlan, read_plan
from passpilot.plugin.errors import CompilationError, Error, InputError, UsageError
from passpilot.plugin.isolated import run_isolated
from passpilot.training.machines.local import Machines
from passpilot.training.studies.compile_cache import CompileCache
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.kernels.kernel import Kernel, parsed_kernel
from passpilot.training.tuning.kernels.running import check_outputs, make_arguments
from passpilot.training.tuning.kernels.search import KernelSearch, run_time
from passpilot.training.tuning.kernels.tune import KernelResult
from passpilot.training.tuning.kernels.unit import KernelUnit
from passpilot.training.tuning.study import Budget, Study, Trial
from tests.command import passpilot as command
from tests.command import refused
from tests.passes.mlir.schedule.kernels import IN_PLACE, KERNELS, MATMUL
from tests.stock import run


def written(folder: Path, text: str, name: str = "kernel.mlir") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def unit_of(folder: Path, text: str) -> KernelUnit:
    unit = KernelUnit(Kernel.read(written(folder, text)))
    unit.warm_up()
    return replace(unit, expected=run_isolated("test", unit.reference, 60))


def test_the_reference_computes_what_numpy_does(tmp_path: Path) -> None:
    unit = unit_of(tmp_path, MATMUL)
    a, b = make_arguments(unit.kernel)
    assert np.allclose(unit.expected[0], a @ b, atol=1e-4)
    assert unit.kernel.flops == 2 * 24 * 40 * 48
    unit = unit_of(tmp_path, IN_PLACE)
    a, b, c = make_arguments(unit.kernel)
    assert np.array_equal(unit.expected[2], c + a @ b)


@pytest.mark.parametrize("name", KERNELS)
def test_a_search_finds_a_plan_that_is_right(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, KERNELS[name])
    output = str(tmp_path / "k.decisions")
    trials: list[Trial] = []

    def note(_: Study, trial: Trial) -> None:
        trials.append(trial)

    result = passpilot.tune(path, compiles=3, output=output, callbacks=[note])
    assert isinstance(result, KernelResult)
    assert [trial.number for trial in trials] == [0, 1, 2]
    assert any(trial.value for trial in trials[1:])
    assert 0 < result.best <= result.start
    assert read_plan(output) == result.plan
    ours = tmp_path / "ours.mlir"
    pipeline = f"builtin.module(advised-schedule{{decisions={output}}})"
    done = command("mlir-opt", path, f"--pass-pipeline={pipeline}", "-o", ours, cwd=tmp_path)
    assert done.code == 0, done.err
    library = f"--transform-preload-library=transform-library-paths={output}.mlir"
    assert run("mlir-opt", path, library, "-transform-interpreter") == ours.read_bytes()
    assert not list(tmp_path.glob("*.search"))


def test_a_killed_search_goes_on(tmp_path: Path) -> None:
    unit = unit_of(tmp_path, MATMUL)
    cache = CompileCache(str(tmp_path / "kept"))
    plan = KernelPlan("matmul").with_operation(1, OperationPlan(vector=(4, 16, 2)))
    first = Engine([unit], Machines(), 60, cache)  # type: ignore[list-item]
    (one,) = first.compile([(0, plan)])  # type: ignore[list-item]
    again = Engine([unit], Machines(), 60, cache)  # type: ignore[list-item]
    (two,) = again.compile([(0, plan)])  # type: ignore[list-item]
    assert not isinstance(one, Error)
    assert two == one
    assert again.found == 1


def test_a_wrong_answer_is_refused(tmp_path: Path) -> None:
    unit = unit_of(tmp_path, MATMUL)
    others = [unit.expected[0] + np.float32(0.1)]
    with pytest.raises(CompilationError, match="expected the outputs of the kernel, got others in output 0"):
        run_isolated("test", lambda: replace(unit, expected=others).compile(None), 60)
    with pytest.raises(CompilationError, match="got others"):
        check_outputs(unit.kernel, [np.array([1], np.int32)], [np.array([2], np.int32)])
    check_outputs(
        unit.kernel, [np.array([np.nan, 1], np.float32)], [np.array([np.nan, 1 + 1e-6], np.float32)]
    )


def test_a_plan_that_fails_is_not_taken(tmp_path: Path) -> None:
    unit = unit_of(tmp_path, MATMUL)
    units = [unit]
    engine = Engine(units, Machines(), 60)  # type: ignore[arg-type]
    study = KernelSearch(units, engine, run_time, Budget(compiles=2))  # type: ignore[arg-type]
    study.start = study.begin()
    bad = KernelPlan("matmul").with_operation(1, OperationPlan(vector=(7, 7, 7)))
    assert study.attempt(bad)
    assert not study.attempt(bad), "it has run"
    assert study.best is study.start
    assert study.failures == 1
    study.confirm()
    assert study.best_plan is None


CRASH = """
func.func @f(%a: memref<8xi32>, %b: memref<8xi32>) {
  linalg.copy ins(%a : memref<8xi32>) outs(%b : memref<8xi32>)
  %far = arith.constant 1099511627776 : index
  %one = arith.constant 1 : i32
  memref.store %one, %a[%far] : memref<8xi32>
  return
}
"""
HANG = """
func.func @f(%a: memref<8xi32>, %b: memref<8xi32>) {
  linalg.copy ins(%a : memref<8xi32>) outs(%b : memref<8xi32>)
  cf.br ^loop
^loop:
  %zero = arith.constant 0 : index
  %v = memref.load %a[%zero] : memref<8xi32>
  memref.store %v, %b[%zero] : memref<8xi32>
  %large = arith.constant 1000 : i32
  %more = arith.cmpi slt, %v, %large : i32
  cf.cond_br %more, ^loop, ^end
^end:
  return
}
"""


def test_a_kernel_that_crashes_or_hangs_is_an_error(tmp_path: Path) -> None:
    for text, deadline, message in ((CRASH, 60.0, "signal 11"), (HANG, 5.0, "expected it to end within 5 s")):
        unit = KernelUnit(Kernel.read(written(tmp_path, text)))
        unit.warm_up()
        with pytest.raises(CompilationError, match=message):
            run_isolated("tune", unit.reference, deadline)


def test_threads_share_the_loops_of_a_parallel_plan(tmp_path: Path) -> None:
    plan = KernelPlan("matmul").with_operation(1, OperationPlan((8, 0, 0), (), (4, 16, 4), threads=2))
    module = parsed_kernel(MATMUL.encode(), "matmul")
    schedule(module.operation, plan)
    assert "scf.forall" in str(module)
    to_llvm_dialect(module.operation, threads=True)
    assert "__kmpc_fork_call" in translate(module.operation)
    for threads in (1, 2):  # one thread runs all parts
        unit = replace(unit_of(tmp_path, MATMUL), threads=threads)
        assert unit.compile(plan).microseconds > 0, "the outputs are right"


TWO = MATMUL + MATMUL.replace("@matmul", "@other")
VECTOR = (
    "func.func @f(%a: {0}) -> {0} {{ %r = linalg.exp ins(%a: {0}) outs(%a: {0}) -> {0} return %r : {0} }}"
)


def test_a_kernel_whose_operations_are_dead_stays_as_it_is(tmp_path: Path) -> None:
    dead = VECTOR.format("tensor<8xf32>").replace("return %r", "return %a")
    result = passpilot.tune(written(tmp_path, dead), compiles=3)
    assert isinstance(result, KernelResult)
    assert not result.plan.operations
    assert result.best == result.start


@pytest.mark.parametrize(
    ("text", "function", "message"),
    [
        ("func.func @f() { return }", "", "expected a function with operations of linalg, got none"),
        ("func.func @f() { return }", "f", "expected operations of linalg in function f, got none"),
        (TWO, "", "expected one function, got matmul, other; choose by --function=NAME"),
        (TWO, "third", "expected a function third with a body, got matmul, other"),
        (
            VECTOR.format("tensor<?xf32>"),
            "",
            "function f: argument 0: expected a static shape, got tensor<?xf32>",
        ),
        (
            VECTOR.format("tensor<8xbf16>"),
            "",
            "function f: argument 0: expected tensors and memrefs of f32, f64",
        ),
        ("junk", "", "kernel.mlir: expected a module of MLIR, got"),
    ],
)
def test_a_kernel_that_cannot_be_searched_is_refused(
    text: str, function: str, message: str, tmp_path: Path
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=re.escape(message)):
        passpilot.tune(path, function=function, compiles=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"search": ("inline", "tile")}, "--search: expected some of tile, interchange"),
        ({"passes": "default<O2>"}, "--passes: expected modules of LLVM beside it, got the kernel"),
        ({"reward": "mca"}, "--reward: expected modules of LLVM beside it, got the kernel"),
    ],
)
def test_options_of_llvm_are_refused(arguments: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        passpilot.tune(written(tmp_path, MATMUL), **arguments)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="expected one kernel in MLIR"):
        passpilot.tune("a.bc", function="f")


def test_the_command_writes_decisions_script_and_table(tmp_path: Path) -> None:
    written(tmp_path, MATMUL)
    words = ("tune", "kernel.mlir", "--compiles=2", "--function=matmul", "-o", "k.decisions")
    done = command(*words, "--result=k.json", "--search=vectorize,pack", cwd=tmp_path)
    assert done.code == 0, done.err
    assert re.search(r"kernel.mlir: .* ms -> .* ms \([01]\.\d+\), .* GFLOP/s; 2 plans in \d+ s", done.err)
    plan = read_plan(str(tmp_path / "k.decisions"))
    assert not any(any(each.tile) for each in plan.operations)
    assert plan.function == "matmul"
    script = (tmp_path / "k.decisions.mlir").read_text()  # with vectors only if they are faster here
    assert "transform.named_sequence" in script
    vectors = any(each.vector for each in plan.operations)
    assert ("transform.structured.vectorize" in script) == vectors
    table = json.loads((tmp_path / "k.json").read_text())
    assert table["compilations"] == 2
    assert command("report", "k.json", "-o", "k.html", cwd=tmp_path).code == 0
    assert "none.mlir: expected a file that can be read" in refused(
        "tune", "none.mlir", "-o", "x", cwd=tmp_path
    )
