# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls a compiled model only through its C interface: `passpilot_model.h` in ctypes."""

from __future__ import annotations

import ctypes
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from hypothesis import HealthCheck, settings
from onnx import helper

from passpilot.runners.aot.build import Processor, compile_graph, link, object_of
from passpilot.runners.aot.graph import Choices, read_graph

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.generic]

Evaluate = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class CTensor(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_uint32),
        ("type", ctypes.c_uint32),
        ("offset", ctypes.c_uint64),
        ("columns", ctypes.c_char_p),
    )


class CModel(ctypes.Structure):
    _fields_ = (
        ("abi", ctypes.c_uint32),
        ("input_count", ctypes.c_uint32),
        ("output_count", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("inputs", ctypes.POINTER(CTensor)),
        ("outputs", ctypes.POINTER(CTensor)),
        ("output_size", ctypes.c_uint64),
        ("hash", ctypes.c_char_p),
        ("triple", ctypes.c_char_p),
        ("cpu", ctypes.c_char_p),
        ("features", ctypes.c_char_p),
        ("create", ctypes.CFUNCTYPE(ctypes.c_void_p)),
        ("evaluate", Evaluate),
        ("switch_context", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)),
        ("destroy", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    )


class Spec:
    """Name, dtype, shape and place of one tensor, read from the library."""

    def __init__(self, tensor: CTensor) -> None:
        self.name = tensor.name.decode()
        self.shape = tuple(tensor.shape[: tensor.rank])
        self.dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.type))
        self.offset = int(tensor.offset)
        self.columns = tensor.columns.decode()


class Library:
    """A compiled model in this process; one context."""

    def __init__(self, path: Path) -> None:
        fresh = path.with_name(f"{path.name}.{len(list(path.parent.iterdir()))}")
        fresh.hardlink_to(path)  # the loader caches libraries by name
        self._library = ctypes.CDLL(str(fresh))
        self.c = CModel.in_dll(self._library, "passpilot_policy")
        self.inputs = [Spec(self.c.inputs[at]) for at in range(self.c.input_count)]
        self.outputs = [Spec(self.c.outputs[at]) for at in range(self.c.output_count)]
        self.context = self.c.create()
        assert self.context

    def close(self) -> None:
        self.c.destroy(self.context)

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs by name."""
        status, made = self.status(feeds)
        assert status == 0
        return made

    def status(self, feeds: Mapping[str, Array]) -> tuple[int, dict[str, Array]]:
        """Call evaluate; its result and the outputs. The inputs must stay unchanged."""
        arrays = [np.ascontiguousarray(feeds[spec.name], spec.dtype) for spec in self.inputs]
        for array, spec in zip(arrays, self.inputs, strict=True):
            assert array.size == prod(spec.shape)
        before = [array.copy() for array in arrays]
        pointers = (ctypes.c_void_p * max(1, len(arrays)))(*(array.ctypes.data for array in arrays))
        block = np.full(self.c.output_size + 8, 0xA5, np.uint8)
        status = self.c.evaluate(self.context, pointers, block.ctypes.data)
        assert (block[self.c.output_size :] == 0xA5).all(), "nothing is written behind the block"
        for array, old in zip(arrays, before, strict=True):
            assert array.tobytes() == old.tobytes(), "inputs are only read"
        return status, {
            spec.name: block[spec.offset : spec.offset + prod(spec.shape) * spec.dtype.itemsize]
            .view(spec.dtype)
            .reshape(spec.shape)
            for spec in self.outputs
        }


def library(
    model: onnx.ModelProto, folder: Path, *, mcpu: str = "native", outputs: Sequence[str] = ()
) -> Library:
    """Compile and load a model."""
    source, target = folder / "model.onnx", folder / f"model-{len(list(folder.iterdir()))}.so"
    source.write_bytes(model.SerializeToString())
    processor = Processor.find(mcpu)
    graph = read_graph(str(source), Choices(outputs))
    target.write_bytes(link(object_of(compile_graph(graph, processor), processor)))
    return Library(target)


def examples(count: int) -> settings:
    """Random examples, the same in every run."""
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
