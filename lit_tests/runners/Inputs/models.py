# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes small ONNX models into a folder: python models.py FOLDER."""

import sys
from pathlib import Path

from onnx import TensorProto, checker, helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def save(folder, name, nodes, inputs, outputs, constants=()):
    values = [helper.make_tensor_value_info(*each) for each in inputs]
    results = [helper.make_tensor_value_info(*each) for each in outputs]
    tensors = [helper.make_tensor(*each) for each in constants]
    graph = helper.make_graph(nodes, name, values, results, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    checker.check_model(model)
    Path(folder, f"{name}.onnx").write_bytes(model.SerializeToString())


def main(folder):
    cost = [("cost_estimate", INT64, [1])]
    node = helper.make_node
    cheap = [("limit", INT64, [1], [0])]
    less = node("Less", ["cost_estimate", "limit"], ["cheap"])
    # yes to what costs less than nothing
    save(folder, "decision", [less], cost, [("cheap", BOOL, [1])], cheap)
    # the same, as 0.75 or 0.25
    quarters = [*cheap, ("yes", FLOAT, [1], [0.75]), ("no", FLOAT, [1], [0.25])]
    where = node("Where", ["cheap", "yes", "no"], ["chance"])
    save(folder, "probability", [less, where], cost, [("chance", FLOAT, [1])], quarters)
    # the same, as two numbers of which the larger wins; beside it one that has the opposite to say
    pairs = [*cheap, ("yes", FLOAT, [2], [-1.0, 2.0]), ("no", FLOAT, [2], [3.0, 2.0])]
    both = [less, node("Where", ["cheap", "yes", "no"], ["logits"]), node("Neg", ["logits"], ["negated"])]
    save(folder, "logits", both, cost, [("logits", FLOAT, [2]), ("negated", FLOAT, [2])], pairs)
    # callee_users - node_count, of one concatenated input
    weights = [("weights", FLOAT, [2, 1], [1.0, -1.0])]
    difference = [node("MatMul", ["x", "weights"], ["chance"])]
    save(folder, "mapped", difference, [("x", FLOAT, ["n", 2])], [("chance", FLOAT, ["n", 1])], weights)
    # wants what nobody has, or has it of another type or shape
    for name, feature, dtype, shape in (
        ("unknown", "no_such_feature", INT64, [1]),
        ("dtype", "cost_estimate", FLOAT, [1]),
        ("shape", "cost_estimate", INT64, [3]),
    ):
        cast = node("Cast", [feature], ["chance"], to=FLOAT)
        save(folder, name, [cast], [(feature, dtype, shape)], [("chance", FLOAT, shape)])


if __name__ == "__main__":
    main(sys.argv[1])
