# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Upstream's bindings beside the core, whose LLVM is another, beside stock mlir-opt, and other bindings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from passpilot.passes.mlir.lower import lower
from passpilot.passes.mlir.pipeline import run_pipeline
from tests.command import GENEROUS, PASSPILOT, passpilot
from tests.corpus.modules import MODULES, unpacked
from tests.passes.mlir.passes import parsed
from tests.passes.mlir.programs import Program
from tests.plugin.native.mlir.tools import CALLS, stock, written

POLICY: Final = """\
def decide(obs):
    return obs["callee_operations"].item() < 3 or obs["caller_height"].item() > 1
"""
RUNNERS: Final = ("", "default", "const:0", "const:1", "random:7", "python:policy.py:decide")

CORE: Final = """
import passpilot
text = b"define internal i32 @f() { ret i32 7 } define i32 @g() { %x = call i32 @f() ret i32 %x }"
module = passpilot.Module.read(text)
passpilot.optimize(module, "default<O2>", advisors=[passpilot.InlineAdvisor("const:1")])
print(module)
"""
THEIRS: Final = """
from mlir import ir, passmanager
with ir.Context():
    body = "%x = arith.constant 1 : i32 %y = arith.addi %x, %x : i32 return %y : i32"
    m = ir.Module.parse("func.func @f() -> i32 { " + body + "}")
    passmanager.PassManager.parse("builtin.module(canonicalize)").run(m.operation)
    print(m)
"""


@pytest.mark.parametrize("script", [CORE + THEIRS + CORE, THEIRS + CORE + THEIRS], ids=["ours", "theirs"])
def test_two_llvms_in_one_process(script: str) -> None:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "ret i32 7" in done.stdout
    assert "arith.constant 2" in done.stdout


def same_bytes(source: Path, options: str) -> bytes:
    """The module after both tools, which agree."""
    pipeline = f"advised-inline{{{options}}},symbol-dce"
    theirs = stock(pipeline, Path(source.name), cwd=source.parent)
    flag = f"--pass-pipeline=builtin.module({pipeline})"
    ours = passpilot("mlir-opt", source.name, flag, cwd=source.parent)
    assert (theirs.code, ours.code) == (0, 0), (theirs.err, ours.err)
    assert ours.out == theirs.out
    return ours.out


@pytest.mark.parametrize("engine", ["bottom-up", "mark-and-run"])
@pytest.mark.parametrize("name", ["flax_resnet_forward", "jax_ode_and_linalg", "scipy_bfgs_rosenbrock"])
def test_hosted_and_stock_write_the_same_bytes(name: str, engine: str, tmp_path: Path) -> None:
    written(tmp_path, "policy.py", POLICY)
    source = written(tmp_path, "in.mlir", unpacked(name, tmp_path).text)
    runners = RUNNERS if name == "scipy_bfgs_rosenbrock" else RUNNERS[-2:]
    made = {same_bytes(source, f"engine={engine} {f'runner={runner}' * bool(runner)}") for runner in runners}
    assert len(made) > 1 or len(runners) == 2


@pytest.mark.parametrize(
    "flags",
    [
        ("--mlir-print-op-generic", "--mlir-print-debuginfo"),
        ("--mlir-print-local-scope", "--mlir-print-debuginfo"),
        ("--emit-bytecode",),
        ("--split-input-file",),
    ],
)
def test_the_module_is_written_as_by_stock_mlir_opt(flags: tuple[str, ...], tmp_path: Path) -> None:
    parts = [Program(1).text(), CALLS] if flags == ("--split-input-file",) else [Program(2).text()]
    written(tmp_path, "in.mlir", "// -----\n".join(parts))
    theirs = stock("inline,symbol-dce", Path("in.mlir"), "-o", "theirs", *flags, cwd=tmp_path)
    flag = "--pass-pipeline=builtin.module(inline,symbol-dce)"
    ours = passpilot("mlir-opt", "in.mlir", flag, "-o", "ours", *flags, cwd=tmp_path)
    assert (theirs.code, ours.code) == (0, 0), (theirs.err, ours.err)
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


@pytest.mark.soak
@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("runner", RUNNERS[1:])
def test_all_modules_are_the_same_in_both(name: str, runner: str, tmp_path: Path) -> None:
    written(tmp_path, "policy.py", POLICY)
    source = written(tmp_path, "in.mlir", unpacked(name, tmp_path).text)
    for engine in ("bottom-up", "mark-and-run"):
        same_bytes(source, f"engine={engine} runner={runner}")


def test_a_log_of_stock_mlir_opt_replays_here(tmp_path: Path) -> None:
    written(tmp_path, "in.mlir", Program(37).text())
    made = stock("advised-inline{runner=random:3 log=x.log}", Path("in.mlir"), cwd=tmp_path)
    flags = ("--pass-pipeline=builtin.module(advised-inline)", "--inline=replay:x.log", "--log=y.log")
    done = passpilot("mlir-opt", "in.mlir", *flags, cwd=tmp_path)
    assert (done.code, done.out) == (0, made.out)
    assert (tmp_path / "x.log").read_bytes() == (tmp_path / "y.log").read_bytes()


def other_bindings(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """`passpilot mlir-opt` with torch-mlir's bindings."""
    command = [str(PASSPILOT), "mlir-opt", "in.mlir", *flags]
    env = {**os.environ, "PASSPILOT_MLIR": "torch_mlir"}
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=GENEROUS
    )


def test_modules_of_other_bindings_are_inlined_as_text(tmp_path: Path) -> None:
    source = written(tmp_path, "in.mlir", CALLS)
    written(
        tmp_path,
        "policy.py",
        "def decide(obs):\n    return 'muli' in str(obs.site.callee) and obs.site.caller_name == 'top'\n",
    )
    for runner in ("const:1", "python:policy.py:decide"):
        flag = f"--pass-pipeline=builtin.module(advised-inline{{runner={runner}}})"
        done = other_bindings(tmp_path, flag)
        assert (done.returncode, done.stderr) == (0, "")
        expected = stock(f"advised-inline{{runner={runner}}}", source, cwd=tmp_path)
        if runner == "const:1":
            assert done.stdout == expected.out.decode()
        else:
            assert done.stdout.count("call @") == 3
    flag = "--pass-pipeline=builtin.module(advised-inline{default-pipeline=nosuch})"
    done = other_bindings(tmp_path, flag)
    assert done.returncode == 1
    assert "expected passes as default-pipeline, got 'nosuch'" in done.stderr


def test_modules_of_other_bindings_are_translated_as_text(tmp_path: Path) -> None:
    numbers = "0x7FC00001, 0.1, 0xFF800000, 3.4028235E+38"
    written(
        tmp_path,
        "in.mlir",
        f"llvm.mlir.global constant @g(dense<[{numbers}]> : tensor<4xf32>) : !llvm.array<4 x f32>",
    )
    done = other_bindings(tmp_path, "--emit-llvm")
    assert (done.returncode, done.stderr) == (0, "")
    expected = passpilot("mlir-opt", "in.mlir", "--emit-llvm", cwd=tmp_path)
    assert done.stdout == expected.out.decode()
    assert "float 0x7FF8000020000000" in done.stdout


def test_bits_are_loaded_and_stored_as_bytes() -> None:
    text = """\
func.func @f(%m: memref<4x?xi1, strided<[?, 1], offset: ?>>, %v: i1, %i: index, %n: memref<2xi4>, %w: i4) {
  memref.store %v, %m[%i, %i] {nontemporal = true} : memref<4x?xi1, strided<[?, 1], offset: ?>>
  memref.store %w, %n[%i] : memref<2xi4>
  %b = memref.load %m[%i, %i] : memref<4x?xi1, strided<[?, 1], offset: ?>>
  memref.store %b, %m[%i, %i] : memref<4x?xi1, strided<[?, 1], offset: ?>>
  return
}
"""
    lowered = lower(text)
    assert (lowered.count("store i8"), lowered.count("load i8")) == (3, 1)
    module = parsed(text)
    run_pipeline(module, "builtin.module(finalize-memref-to-llvm)")
    assert str(module).count("llvm.store") == 3
