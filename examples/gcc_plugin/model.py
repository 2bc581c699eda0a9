# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes model.onnx: inline (2) functions of at most four statements, call (1) the others."""

import onnx

TEXT = """
<ir_version: 8, opset_import: ["": 17]>
policy (int64[1] statements) => (int64[1] decision) {
  four = Constant <value = int64[1] {4}> ()
  one = Constant <value = int64[1] {1}> ()
  two = Constant <value = int64[1] {2}> ()
  small = LessOrEqual (statements, four)
  decision = Where (small, two, one)
}
"""

onnx.save(onnx.parser.parse_model(TEXT), "model.onnx")
