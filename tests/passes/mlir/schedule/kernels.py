# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small kernels for tests of schedules and of their search."""

from __future__ import annotations

from typing import Final

MATMUL: Final = """
func.func @matmul(%a: tensor<24x40xf32>, %b: tensor<40x48xf32>) -> tensor<24x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<24x48xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<24x48xf32>) -> tensor<24x48xf32>
  %c = linalg.matmul ins(%a, %b : tensor<24x40xf32>, tensor<40x48xf32>)
                     outs(%start : tensor<24x48xf32>) -> tensor<24x48xf32>
  return %c : tensor<24x48xf32>
}
"""

IN_PLACE: Final = """
func.func @multiply(%a: memref<16x16xi32>, %b: memref<16x32xi32>, %c: memref<16x32xi32>) {
  linalg.matmul ins(%a, %b : memref<16x16xi32>, memref<16x32xi32>) outs(%c : memref<16x32xi32>)
  return
}
"""

CONVOLUTION: Final = """
func.func @convolution(%i: tensor<1x10x10x4xf32>, %f: tensor<3x3x4x32xf32>) -> tensor<1x8x8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x8x8x32xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  %out = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%i, %f : tensor<1x10x10x4xf32>, tensor<3x3x4x32xf32>)
    outs(%start : tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  return %out : tensor<1x8x8x32xf32>
}
"""

ATTENTION: Final = """
func.func @attention(%q: tensor<16x8xf32>, %k: tensor<8x32xf32>, %v: tensor<32x16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x32xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %s = linalg.matmul ins(%q, %k : tensor<16x8xf32>, tensor<8x32xf32>)
                     outs(%1 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %2 = tensor.empty() : tensor<16x32xf32>
  %w = linalg.softmax dimension(1) ins(%s : tensor<16x32xf32>) outs(%2 : tensor<16x32xf32>)
    -> tensor<16x32xf32>
  %3 = tensor.empty() : tensor<16x16xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<16x16xf32>) -> tensor<16x16xf32>
  %out = linalg.matmul ins(%w, %v : tensor<16x32xf32>, tensor<32x16xf32>)
                       outs(%4 : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %out : tensor<16x16xf32>
}
"""

KERNELS: Final = {
    "matmul": MATMUL,
    "multiply": IN_PLACE,
    "convolution": CONVOLUTION,
    "attention": ATTENTION,
}
"""By the name of the function."""
