# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which MLIR bindings are used, and that others than the default's do the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

from passpilot.plugin.errors import InputError
from passpilot.plugin.mlir.bindings import ROOTS, VARIABLE, Bindings, bindings, is_mlir_name
from tests.command import ERROR, GENEROUS, PASSPILOT
from tests.passes.mlir.passes import TEXT

PASSES: Final = """\
from dataclasses import dataclass
from passpilot import mlir

@mlir.pass_("shift", anchor="func.func")
@dataclass(frozen=True)
class Shift:
    by: int = 1

    def run(self, function):
        ir, arith = mlir.bindings().ir, mlir.bindings().dialect("arith")

        def rewrite(operation, rewriter):
            with rewriter.ip, operation.location:
                by = arith.constant(operation.operands[0].type, self.by)
                new = arith.shli(operation.operands[0], by)
            rewriter.replace_op(operation, [new])
            return True

        mlir.rewrite_greedily(function, {"arith.addi": rewrite})

@mlir.pass_("fail", anchor="func.func")
@dataclass(frozen=True)
class Fail:
    def run(self, function):
        raise ValueError("no luck")
"""

INSTALLED: Final = [root for root in ROOTS[1:] if find_spec(root.partition(".")[0])]
IREE: Final = "iree-base-compiler==3.13.0"


def mlir_opt(
    folder: Path, pipeline: str, root: str = "", path: Path | None = None
) -> subprocess.CompletedProcess[str]:
    (folder / "in.mlir").write_text(TEXT)
    (folder / "passes.py").write_text(PASSES)
    more: Mapping[str, str] = {VARIABLE: root, **({"PYTHONPATH": str(path)} if path else {})}
    return subprocess.run(
        [PASSPILOT, "mlir-opt", "in.mlir", "--load=passes.py", f"--pass-pipeline={pipeline}"],
        cwd=folder,
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=GENEROUS,
    )


@pytest.mark.parametrize("root", INSTALLED)
def test_each_package_runs_pipelines_with_passes_in_python(root: str, tmp_path: Path) -> None:
    check_package(root, tmp_path)


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_iree_runs_pipelines_with_passes_in_python(tmp_path: Path) -> None:
    site = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(site), IREE]
    subprocess.run(command, check=True)
    check_package("iree.compiler", tmp_path, site)


def check_package(root: str, folder: Path, path: Path | None = None) -> None:
    """The package `root`, perhaps on another path, runs passes in Python and reports their errors."""
    done = mlir_opt(folder, "builtin.module(func.func(shift{by=3},cse),inline,symbol-dce)", root, path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "call" not in done.stdout
    assert "arith.constant 3 : i32" in done.stdout
    done = mlir_opt(folder, "builtin.module(func.func(fail))", root, path)
    assert done.returncode == 1
    assert "error: pass fail at in.mlir:1:1: ValueError: no luck (" in done.stderr
    done = mlir_opt(folder, "builtin.module(inline,no-such-pass)", root, path)
    assert "at column 23: pass no-such-pass: expected a pass of MLIR's or one in Python" in done.stderr


def test_a_placeholder_of_the_name_mlir_is_no_package(tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "mlir").mkdir(parents=True)
    (site / "mlir" / "__init__.py").write_text("__version__ = '0.0.1'\n")
    done = mlir_opt(tmp_path, "builtin.module(inline)", path=site)
    assert (done.returncode, done.stderr) == (0, "")
    done = mlir_opt(tmp_path, "builtin.module(inline)", "mlir", path=site)
    assert done.returncode == 1
    assert ERROR.fullmatch(done.stderr)
    assert (
        "expected the package mlir that PASSPILOT_MLIR names, got none; install xtc-mlir-python-bindings"
        in done.stderr
    )


def test_bindings_that_are_broken(tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "mlir").mkdir(parents=True)
    (site / "mlir" / "__init__.py").touch()
    (site / "mlir" / "ir.py").write_text("raise ImportError('undefined symbol: mlirContextCreate')\n")
    done = mlir_opt(tmp_path, "builtin.module(inline)", path=site)
    assert done.returncode == 1
    assert ERROR.fullmatch(done.stderr)
    assert (
        "mlir: expected MLIR's Python bindings, got: undefined symbol: mlirContextCreate; run: "
        in done.stderr
    )


def test_an_unknown_package(tmp_path: Path) -> None:
    done = mlir_opt(tmp_path, "builtin.module(inline)", "xdsl")
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"passpilot: error: {VARIABLE}: expected a package among {', '.join(ROOTS)}, "
    )


def test_the_version_and_the_library_of_the_bindings() -> None:
    found = bindings()
    assert found.version[0].isdigit()
    assert found.capi.is_file()
    assert found.rewrite.RewritePatternSet
    assert found.dialect("func").FuncOp


def test_the_bindings_load_numpy_when_they_use_it() -> None:
    """A program's own numpy is the same module, before and after."""
    script = """
import sys
from passpilot.plugin.mlir.bindings import bindings
ir = bindings().ir
assert not [name for name in sys.modules if name.partition(".")[0] == "numpy"]
with ir.Context():
    print(ir.AttrBuilder.get("F64ElementsAttr")([1.5, 2.5], ir.Context.current))
import numpy
assert numpy is sys.modules["numpy"] and numpy.arange(3).sum() == 3
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "dense<[1.500000e+00, 2.500000e+00]> : tensor<2xf64>\n"), (
        done.stderr
    )


def test_a_package_that_was_built_but_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    libraries = tmp_path / "torch_mlir" / "_mlir_libs"
    libraries.mkdir(parents=True)
    (tmp_path / "torch_mlir" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    made = Bindings("torch_mlir", ModuleType("ir"), ModuleType("passmanager"))
    assert made.version == "unknown"
    told = r"^torch_mlir: expected _mlir_libs/libTorchMLIRAggregateCAPI.so\* in .*/torch_mlir, got none; run:"
    with pytest.raises(InputError, match=told):
        _ = made.capi
    for name in ("libTorchMLIRAggregateCAPI.so.22", "libTorchMLIRAggregateCAPI.so", "libOther.so"):
        (libraries / name).touch()
    assert made.capi == libraries / "libTorchMLIRAggregateCAPI.so"


def test_in_a_compiler_the_bindings_can_be_named_but_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("passpilot.plugin.mlir.bindings._foreign", True)
    absent = bindings()
    uses: dict[str, Callable[[], object]] = {
        "ir.Type.parse": lambda: absent.ir.Type.parse("i32"),
        "passmanager.PassManager": lambda: absent.passmanager.PassManager("any", context=None),
        "func.FuncOp": lambda: absent.dialect("func").FuncOp(),
        "rewrite.apply": lambda: absent.rewrite.apply(),
        "version": lambda: absent.version,
        "capi": lambda: absent.capi,
    }
    told = "their LLVM would clash with that of the compiler in this process; use it in"
    for name, use in uses.items():
        with pytest.raises(InputError, match=f"^MLIR's Python bindings: {re.escape(name)}: {told}"):
            use()
    assert not hasattr(absent.ir, "__path__")
    assert not is_mlir_name("cse")
    monkeypatch.undo()
    assert is_mlir_name("cse")
    assert is_mlir_name("any")
    assert not is_mlir_name("no-such-pass")


def test_the_names_of_passpilot_import_no_bindings() -> None:
    script = """
import sys
from passpilot import MLIR_FUSE, MLIR_INLINE, MLIR_STACK, MLIR_TILE, mlir
mlir.run_pipeline, mlir.lower, mlir.bindings
packages = {name.partition(".")[0] for name in sys.modules}
assert not packages & {"mlir", "torch_mlir", "iree", "jax", "jaxlib", "torch"}, packages
"""
    subprocess.run([sys.executable, "-c", script], check=True)
