# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees of a producer and a consumer of linalg that MLIR can fuse into one operation.

Fusion saves the tensor between both. Where the consumer reads an element several times, the fused operation
computes it each time. Values known at run time only are 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from passpilot.features.domain import Flag
from passpilot.features.mlir.tile import arithmetic_of, depth_of
from passpilot.features.mlir.tileable import Operand, Structured
from passpilot.features.point import row
from passpilot.features.spec import TensorSpec
from passpilot.features.table import PointTable
from passpilot.plugin.mlir.bindings import bindings

FEATURES: Final = (
    row("producer_iterations", "iterations of all loops of the producer", "float64"),
    row("consumer_iterations", "iterations of all loops of the consumer", "float64"),
    row("computed", "how often the fused operation computes an element of the tensor", "float64"),
    row("bytes", "memory of the tensor between both", "float64"),
    row("is_dynamic", "1 if a size of the tensor is known at run time only"),
    row("rank", "dimensions of the tensor"),
    row("element_bits", "bits of an element of the tensor"),
    row("element_is_float", "1 if the tensor has floating-point numbers"),
    row("operand", "the consumer's operand that the tensor is"),
    row("is_transposed", "1 if both run through the tensor in different orders, or it is broadcast"),
    row("producer_inputs", "inputs of the producer"),
    row("consumer_inputs", "inputs of the consumer"),
    row("producer_arithmetic", "arithmetic operations of the producer's body, those of math included"),
    row("consumer_arithmetic", "arithmetic operations of the consumer's body, those of math included"),
    row("producer_math", "operations of math in the producer's body, such as math.exp"),
    row("consumer_math", "operations of math in the consumer's body"),
    row("producer_flops", "arithmetic operations of all iterations of the producer", "float64"),
    row("consumer_flops", "arithmetic operations of all iterations of the consumer", "float64"),
    row("reductions", "loops of the consumer whose iterations meet in one element"),
    row("is_contraction", "1 if the consumer sums up products: matmul, matvec, dot, ..."),
    row("consumer_loops", "loops of the consumer"),
    row("loop_depth", "loops of scf and affine around the consumer"),
)

TABLE: Final = PointTable("mlir-fuse", FEATURES, TensorSpec("fuse", "int64", (1,)), Flag())
"""The answer is 1 to fuse, 0 to keep both apart."""


def observe(producer: Structured, consumer: Structured, number: int) -> Mapping[str, object]:
    """The feature values of a pair; operand `number` of the consumer is the producer's result."""
    read, written = consumer.operands[number], read_output(producer, consumer, number)
    before, after = producer.iterations, consumer.iterations
    arithmetic = {"producer": arithmetic_of(producer), "consumer": arithmetic_of(consumer)}
    return {
        "producer_iterations": before,
        "consumer_iterations": after,
        "computed": after / before if before else 0.0,
        "bytes": read.bytes if 0 not in read.shape else 0,
        "is_dynamic": 0 in read.shape,
        "rank": len(read.shape),
        "element_bits": read.bits,
        "element_is_float": read.is_float,
        "operand": number,
        "is_transposed": read.loops != written.loops or len(consumer.loops) != len(producer.loops),
        "producer_inputs": producer.inputs,
        "consumer_inputs": consumer.inputs,
        **{f"{who}_arithmetic": count for who, count in arithmetic.items()},
        "producer_math": _math(producer),
        "consumer_math": _math(consumer),
        "producer_flops": before * arithmetic["producer"],
        "consumer_flops": after * arithmetic["consumer"],
        "reductions": sum(loop.is_reduction for loop in consumer.loops),
        "is_contraction": consumer.is_contraction,
        "consumer_loops": len(consumer.loops),
        "loop_depth": depth_of(consumer.operation),
    }


def read_output(producer: Structured, consumer: Structured, number: int) -> Operand:
    """The output of the producer that is operand `number` of the consumer."""
    result: int = bindings().ir.OpResult(consumer.operation.operands[number]).result_number
    return producer.operands[producer.inputs + result]


def _math(op: Structured) -> int:
    return sum(count for name, count in op.body.items() if name.startswith("math."))
