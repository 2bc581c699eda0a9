# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees of a buffer in MLIR that may be on the stack instead of the heap."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Final

from passpilot.features.domain import Flag
from passpilot.features.mlir.tile import depth_of
from passpilot.features.point import row
from passpilot.features.spec import TensorSpec
from passpilot.features.table import PointTable

FEATURES: Final = (
    row("bytes", "size of the buffer; 0 if it is known at run time only"),
    row("rank", "dimensions of the buffer"),
    row("element_bits", "bits of an element"),
    row("uses", "uses of the buffer"),
    row("loads", "uses by memref.load or affine.load"),
    row("stores", "uses by memref.store or affine.store"),
    row("loop_depth", "loops of scf and affine around the allocation"),
    row("is_small", "1 if MLIR's promote-buffers-to-stack takes it by default"),
    row("buffers", "buffers of the function that may be on the stack"),
    row("bytes_before", "bytes of the function's buffers that are on the stack by earlier decisions"),
)

TABLE: Final = PointTable("mlir-stack", FEATURES, TensorSpec("on_stack", "int64", (1,)), Flag())
"""The answer is 1 for the stack, 0 for the heap."""


def observe(allocation: Any) -> Mapping[str, int]:
    """The feature values that are those of the allocation alone."""
    kind = allocation.results[0].type
    users = [use.owner.name for use in allocation.results[0].uses]
    return {
        "bytes": bytes_of(allocation),
        "rank": kind.rank,
        "element_bits": _bits(kind.element_type),
        "uses": len(users),
        "loads": sum(name.endswith(".load") for name in users),
        "stores": sum(name.endswith(".store") for name in users),
        "loop_depth": depth_of(allocation),
    }


def bytes_of(allocation: Any) -> int:
    """The size of a buffer; 0 if it is known at run time only."""
    kind = allocation.results[0].type
    return prod(kind.shape) * _bits(kind.element_type) // 8 if kind.has_static_shape else 0


def _bits(element: Any) -> int:
    """... of a number, an index, a vector, or a complex number, which has two parts."""
    if hasattr(element, "element_type"):
        return prod(getattr(element, "shape", (2,))) * _bits(element.element_type)
    return getattr(element, "width", 64)
