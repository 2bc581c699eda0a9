# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`TensorSpec`: the name, scalar type and shape of one tensor that a model reads or answers.

Wire formats: our own texts write a spec as ``int64[1]`` or ``float32[1,33]``; the JSON of log headers and
handshakes writes it as LLVM does: ``{"name": "callee_users", "type": "int64_t", "port": 0, "shape": [1]}``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot.plugin.errors import FeatureError

if TYPE_CHECKING:
    import numpy as np

ALIGNMENT: Final = 8
MAX_BYTES: Final = 1 << 30
"""The limit for one tensor and for a whole table, so that a malformed header cannot exhaust the memory."""

_MOST_DIMENSIONS: Final = 32
"""The most dimensions that every version of numpy supports."""


class _Scalar(NamedTuple):
    llvm: str
    bytes: int
    code: str


# In the order of LLVM's TensorType, which numbers them from 1.
_SCALARS: Final = {
    "float32": _Scalar("float", 4, "f"),
    "float64": _Scalar("double", 8, "d"),
    "int8": _Scalar("int8_t", 1, "b"),
    "uint8": _Scalar("uint8_t", 1, "B"),
    "int16": _Scalar("int16_t", 2, "h"),
    "uint16": _Scalar("uint16_t", 2, "H"),
    "int32": _Scalar("int32_t", 4, "i"),
    "uint32": _Scalar("uint32_t", 4, "I"),
    "int64": _Scalar("int64_t", 8, "q"),
    "uint64": _Scalar("uint64_t", 8, "Q"),
}
DTYPES: Final = tuple(_SCALARS)
_BY_LLVM_NAME: Final = {scalar.llvm: dtype for dtype, scalar in _SCALARS.items()}
_TEXT: Final = re.compile(r"\s*(\w+)\s*\[\s*(\d{1,18}(?:\s*,\s*\d{1,18})*)?\s*\]\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """The name, scalar type and row-major shape of a tensor; `port` is LLVM's output index, 0 elsewhere.

    Raises:
        FeatureError: the name is empty, the type unknown, or a dimension of the shape not a positive integer.
    """

    name: str
    """The name, by which policies, models and logs find the tensor."""
    dtype: str
    """The scalar type by numpy's name, such as ``int64``."""
    shape: tuple[int, ...]
    """The dimensions."""
    port: int = 0
    """LLVM's output index; 0 elsewhere."""

    def __post_init__(self) -> None:
        if not self.name:
            raise _refused(None, "a name", "an empty one")
        if self.dtype not in _SCALARS:
            raise _refused(self.name, f"a type among {', '.join(DTYPES)}", repr(self.dtype))
        if not all(type(n) is int and n > 0 for n in self.shape):
            raise _refused(self.name, "a shape of positive integers", repr(self.shape))
        if len(self.shape) > _MOST_DIMENSIONS:
            raise _refused(self.name, f"at most {_MOST_DIMENSIONS} dimensions", str(len(self.shape)))
        if self.nbytes > MAX_BYTES:
            raise _refused(self.name, f"at most {MAX_BYTES} bytes", f"more for {self}")

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The size of the values in bytes."""
        return self.size * _SCALARS[self.dtype].bytes

    @property
    def struct_code(self) -> str:
        """The format character of the scalar type in Python's `struct` module."""
        return _SCALARS[self.dtype].code

    @property
    def type_index(self) -> int:
        """The number of the scalar type in LLVM's ``TensorType``: float is 1, uint64_t is 10."""
        return DTYPES.index(self.dtype) + 1

    @property
    def numpy_dtype(self) -> np.dtype[np.generic]:
        """The scalar type as a numpy dtype; numpy is imported here to keep start-up light."""
        import numpy as np

        return np.dtype(self.dtype)

    @classmethod
    def parse(cls, text: str, name: str) -> TensorSpec:
        """The spec of the tensor `name` that `text` describes, such as ``int64[1]`` or ``float32[1,33]``.

        Raises:
            FeatureError: the text does not have this form.
        """
        match = _TEXT.fullmatch(text)
        if match is None:
            raise _refused(name, "a spec such as 'int64[1]' or 'float32[1,33]'", repr(text))
        dtype, shape = match.groups()
        return cls(name, dtype, tuple(int(n) for n in shape.split(",")) if shape else ())

    def to_json(self) -> dict[str, str | int | list[int]]:
        """The spec as LLVM writes it in JSON."""
        llvm = _SCALARS[self.dtype].llvm
        return {"name": self.name, "type": llvm, "port": self.port, "shape": list(self.shape)}

    @classmethod
    def from_json(cls, row: object) -> TensorSpec:
        """The spec that one of LLVM's JSON objects describes; a missing port is 0.

        Raises:
            FeatureError: a key is missing or has the wrong type.
        """
        if not isinstance(row, dict):
            raise _refused(None, "a JSON object with name, type and shape", repr(row))
        name, llvm, shape, port = (row.get(key) for key in ("name", "type", "shape", "port"))
        if not isinstance(name, str):
            raise _refused(None, "a name", repr(name))
        if not isinstance(llvm, str) or llvm not in _BY_LLVM_NAME:
            raise _refused(name, f"a type among {', '.join(_BY_LLVM_NAME)}", repr(llvm))
        if not isinstance(shape, list):
            raise _refused(name, "a shape of positive integers", repr(shape))
        if port is not None and type(port) is not int:
            raise _refused(name, "an integer port", repr(port))
        return cls(name, _BY_LLVM_NAME[llvm], tuple(shape), port or 0)


def layout(specs: Iterable[TensorSpec]) -> tuple[tuple[int, ...], int]:
    """The offset of each tensor in one contiguous block, and the size of the block, in bytes.

    Every offset and the size are multiples of 8. The core's buffers and the frames of a pipe have this
    layout; the records of a log are packed instead.
    """
    offsets = []
    total = 0
    for spec in specs:
        offsets.append(total)
        total += -(-spec.nbytes // ALIGNMENT) * ALIGNMENT
    return tuple(offsets), total


def packed_runs(
    specs: Iterable[TensorSpec], offsets: Iterable[int] | None = None
) -> tuple[tuple[int, int, int], ...]:
    """The copies that turn a packed block, in which tensors follow without gaps, into an aligned block.

    `offsets` are the tensors' places there, by default those of `layout`. A run is (offset in the packed
    block, offset in the aligned block, bytes); it ends where the aligned block has a gap. The 38 features of
    `inline` are one run.
    """
    specs = tuple(specs)
    runs: list[tuple[int, int, int]] = []
    packed = 0
    for spec, offset in zip(specs, layout(specs)[0] if offsets is None else offsets, strict=True):
        if runs and sum(runs[-1][1:]) == offset:
            runs[-1] = (*runs[-1][:2], runs[-1][2] + spec.nbytes)
        else:
            runs.append((packed, offset, spec.nbytes))
        packed += spec.nbytes
    return tuple(runs)


def parse_table(rows: Iterable[object]) -> tuple[TensorSpec, ...]:
    """The specs that the JSON objects of one header or handshake describe.

    Raises:
        FeatureError: a spec is malformed, two share a name, or their total size is over `MAX_BYTES`.
    """
    specs = tuple(by_name(map(TensorSpec.from_json, rows)).values())
    if (total := layout(specs)[1]) > MAX_BYTES:
        raise FeatureError(f"header: expected tensors of at most {MAX_BYTES} bytes, got {total}")
    return specs


def by_name(specs: Iterable[TensorSpec]) -> Mapping[str, TensorSpec]:
    """The specs by name, in the same order.

    Raises:
        FeatureError: two of them share a name.
    """
    found: dict[str, TensorSpec] = {}
    for spec in specs:
        if spec.name in found:
            raise _refused(spec.name, "one tensor of this name", f"{found[spec.name]} and {spec}")
        found[spec.name] = spec
    return found


def _refused(name: str | None, expected: str, got: str) -> FeatureError:
    who = "tensor" if name is None else f"tensor {name!r}"
    return FeatureError(f"{who}: expected {expected}, got {shortened(got, 120)}")


def shortened(text: str, most: int = 80) -> str:
    """At most this many characters of a text, for messages."""
    return text if len(text) <= most else f"{text[:most]}..."
