# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From MLIR to an object: numbers, errors, and programs that compute what they should."""

from __future__ import annotations

import random
import re
import struct
import subprocess
from pathlib import Path
from typing import Final

import pytest

import passpilot
from passpilot.passes.mlir.inline import MLIR_INLINE
from passpilot.passes.mlir.lower import lower
from passpilot.passes.mlir.pipeline import run_pipeline
from passpilot.passes.mlir.tile import MLIR_TILE
from passpilot.plugin.errors import CompilationError, InputError
from tests.command import passpilot as command
from tests.corpus.modules import LARGE, MODULES, unpacked
from tests.passes.mlir.linalg import parsed

WIDTHS: Final = {"f16": (16, 10), "bf16": (16, 7), "f32": (32, 23), "f64": (64, 52)}
"""Of each type, the bits of a number, and how many of them are behind the point."""

PROGRAM: Final = """
!m = tensor<?x?xf32>
func.func private @scale(%x: f32) -> f32 {
  %c = arith.constant 0.1 : f32
  %t = math.tanh %x : f32
  %r = arith.mulf %t, %c : f32
  func.return %r : f32
}
func.func @norm(%a: !m, %b: memref<4x4xf32, strided<[8, 2]>>) -> f32 attributes {llvm.emit_c_interface} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %z = arith.constant 0.0 : f32
  %m = tensor.dim %a, %c0 : !m
  %e = tensor.empty(%m, %m) : !m
  %f = linalg.fill ins(%z : f32) outs(%e : !m) -> !m
  %p = linalg.matmul ins(%a, %a : !m, !m) outs(%f : !m) -> !m
  %copy = memref.alloc() : memref<4x4xf32>
  memref.copy %b, %copy : memref<4x4xf32, strided<[8, 2]>> to memref<4x4xf32>
  %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %z) -> f32 {
    %row = scf.for %j = %c0 to %c4 step %c1 iter_args(%t = %s) -> f32 {
      %x = tensor.extract %p[%i, %j] : !m
      %y = memref.load %copy[%i, %j] : memref<4x4xf32>
      %d = arith.subf %x, %y : f32
      %q = func.call @scale(%d) : (f32) -> f32
      %u = arith.addf %t, %q : f32
      scf.yield %u : f32
    }
    scf.yield %row : f32
  }
  func.return %sum : f32
}
"""
FREED: Final = """func.func @f(%a: memref<4xf32>, %b: tensor<4xf32>) {
%c = math.exp %b : tensor<4xf32>
memref.dealloc %a : memref<4xf32>
func.return }
"""
DRIVER: Final = """
#include <math.h>
#include <stdint.h>
#include <stdio.h>
typedef struct { float *base, *data; int64_t offset, sizes[2], strides[2]; } matrix;
float _mlir_ciface_norm(matrix *, matrix *);
int main(void) {
  float a[16], b[32], expected = 0;
  for (int i = 0; i < 16; ++i) a[i] = (i * 7 % 5 - 2) / 4.0f;
  for (int i = 0; i < 32; ++i) b[i] = (i * 5 % 9 - 4) / 8.0f;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      float sum = 0;
      for (int k = 0; k < 4; ++k) sum += a[4 * i + k] * a[4 * k + j];
      expected += tanhf(sum - b[8 * i + 2 * j]) * 0.1f;
    }
  matrix ma = {a, a, 0, {4, 4}, {4, 1}}, mb = {b, b, 0, {4, 4}, {8, 2}};
  float got = _mlir_ciface_norm(&ma, &mb);
  printf("%d %d\\n", fabsf(got - expected) < 1e-5f, fabsf(expected) > 0.01f);
}
"""


def bits_of(kind: str) -> list[int]:
    """Bits of numbers of a type: those of every kind that are not normal ones, and random ones."""
    width, fraction = WIDTHS[kind]
    top, one = (1 << (width - 1)) - (1 << fraction), 1 << fraction
    special = [0, 1, one - 1, one, top - 1, top, top + 1, top | one // 2, top | one - 1, top | one // 4 | 1]
    picked = random.Random(kind)
    plain = [picked.getrandbits(width - 1) for _ in range(100)]
    short = [struct.unpack("<I", struct.pack("<f", n / 8))[0] for n in range(-9, 9)] if kind == "f32" else []
    return [bits | sign << (width - 1) for bits in special + plain for sign in (0, 1)] + short


@pytest.mark.parametrize("kind", WIDTHS)
def test_numbers_keep_their_bits(kind: str) -> None:
    width, _ = WIDTHS[kind]
    values = bits_of(kind)
    text = "\n".join(
        f"llvm.mlir.global constant @g{place}({bits:#0{width // 4 + 2}x} : {kind}) : {kind}"
        for place, bits in enumerate(values)
    )
    module = passpilot.Module.read(lower(text).encode(), for_codegen=True)
    listing = passpilot.emit(module, "asm").decode()
    told = re.findall(rf"^g\d+:\n\t\.(?:{'|'.join(('short', 'long', 'quad'))})\t(\S+)", listing, re.MULTILINE)
    assert [int(each, 0) for each in told] == values


def test_numbers_in_every_place_are_read() -> None:
    text = lower(
        """
        func.func @"f0x3DCCCCCD"(%x: f32, %n: vector<4xf32>) -> (vector<4xf32>, f64) {
          %a = arith.constant 0.1 : f32
          %b = arith.constant dense<0.1> : vector<4xf32>
          %c = arith.constant dense<[0.1, 0x7F800000, 1.5, 0x7FC00000]> : vector<4xf32>
          %d = arith.constant 0.1 : f64
          %e = arith.addf %x, %a : f32
          %f = arith.addf %b, %n : vector<4xf32>
          %g = arith.mulf %f, %c : vector<4xf32>
          %t = arith.cmpf olt, %e, %a : f32
          cf.cond_br %t, ^one, ^two(%a, %d : f32, f64)
        ^one:
          cf.br ^two(%e, %d : f32, f64)
        ^two(%p: f32, %q: f64):
          %h = vector.insert %p, %g[1] : f32 into vector<4xf32>
          func.return %h, %q : vector<4xf32>, f64
        }
        llvm.mlir.global constant @text("+inf f0x3DCCCCCD") : !llvm.array<16 x i8>
        """
    )
    module = passpilot.Module.read(text.encode())
    told = str(module)
    assert "float 0x3FB99999A0000000" in told
    assert "double 1.000000e-01" in told
    assert "float 0x7FF0000000000000" in told
    assert "float 0x7FF8000000000000" in told
    assert "@f0x3DCCCCCD(" in told
    assert 'c"+inf f0x3DCCCCCD"' in told


def test_a_program_computes_what_it_should(tmp_path: Path) -> None:
    module = parsed(PROGRAM)
    text = lower(module)
    assert str(module) == str(parsed(PROGRAM)), "the module stays as it is"
    assert text == lower(PROGRAM) == lower(PROGRAM.encode())
    assert "memrefCopy" not in text
    assert text.count("call ptr @malloc") == text.count("call void @free") == 2, "all memory is given back"
    assert linked(text, tmp_path) == "1 1\n"


def test_unoptimized_and_tiled_it_computes_the_same(tmp_path: Path) -> None:
    module = parsed(PROGRAM)
    run_pipeline(module, "builtin.module(advised-tile{runner=const:1},advised-inline)")
    assert str(module).count("scf.for") == 7
    assert linked(lower(module), tmp_path) == "1 1\n"


def linked(text: str, folder: Path) -> str:
    """What the driver prints with the code of LLVM IR."""
    (folder / "kernel.o").write_bytes(passpilot.emit(passpilot.Module.read(text.encode(), for_codegen=True)))
    (folder / "main.c").write_text(DRIVER)
    build = ["clang-22", "main.c", "kernel.o", "-lm", "-o", "main"]
    subprocess.run(build, cwd=folder, check=True, timeout=60)
    return subprocess.check_output([folder / "main"], text=True, timeout=60)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nonsense", r"lower: expected a module of MLIR, got: .*\(lower:1:1\)"),
        (b"ML\xefR\x00", "lower: expected a module of MLIR"),
        ("func.func @f() { gpu.barrier\n func.return }", "llvm dialect, got: .*1:18.*gpu.barrier"),
        (
            "func.func @f() { %a = tensor.empty(%a) : tensor<?xf32>\n func.return }",
            "lower: expected a module",
        ),
        (FREED, r"lower: .*: memory free side-effect on MemRef value not supported! \(-:3:1\)"),
    ],
)
def test_what_cannot_be_lowered_is_an_error(text: str | bytes, expected: str) -> None:
    with pytest.raises((InputError, CompilationError), match=expected) as caught:
        lower(text) if "empty" not in str(text) else lower(
            str(text).replace("tensor<2xf32>", "tensor<?xf32>")
        )
    assert "\n" not in str(caught.value)


def test_a_tensor_that_only_a_signature_has_becomes_a_buffer() -> None:
    for head in ("func.func @f(%a: tensor<4xf32>) { func.return }", "func.func private @f(tensor<4xf32>)"):
        assert re.search(r"(define|declare) void @f\(ptr.*i64", lower(head))


def test_a_copy_of_unknown_rank_is_left_to_the_run_time_library() -> None:
    kinds = "memref<*xf32> to memref<*xf32>"
    text = (
        f"func.func @f(%a: memref<*xf32>, %b: memref<*xf32>) {{ memref.copy %a, %b : {kinds}\n func.return }}"
    )
    assert "call void @memrefCopy" in lower(text)


def test_the_module_of_an_error_is_named_once() -> None:
    with pytest.raises(CompilationError, match=r"^lower: expected passes that succeed, got: "):
        lower(FREED)


def test_mlir_opt_writes_llvm_ir(tmp_path: Path) -> None:
    (tmp_path / "in.mlir").write_text(PROGRAM)
    pipeline = "--pass-pipeline=builtin.module(func.func(advised-tile))"
    told = (pipeline, "--advise=mlir-tile=const:1", "-o", "out.ll")
    tiled = command("mlir-opt", "in.mlir", "--emit-llvm", *told, cwd=tmp_path)
    assert tiled.code == 0, tiled.err
    assert linked((tmp_path / "out.ll").read_text(), tmp_path) == "1 1\n"
    assert command("mlir-opt", "in.mlir", "--emit-llvm", cwd=tmp_path).out.decode() == lower(PROGRAM)
    for flag in ("--emit-bytecode", "--split-input-file"):
        refused = command("mlir-opt", "in.mlir", "--emit-llvm", flag, cwd=tmp_path)
        assert refused.code == 2
        assert f"expected one module of LLVM IR to write, got {flag}" in refused.err


@pytest.mark.parametrize("wrong", [None, 3, object()])
def test_what_is_no_module_is_an_error(wrong: object) -> None:
    with pytest.raises(InputError, match="expected a module of MLIR's bindings or its text, got"):
        lower(wrong)


def test_a_function_alone_is_no_module() -> None:
    with pytest.raises(InputError, match=r"got .*FuncOp"):
        lower(parsed(PROGRAM).body.operations[0])


@pytest.mark.parametrize("name", ["jax_ode_and_linalg", "scipy_bfgs_rosenbrock"])
def test_real_programs_decided_in_both_compute_the_same(name: str, tmp_path: Path) -> None:
    check(name, tmp_path, 7, "default<O1>")


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", sorted({*MODULES} - {LARGE}))
def test_real_programs_decided_in_both_at_length(name: str, seed: int, tmp_path: Path) -> None:
    check(name, tmp_path, seed, "default<O1>")


def check(name: str, folder: Path, seed: int, pipeline: str) -> None:
    """Decide at random on inlining and tiles in MLIR, and on inlining and evictions in LLVM."""
    program = unpacked(name, folder)
    module = parsed(program.text)
    runner = f"random:{seed}"
    with MLIR_INLINE.advisor(runner) as inline, MLIR_TILE.advisor(runner) as tile:
        run_pipeline(module, "builtin.module(advised-inline,func.func(advised-tile))", [inline, tile])
        assert tile.stats.decisions > 20
    llvm = passpilot.Module.read(lower(module).encode(), for_codegen=True)
    with passpilot.InlineAdvisor(runner) as advisor:
        passpilot.optimize(llvm, pipeline, [advisor])
    with passpilot.EvictAdvisor(runner) as evict:
        code = passpilot.emit(llvm, advisors=[evict], relocation_model="pic")
        assert evict.stats.decisions > 0
    program.run_object(code)
