# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the .proto file of a decision point, from which peers generate their code.

Wire format: every tensor is a packed repeated field with the tensor's name; the field number is its position
in the point's table, from 1. Integers of 8 and 16 bits travel as 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from passpilot.features.point import Point
from passpilot.features.spec import TensorSpec

PACKAGE: Final = "passpilot"
TYPES: Final = {
    "float32": "float",
    "float64": "double",
    **{f"{sign}int{bits}": f"{sign}int{max(bits, 32)}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


def message_stem(point: Point) -> str:
    """The prefix of the point's message and service names, such as `Inline` in `InlineObservation`."""
    return "".join(part.capitalize() for part in point.name.split("-"))


def proto_text(point: Point) -> str:
    """The .proto file of a decision point: observation, advice, and the service that answers."""
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
