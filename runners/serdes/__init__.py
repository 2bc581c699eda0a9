# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`SerDes`: converts tensors to bytes and back, by specs that both ends know; one module per format.

serdes = make_serdes("json", specs)
serdes.bind(tensors, frame)         once, like a runner
serdes.encode() -> data             read the tensors
serdes.decode(data)                 write the tensors
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Final, NoReturn

from passpilot.features.spec import TensorSpec, layout, shortened
from passpilot.plugin.errors import PeerError, RunnerSpecError
from passpilot.plugin.extras import needs
from passpilot.runners.base import Frame, Tensor, tensor_views

FORMATS: Final = {
    "bitstream": "passpilot.runners.serdes.bitstream:Bitstream",
    "json": "passpilot.runners.serdes.json:Json",
    "protobuf": "passpilot.runners.serdes.protobuf:Protobuf",
}
"""The place of each format, which is imported on use."""


class TensorRow:
    """One bound tensor: the facts of its spec that every message needs, and `pack` to write its values."""

    __slots__ = ("is_float", "name", "pack", "size", "spec", "tensor")

    def __init__(self, spec: TensorSpec, tensor: Tensor, frame: memoryview, offset: int) -> None:
        self.spec = spec
        self.name = spec.name
        self.size = spec.size
        self.is_float = spec.dtype.startswith("float")
        self.tensor = tensor
        self.pack = partial(struct.Struct(f"={spec.size}{spec.struct_code}").pack_into, frame, offset)


class SerDes(ABC):
    """Encodes and decodes the tensors `specs`, a subset of `table` (default: `specs`), in one format."""

    name: str

    def __init__(self, specs: Sequence[TensorSpec], table: Sequence[TensorSpec] = ()) -> None:
        self.specs = tuple(specs)
        self.table = tuple(table or specs)

    def bind(self, tensors: Mapping[str, Tensor], frame: Frame) -> None:
        """Take the buffers: the tensors by name, placed in `frame` by `layout(specs)`."""
        offsets, _ = layout(self.specs)
        self.rows = [
            TensorRow(spec, tensors[spec.name], frame.data, offset)
            for spec, offset in zip(self.specs, offsets, strict=True)
        ]

    @abstractmethod
    def encode(self) -> bytes | memoryview:
        """Encode the tensors' values; a memoryview is valid until the next call."""

    @abstractmethod
    def decode(self, data: bytes) -> None:
        """Write the values in `data` to the tensors.

        Raises:
            PeerError: `data` has another form than `encode` gives; some tensors may have been written.
        """

    def store(self, row: TensorRow, values: Sequence[int | float]) -> None:
        """Write `values`, of the tensor's kind (integers or floats), to a tensor.

        Raises:
            PeerError: their number is wrong, or a value does not fit the tensor's type.
        """
        if len(values) != row.size:
            self.refuse(f"{row.size} values", f"{len(values)}", row.spec)
        try:
            row.pack(*values)
        except (struct.error, OverflowError):
            self.refuse(f"values that fit {row.spec.dtype}", list(values), row.spec)

    def refuse(self, expected: str, got: object, spec: TensorSpec | None = None) -> NoReturn:
        """Raise the error for unexpected data; `spec` names the tensor, if it is about one."""
        text = shortened(got if isinstance(got, str) else repr(got), 60)
        where = f"{self.name} at {spec.name!r} ({spec})" if spec else self.name
        raise PeerError(f"{where}: expected {expected}, got {text}")


def make_serdes(name: str, specs: Sequence[TensorSpec], table: Sequence[TensorSpec] = ()) -> SerDes:
    """Make the format `name` for the tensors `specs`; `table` is all that the decision point offers.

    Raises:
        RunnerSpecError: the format is unknown, or cannot name these tensors.
        InputError: the format needs packages that are not installed.
    """
    check_format(name)
    module, _, kind = FORMATS[name].partition(":")
    with needs("grpc", f"serdes {name}"):
        make: Callable[..., SerDes] = getattr(import_module(module), kind)
    return make(specs, table)


def advice_serdes(name: str, advice: TensorSpec) -> tuple[SerDes, Tensor]:
    """Make the format `name` for an advice; return it and the buffer (one element) that it is bound to."""
    import numpy as np

    serdes = make_serdes(name, (advice,))
    frame = np.zeros(layout((advice,))[1], np.uint8)
    tensors = tensor_views((advice,), frame)
    serdes.bind(tensors, frame)
    return serdes, tensors[advice.name]


def check_format(name: str, known: Sequence[str] = tuple(FORMATS)) -> None:
    """Check that `name` is a format among `known`.

    Raises:
        RunnerSpecError: it is not.
    """
    if name not in known:
        raise RunnerSpecError(f"serdes: expected one of {', '.join(known)}, got {name!r}")
