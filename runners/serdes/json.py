# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One flat JSON object: tensor names to values, or to lists of values in row-major order.

Integers are exact up to 64 bits; a reader that parses them as doubles loses precision beyond 2^53. Other
numbers that JSON lacks are the strings "NaN", "Infinity" and "-Infinity", as in the JSON form of Protocol
Buffers. A tensor of one element is written as a value; `decode` also takes a list of one. `decode` refuses
bare NaN, numbers too large for their type, fractions and booleans for integers, and missing, unknown or
repeated names.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import isfinite
from typing import Final, cast

from passpilot.features.spec import TensorSpec
from passpilot.runners.serdes import SerDes

_SPECIAL: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class Json(SerDes):
    """A flat JSON object without spaces and newlines."""

    name = "json"

    def encode(self) -> bytes:
        values = {
            row.name: row.tensor.item() if row.size == 1 else row.tensor.ravel().tolist() for row in self.rows
        }
        try:
            text = _ENCODE(values)
        except ValueError:
            text = _ENCODE({name: _with_texts(value) for name, value in values.items()})
        return text.encode()

    def decode(self, data: bytes) -> None:
        fields = self.read_object(data)
        if len(fields) != len(self.rows) or any(row.name not in fields for row in self.rows):
            self._refuse_names(fields)
        for row in self.rows:
            value = fields[row.name]
            values = value if isinstance(value, list) else [value]
            numbers = self._floats if row.is_float else self._integers
            self.store(row, numbers(row.spec, values))

    def read_object(self, data: bytes) -> dict[str, object]:
        """Parse `data` as an object.

        Raises:
            PeerError: they are not an object, or repeat a name.
        """
        try:
            row = _DECODER.decode(data.decode())
        except (ValueError, RecursionError) as error:
            self.refuse("a JSON object", f"{data[:40]!r} ({error})")
        if not isinstance(row, dict):
            self.refuse("a JSON object", row)
        return row

    def _integers(self, spec: TensorSpec, values: list[object]) -> list[int]:
        if not set(map(type, values)) <= {int}:
            self.refuse("integers", values, spec)
        return cast("list[int]", values)

    def _floats(self, spec: TensorSpec, values: list[object]) -> list[float]:
        kinds, numbers = set(map(type, values)), values
        if str in kinds:
            numbers = [value for value in values if not (isinstance(value, str) and value in _SPECIAL)]
            values = [_SPECIAL.get(value, value) if isinstance(value, str) else value for value in values]
            kinds = set(map(type, numbers))
        if not kinds <= {int, float}:
            self.refuse(f"numbers or {', '.join(map(repr, _SPECIAL))}", numbers, spec)
        if not _are_finite(cast("list[float]", numbers)):
            self.refuse(f"values that fit {spec.dtype}", numbers, spec)
        return cast("list[float]", values)

    def _refuse_names(self, got: Iterable[str]) -> None:
        names = [row.name for row in self.rows]
        missing = [name for name in names if name not in got]
        unknown = [name for name in got if name not in names]
        wrong = ([f"no {missing[0]!r}"] if missing else []) + ([repr(unknown[0])] if unknown else [])
        self.refuse(f"the {len(names)} tensors of the handshake", " and ".join(wrong))


def _are_finite(numbers: list[float]) -> bool:
    try:
        return all(map(isfinite, numbers))
    except OverflowError:  # an integer that is too large for a float
        return False


def _with_texts(value: object) -> object:
    if isinstance(value, list):
        return [_with_texts(item) for item in value]
    if isinstance(value, float) and value - value != 0.0:
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value


def _bare(text: str) -> object:
    raise ValueError(f"bare {text}")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    row = dict(pairs)
    if len(row) != len(pairs):
        raise ValueError("a name twice")
    return row


_ENCODE: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":"), check_circular=False).encode
_DECODER: Final = json.JSONDecoder(parse_constant=_bare, object_pairs_hook=_once)
