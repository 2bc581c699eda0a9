# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The raw tensors in the machine's byte order: a frame, or packed without a frame's gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from passpilot.features.spec import TensorSpec, layout, packed_runs
from passpilot.runners.base import Frame, Tensor
from passpilot.runners.serdes import SerDes


class Bitstream(SerDes):
    """The tensors one after the other, at multiples of 8 bytes as in a frame, or `packed`."""

    name = "bitstream"

    def __init__(
        self, specs: Sequence[TensorSpec], table: Sequence[TensorSpec] = (), *, packed: bool = False
    ) -> None:
        super().__init__(specs, table)
        size = layout(specs)[1]
        runs = packed_runs(specs) if packed else ((0, 0, size),)
        self._places = [(slice(at, at + n), slice(to, to + n)) for at, to, n in runs]
        self.data = bytearray(sum(n for _, _, n in runs))
        """The buffer that `encode` fills and returns."""
        self._view = memoryview(self.data)

    def bind(self, tensors: Mapping[str, Tensor], frame: Frame) -> None:  # noqa: ARG002
        self._frame = frame.data.cast("B")

    def encode(self) -> memoryview:
        view, frame = self._view, self._frame
        for in_data, in_frame in self._places:
            view[in_data] = frame[in_frame]
        return view

    def decode(self, data: bytes) -> None:
        if len(data) != len(self.data):
            self.refuse(f"{len(self.data)} bytes", f"{len(data)} bytes")
        received, frame = memoryview(data), self._frame
        for in_data, in_frame in self._places:
            frame[in_frame] = received[in_data]
