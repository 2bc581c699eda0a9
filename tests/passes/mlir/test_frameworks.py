# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of JAX, torch-mlir, IREE and upstream's builders: the page's programs, and what belongs to whom."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from ctypes.util import find_library
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest

from passpilot import mlir
from passpilot.plugin.mlir.exchange import module_in
from tests.command import GENEROUS

PAGE: Final = (Path(__file__).parents[3] / "docs" / "mlir-frameworks.md").read_text()
BLOCK: Final = re.compile(r"```python\n# (\w+)\.py\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)
PROGRAMS: Final = {name: (program, output) for name, program, output in BLOCK.findall(PAGE)}

JAX: Final = ("jax==0.10.2", "jaxlib==0.10.2", "opt_einsum", "ml_dtypes")
IREE: Final = ("iree-base-compiler==3.13.0",)
TORCH: Final = ("torch==2.13.0+cpu", "filelock", "sympy", "mpmath", "networkx", "jinja2", "fsspec")
PACKAGES: Final = {"with_builders": (), "with_jax": JAX, "with_torch": TORCH}
SOAK: Final = [
    pytest.param(
        name,
        marks=[
            *[pytest.mark.soak] * bool(needed and not find_spec(needed[0].partition("=")[0])),
            pytest.mark.timeout(1200),
        ],
    )
    for name, needed in PACKAGES.items()
]


def site(requirements: tuple[str, ...], folder: Path) -> str:
    """A folder with packages; empty if they are installed."""
    if not requirements or find_spec(requirements[0].partition("=")[0]):
        return ""
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder)]
    done = subprocess.run([*command, *requirements], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"pip: {done.stderr.strip().splitlines()[-1]}")
    return str(folder)


def run(program: str, folder: Path, path: str = "") -> str:
    """What a program prints; it must succeed."""
    (folder / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([path, os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=GENEROUS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", SOAK)
def test_the_page(name: str, tmp_path: Path) -> None:
    program, output = PROGRAMS[name]
    assert sum(map(bool, program.splitlines())) < 30
    assert run(program, tmp_path, site(PACKAGES[name], tmp_path / "site")) == output


@pytest.mark.parametrize(
    "root",
    [
        "mlir",
        "torch_mlir",
        pytest.param("jaxlib.mlir", marks=[] if find_spec("jaxlib") else pytest.mark.soak),
        pytest.param("iree.compiler", marks=[] if find_spec("iree") else pytest.mark.soak),
    ],
)
@pytest.mark.timeout(1200)
def test_a_module_of_any_package(root: str, tmp_path: Path) -> None:
    """What tests/passes/mlir/any_bindings.py checks, with a pass of an installed package."""
    if root == "torch_mlir" and not find_spec("torch_mlir"):
        pytest.skip("torch-mlir is not installed")
    more = site({"jaxlib.mlir": JAX, "iree.compiler": IREE}.get(root, ()), tmp_path / "site")
    folder = tmp_path / "plugin"
    (folder / "marking-1.dist-info").mkdir(parents=True)
    (folder / "marking.py").write_text(MARKING)
    (folder / "marking-1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: marking\nVersion: 1\n"
    )
    (folder / "marking-1.dist-info" / "entry_points.txt").write_text(
        "[passpilot.mlir_passes]\nmark-module = marking:MarkModule\n"
    )
    program = Path(__file__).with_name("any_bindings.py").read_text()
    where = "mlir" if root == "jaxlib.mlir" else root
    assert run(f"ROOT = {root!r}\n{program}", tmp_path, f"{folder}{os.pathsep}{more}") == f"{where}\n" * 3


def test_an_llvm_that_all_libraries_see(tmp_path: Path) -> None:
    """Bindings that bound to it would end the process; their inliner, too."""
    library = find_library("LLVM-22")
    assert library
    load = f"import ctypes; ctypes.CDLL({library!r}, ctypes.RTLD_GLOBAL)\n"
    program = Path(__file__).with_name("any_bindings.py").read_text()
    for root in ("mlir", *["torch_mlir"] * bool(find_spec("torch_mlir"))):
        text = f"{load}ROOT = {root!r}\n{program}".replace(",mark-module", "")
        assert run(text, tmp_path) == f"{root}\n" * 2


@pytest.mark.skipif(not find_spec("torch_mlir"), reason="torch-mlir is not installed")
def test_upstream_in_a_process_of_its_own(tmp_path: Path) -> None:
    """A library of the name of upstream's is in the way, as IREE's is."""
    spec = find_spec("torch_mlir")
    assert spec
    assert spec.submodule_search_locations
    theirs = next(Path(spec.submodule_search_locations[0]).glob("_mlir_libs/libnanobind*"))
    library = tmp_path / "libnanobind-mlir.so"
    shutil.copy(theirs, library)
    program = Path(__file__).with_name("any_bindings.py").read_text().replace(",mark-module", "")
    load = f"import ctypes; ctypes.CDLL({str(library)!r})\n"
    assert run(f"{load}ROOT = 'torch_mlir'\n{program}", tmp_path) == "torch_mlir\n" * 2
    text = f"{load}from passpilot import mlir\nmlir.bindings('mlir')"
    told = (
        f"mlir: expected its own libnanobind-mlir.so in this process, got that of another package, {library};"
    )
    assert told in failing(text, tmp_path)


def test_an_llvm_of_another_version(tmp_path: Path) -> None:
    """... that the linker would take for that of upstream's bindings."""
    library = tmp_path / "libLLVM.so"
    code = "void LLVMGetVersion(unsigned *a, unsigned *b, unsigned *c) { *a = 21; *b = 1; *c = 8; }"
    command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    subprocess.run(command, input=code.encode(), check=True)
    load = f"import ctypes; ctypes.CDLL({str(library)!r})\n"
    told = f"mlir: expected its own libLLVM.so in this process, got that of another package, {library}; "
    assert told in failing(f"{load}from passpilot import mlir\nmlir.bindings('mlir')", tmp_path)


def failing(program: str, folder: Path) -> str:
    with pytest.raises(AssertionError) as raised:
        run(program, folder)
    return str(raised.value)


JAXS: Final = b"""
"func.func"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "g", sym_visibility = "private"}> ({
^bb0(%x: tensor<f32>):
  %0 = "stablehlo.tanh"(%x) : (tensor<f32>) -> tensor<f32>
  "func.return"(%0) : (tensor<f32>) -> ()
}) : () -> ()
"func.func"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "h", sym_visibility = "private"}> ({
^bb0(%x: tensor<f32>):
  %0 = "stablehlo.composite"(%x) <{decomposition = @g, name = "a.b"}> : (tensor<f32>) -> tensor<f32>
  "func.return"(%0) : (tensor<f32>) -> ()
}) : () -> ()
"func.func"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "main"}> ({
^bb0(%x: tensor<f32>):
  %0 = "func.call"(%x) <{callee = @h}> : (tensor<f32>) -> tensor<f32>
  "func.return"(%0) : (tensor<f32>) -> ()
}) : () -> ()
"""


def test_operations_of_jax_in_upstreams_bindings() -> None:
    """They are inlined, and a symbol that only they mention stays; MLIR sees no symbols in properties."""
    module = module_in("test", JAXS)
    mlir.run_pipeline(module, "builtin.module(advised-inline{runner=const:1},symbol-dce)")
    assert str(module).count("func.func") == 2
    assert "call @h" not in str(module)
    main: Any = list(module.regions[0].blocks[0].operations)[1]
    composite = main.regions[0].blocks[0].operations[0].operation
    assert sorted(composite.attributes) == ["decomposition", "name"]


MARKING: Final = """
from dataclasses import dataclass
from passpilot import mlir

@mlir.pass_("mark-module", anchor="builtin.module")
@dataclass(frozen=True)
class MarkModule:
    def run(self, module):
        print(mlir.bindings().root)
        module.attributes["sym_name"] = mlir.bindings().ir.StringAttr.get("marked", module.context)
"""
