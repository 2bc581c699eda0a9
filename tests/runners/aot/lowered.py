# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Perceptrons in TOSA, and models in MLIR lowered to C++ by LLVM's own tools."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Final

from onnx import numpy_helper

if TYPE_CHECKING:
    import numpy as np
    import onnx
    from numpy.typing import NDArray

PASSES: Final = (
    "func.func(tosa-to-linalg-named,tosa-to-linalg,tosa-to-arith,tosa-to-tensor,linalg-fuse-elementwise-ops)",
    "canonicalize",
    "one-shot-bufferize{bufferize-function-boundaries=1"
    " function-boundary-type-conversion=identity-layout-map buffer-alignment=0}",
    "buffer-results-to-out-params{hoist-static-allocs=1 modify-public-functions=1}",
    "func.func(convert-linalg-to-loops,promote-buffers-to-stack{max-alloc-size-in-bytes=1048576})",
    "fold-memref-alias-ops",
    "expand-strided-metadata",
    "canonicalize",
    "cse",
    "func.func(arith-expand)",
    "convert-math-to-libm",
    "convert-to-emitc",
)
IN_CLASS: Final = "wrap-emitc-func-in-class"


def lowered(text: str, *more: str) -> str:
    """The C++ text of a module in MLIR."""
    pipeline = f"builtin.module({','.join((*PASSES, *more))})"
    made = _tool(text, "mlir-opt-22", f"--pass-pipeline={pipeline}")
    return _tool(made, "mlir-translate-22", "--mlir-to-cpp")


def _tool(text: str, *command: str) -> str:
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=60).stdout


def tosa(perceptron: onnx.ModelProto) -> str:
    """A model of `tests.runners.aot.models.mlp` as one function `model` in TOSA."""
    values = {each.name: numpy_helper.to_array(each) for each in perceptron.graph.initializer}
    nodes = [node.op_type for node in perceptron.graph.node]
    width, lines, last = values["w0"].shape[1], [], "x0"
    for layer in range(nodes.count("Gemm")):
        weights, bias = values[f"w{layer}"].T, values[f"b{layer}"]
        rows, columns = weights.shape
        kind, wide = f"tensor<1x1x{columns}xf32>", f"tensor<1x{rows}x{columns}xf32>"
        lines += [
            _constant(f"w{layer}", weights, wide),
            _constant(f"b{layer}", bias, kind),
            f"%m{layer} = tosa.matmul %{last}, %w{layer}, %zero, %zero : (tensor<1x1x{rows}xf32>, {wide},"
            f" tensor<1xf32>, tensor<1xf32>) -> {kind}",
            f"%g{layer} = tosa.add %m{layer}, %b{layer} : ({kind}, {kind}) -> {kind}",
        ]
        last = f"g{layer}"
        if layer < nodes.count("Gemm") - 1:
            lines.append(_activation(nodes[2 * layer + 1], f"h{layer}", last, kind))
            last = f"h{layer}"
    body = "\n".join(lines)
    return f"""
func.func @model(%x: tensor<1x{width}xf32>) -> {kind} {{
  %zero = "tosa.const"() <{{values = dense<0.0> : tensor<1xf32>}}> : () -> tensor<1xf32>
  %shape = tosa.const_shape {{values = dense<[1, 1, {width}]> : tensor<3xindex>}} : () -> !tosa.shape<3>
  %x0 = tosa.reshape %x, %shape : (tensor<1x{width}xf32>, !tosa.shape<3>) -> tensor<1x1x{width}xf32>
  {body}
  return %{last} : {kind}
}}
"""


def _constant(name: str, values: NDArray[np.generic], kind: str) -> str:
    data = values.astype("<f4").tobytes().hex()
    return f'%{name} = "tosa.const"() <{{values = dense<"0x{data}"> : {kind}}}> : () -> {kind}'


def _activation(name: str, result: str, operand: str, kind: str) -> str:
    if name == "Tanh":
        return f"%{result} = tosa.tanh %{operand} : ({kind}) -> {kind}"
    bounds = "min_val = 0.0 : f32, max_val = 0x7F7FFFFF : f32"
    return f"%{result} = tosa.clamp %{operand} {{{bounds}}} : ({kind}) -> {kind}"
