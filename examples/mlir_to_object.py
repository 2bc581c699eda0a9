# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles MLIR to an object file, with one Python policy for decisions in MLIR and one for those in LLVM.

Without arguments it compiles a small program in four ways, links every object with a driver in C, runs it,
and checks that all compute the same.

usage: mlir_to_object.py [IN.mlir OUT.o]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import passpilot
from passpilot import MLIR_INLINE

PROGRAM: Final = """
!m = memref<16x16xf64>
func.func private @smooth(%x: f64, %y: f64, %z: f64) -> f64 {
  %third = arith.constant 0.333 : f64
  %a = arith.addf %x, %y : f64
  %b = arith.addf %a, %z : f64
  %c = arith.mulf %b, %third : f64
  func.return %c : f64
}
func.func private @row(%m: !m, %i: index) {
  %one = arith.constant 1 : index
  %last = arith.constant 15 : index
  scf.for %j = %one to %last step %one {
    %left = arith.subi %j, %one : index
    %right = arith.addi %j, %one : index
    %x = memref.load %m[%i, %left] : !m
    %y = memref.load %m[%i, %j] : !m
    %z = memref.load %m[%i, %right] : !m
    %s = func.call @smooth(%x, %y, %z) : (f64, f64, f64) -> f64
    memref.store %s, %m[%i, %j] : !m
  }
  func.return
}
func.func @kernel(%a: !m, %b: !m, %c: !m) attributes {llvm.emit_c_interface} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %all = arith.constant 16 : index
  linalg.matmul ins(%a, %b : !m, !m) outs(%c : !m)
  scf.for %i = %zero to %all step %one {
    func.call @row(%c, %i) : (!m, index) -> ()
  }
  func.return
}
"""
DRIVER: Final = """
#include <stdint.h>
#include <stdio.h>
typedef struct { double *base, *data; int64_t offset, sizes[2], strides[2]; } matrix;
void _mlir_ciface_kernel(matrix *, matrix *, matrix *);
int main(void) {
  static double a[256], b[256], c[256];
  double sum = 0;
  for (int i = 0; i < 256; ++i) a[i] = i % 7 - 3, b[i] = i % 5 - 2;
  matrix ma = {a, a, 0, {16, 16}, {16, 1}}, mb = ma, mc = ma;
  mb.base = mb.data = b, mc.base = mc.data = c;
  _mlir_ciface_kernel(&ma, &mb, &mc);
  for (int i = 0; i < 256; ++i) sum += c[i] * (i % 3 + 1);
  printf("%.12g\\n", sum);
}
"""


def in_mlir(obs: passpilot.Observation) -> bool:
    """Inline callees with a loop, which may then move out of the loop around the call."""
    return bool(obs["callee_loops"] > 0)


def in_llvm(obs: passpilot.Observation) -> bool:
    """Inline callees without branches."""
    return bool(obs["callee_basic_block_count"] == 1)


def compiled(text: str, *, mlir: bool = True, llvm: bool = True) -> bytes:
    """Compile a module to an object file, with or without the policies in MLIR and in LLVM."""
    ir = passpilot.mlir.bindings().ir
    module = ir.Module.parse(text, ir.Context())
    with ExitStack() as stack:
        if mlir:
            advisor = stack.enter_context(MLIR_INLINE.advisor(in_mlir))
            passpilot.mlir.run_pipeline(module, "builtin.module(advised-inline)", [advisor])
        lowered = passpilot.Module.read(passpilot.mlir.lower(module).encode(), for_codegen=True)
        inline = [stack.enter_context(passpilot.InlineAdvisor(in_llvm))] if llvm else []
        passpilot.optimize(lowered, "default<O2>", inline)
        return passpilot.emit(lowered, relocation_model="pic")


def demonstrate() -> None:
    """Compile, link and run the small program in four ways."""
    outputs = set()
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        (folder / "main.c").write_text(DRIVER)
        for mlir, llvm in ((False, False), (True, False), (False, True), (True, True)):
            code = compiled(PROGRAM, mlir=mlir, llvm=llvm)
            (folder / "kernel.o").write_bytes(code)
            subprocess.run(["clang-22", "main.c", "kernel.o", "-o", "main"], cwd=folder, check=True)
            output = subprocess.check_output([folder / "main"], text=True)
            print(f"policy in MLIR: {mlir!s:5}  in LLVM: {llvm!s:5}  {len(code)} bytes  {output}", end="")
            outputs.add(output)
    if len(outputs) != 1:
        sys.exit("expected the same of all four")


def main(arguments: Sequence[str]) -> None:
    """Compile a file; without arguments, the small program."""
    if not arguments:
        demonstrate()
        return
    source, target = map(Path, arguments)
    target.write_bytes(compiled(source.read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])
