# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A decision point in Protocol Buffers' language, for peers that generate their end from it.

Every tensor is a packed repeated field that has its name and, as its number, its position in the table of the
point, from 1. Integers of 8 and 16 bits travel as 32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from passpilot.features.point import Point
    from passpilot.features.spec import TensorSpec

PACKAGE: Final = "passpilot"
TYPES: Final = {
    "float32": "float",
    "float64": "double",
    "int8": "int32",
    "uint8": "uint32",
    "int16": "int32",
    "uint16": "uint32",
    "int32": "int32",
    "uint32": "uint32",
    "int64": "int64",
    "uint64": "uint64",
}
"""The type of a field by the scalar type of its tensor."""


def message_stem(point: Point) -> str:
    """What the names of the point's messages and service begin with: `Inline` of InlineObservation."""
    return "".join(part.capitalize() for part in point.name.split("-"))


def proto_text(point: Point) -> str:
    """The .proto file of a decision point: its observation, its advice, and the service that gives it."""
    stem = message_stem(point)
    return "\n".join(
        (
            'syntax = "proto3";',
            f"package {PACKAGE};",
            "",
            f"service {stem}Advisor {{",
            f"  rpc getAdvice({stem}Observation) returns ({stem}Advice);",
            "}",
            "",
            f"message {stem}Observation {{",
            *_fields(point.features),
            "}",
            "",
            f"message {stem}Advice {{",
            *_fields((point.advice,)),
            "}",
        )
    )


def _fields(specs: Iterable[TensorSpec]) -> list[str]:
    return [
        f"  repeated {TYPES[spec.dtype]} {spec.name} = {number};  // {spec}"
        for number, spec in enumerate(specs, 1)
    ]
