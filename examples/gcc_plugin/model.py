# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes model.onnx: inline what has at most eight statements. A real model would be learnt."""

import onnx

TEXT = """
<ir_version: 8, opset_import: ["": 17]>
policy (int64[1] statements) => (bool[1] inline) {
  eight = Constant <value = int64[1] {8}> ()
  inline = LessOrEqual (statements, eight)
}
"""

onnx.save(onnx.parser.parse_model(TEXT), "model.onnx")
