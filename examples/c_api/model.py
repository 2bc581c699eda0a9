# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes model.onnx: inline callees that are small or called once. A real model would be trained."""

import onnx

TEXT = """
<ir_version: 8, opset_import: ["": 17]>
policy (int64[1] size, int64[1] calls) => (bool[1] inline) {
  fifty = Constant <value = int64[1] {50}> ()
  two = Constant <value = int64[1] {2}> ()
  small = Less (size, fifty)
  once = Less (calls, two)
  inline = Or (small, once)
}
"""

onnx.save(onnx.parser.parse_model(TEXT), "model.onnx")
