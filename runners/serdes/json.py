# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One flat JSON object: the name of each tensor, and its value, or the list of its values in row-major order.

Integers are exact up to 64 bits; a reader that makes doubles of them loses those beyond 2^53. What JSON has
no number for is one of the texts "NaN", "Infinity" and "-Infinity", as in the JSON form of Protocol Buffers.
A tensor of one element is a value, and is also taken as a list of one. Bare NaN, numbers too large for their
type, fractions and booleans for integers, names that are missing, unknown or given twice are refused.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import numpy as np

from passpilot.runners.serdes import SerDes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from passpilot.features.spec import TensorSpec
    from passpilot.runners.base import Tensor

_SPECIAL: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class Json(SerDes):
    """A flat JSON object, with neither spaces nor newlines."""

    name = "json"

    def bind(self, tensors: Mapping[str, Tensor], frame: NDArray[np.uint8]) -> None:  # noqa: ARG002
        self._tensors = {spec.name: (spec, tensors[spec.name]) for spec in self.specs}

    def encode(self) -> bytes:
        row = {
            name: tensor.item() if spec.size == 1 else tensor.ravel().tolist()
            for name, (spec, tensor) in self._tensors.items()
        }
        try:
            text = _ENCODE(row)
        except ValueError:
            text = _ENCODE({name: _speakable(value) for name, value in row.items()})
        return text.encode()

    def decode(self, data: bytes) -> None:
        row = self.read_object(data)
        if row.keys() != self._tensors.keys():
            self._refuse_names(row.keys())
        for name, (spec, tensor) in self._tensors.items():
            value = row[name]
            values = value if isinstance(value, list) else [value]
            if len(values) != spec.size:
                self.refuse(f"{spec.size} values", f"{len(values)}", spec)
            read = self._floats if tensor.dtype.kind == "f" else self._integers
            tensor.reshape(-1)[...] = read(spec, values)

    def read_object(self, data: bytes) -> dict[str, object]:
        """The object that `data` are.

        Raises:
            PeerError: they are none, or have a name twice.
        """
        try:
            row = _DECODER.decode(data.decode())
        except (ValueError, RecursionError) as error:
            self.refuse("a JSON object", f"{data[:40]!r} ({error})")
        if not isinstance(row, dict):
            self.refuse("a JSON object", row)
        return row

    def _integers(self, spec: TensorSpec, values: list[object]) -> Tensor:
        if set(map(type, values)) != {int}:
            self.refuse("integers", values, spec)
        try:
            return np.array(values, spec.dtype)
        except OverflowError:
            self.refuse(f"integers that fit {spec.dtype}", values, spec)

    def _floats(self, spec: TensorSpec, values: list[object]) -> Tensor:
        kinds = set(map(type, values))
        special = 0
        if str in kinds and kinds <= {int, float, str}:
            special = sum(isinstance(value, str) for value in values)
            values = [_SPECIAL.get(value, value) if isinstance(value, str) else value for value in values]
            kinds = set(map(type, values))
        if not kinds <= {int, float}:
            self.refuse(f"numbers or {', '.join(map(repr, _SPECIAL))}", values, spec)
        try:
            with np.errstate(over="ignore"):
                made = np.array(values, np.float64).astype(spec.dtype)
        except OverflowError:
            self.refuse(f"numbers that fit {spec.dtype}", values, spec)
        if made.size - np.count_nonzero(np.isfinite(made)) != special:
            self.refuse(f"numbers that fit {spec.dtype}", values, spec)
        return made

    def _refuse_names(self, got: Iterable[str]) -> None:
        missing = [name for name in self._tensors if name not in got]
        unknown = [name for name in got if name not in self._tensors]
        wrong = ([f"no {missing[0]!r}"] if missing else []) + ([repr(unknown[0])] if unknown else [])
        self.refuse(f"the {len(self._tensors)} tensors of the handshake", " and ".join(wrong))


def _speakable(value: object) -> object:
    if isinstance(value, list):
        return [_speakable(each) for each in value]
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
