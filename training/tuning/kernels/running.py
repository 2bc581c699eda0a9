# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the machine code of a kernel in this process, which a crash may end, and takes its time.

A kernel is called through the C interface that MLIR gives to functions: pointers to descriptors of memrefs.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from passpilot.plugin.errors import CompilationError
from passpilot.training.tuning.kernels.kernel import Argument, Kernel

FEWEST: Final = 3
"""Timed runs of a kernel that is not slow; the run that is checked comes before them, and warms up."""
MOST_SECONDS: Final = 0.1
"""After this time no further run is timed."""
TOLERANCE: Final = 1000
"""The units in the last place of the largest output by which outputs may differ: sums have another order."""

Array = NDArray[Any]


@cache
def _descriptor(rank: int) -> type[ctypes.Structure]:
    sizes = ctypes.c_int64 * rank
    fields = [("base", ctypes.c_void_p), ("data", ctypes.c_void_p), ("offset", ctypes.c_int64)]
    more = [("sizes", sizes), ("strides", sizes)] if rank else []
    return type(f"MemRef{rank}", (ctypes.Structure,), {"_fields_": [*fields, *more]})


def _described(array: Array) -> ctypes.Structure:
    kind, size = _descriptor(array.ndim), array.itemsize
    address = array.ctypes.data
    if not array.ndim:
        return kind(address, address, 0)
    sizes = ctypes.c_int64 * array.ndim
    return kind(
        address, address, 0, sizes(*array.shape), sizes(*(stride // size for stride in array.strides))
    )


def make_arguments(kernel: Kernel) -> list[Any]:
    """Arguments that are the same in every run: numbers in [-1, 1), or small integers."""
    random = np.random.default_rng(0)
    values: list[Any] = []
    for argument in kernel.arguments:
        kind = np.dtype(argument.element)
        shape = argument.shape if argument.shape is not None else ()
        draw = partial(random.uniform, -1, 1) if kind.kind == "f" else partial(random.integers, -8, 8)
        array: Array = np.asarray(draw(size=shape)).astype(kind)
        values.append(kind.type(array) if argument.shape is None else _aligned(array))
    return values


def _aligned(array: Array) -> Array:
    """A copy that begins at a cache line."""
    space = np.empty(array.nbytes + 64, np.uint8)
    first = -space.ctypes.data % 64
    copy = space[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


@dataclass(slots=True)
class LoadedKernel:
    """The machine code of a kernel, with arguments to run it."""

    call: Callable[..., None]
    kernel: Kernel
    values: list[Any]

    @classmethod
    def load(cls, path: str, kernel: Kernel) -> LoadedKernel:
        """The kernel in a shared library."""
        try:
            call = ctypes.CDLL(path)[f"_mlir_ciface_{kernel.function}"]
        except (OSError, AttributeError) as error:
            raise CompilationError(
                f"tune: {kernel.name}: expected code that can be loaded, got: {error}"
            ) from error
        call.restype = None
        return cls(call, kernel, make_arguments(kernel))

    def outputs(self) -> list[Array]:
        """Run once; the results, or for a function without results all its memrefs."""
        run, made = self._prepared()
        run()
        if self.kernel.results:
            outputs = [_copied(each, result) for each, result in zip(made, self.kernel.results, strict=True)]
            self._free(made)
            return outputs
        return [value.copy() for value in self.values if isinstance(value, np.ndarray)]

    def timer(self, threads: int = 1) -> Callable[[], float]:
        """A function that runs the kernel once, and returns the seconds: of one thread, processor time."""
        run, made = self._prepared()
        clock = time.process_time_ns if threads == 1 else time.perf_counter_ns

        def timed() -> float:
            began = clock()
            run()
            ended = clock()
            self._free(made)
            return (ended - began) / 1e9

        return timed

    def _prepared(self) -> tuple[Callable[[], None], Sequence[Any]]:
        """What calls the kernel, and the descriptors of the results."""
        descriptors = [
            _described(value) if isinstance(value, np.ndarray) else np.ctypeslib.as_ctypes(np.asarray(value))
            for value in self.values
        ]
        arguments = [
            ctypes.byref(each) if isinstance(value, np.ndarray) else each
            for each, value in zip(descriptors, self.values, strict=True)
        ]
        kinds = [_descriptor(len(result.shape or ())) for result in self.kernel.results]
        fields = [(f"result{number}", kind) for number, kind in enumerate(kinds)]
        results = type("Results", (ctypes.Structure,), {"_fields_": fields})()
        if kinds:
            arguments.insert(0, ctypes.byref(results))
        made = [getattr(results, name) for name, _ in fields]
        held = descriptors  # byref does not keep them alive

        def run() -> None:
            self.call(*arguments)
            _ = held

        return run, made

    def _free(self, made: Sequence[Any]) -> None:
        """Free the buffers of results, unless they are those of arguments."""
        arguments = {value.ctypes.data for value in self.values if isinstance(value, np.ndarray)}
        for address in {each.base for each in made} - arguments - {None}:
            _libc().free(ctypes.c_void_p(address))


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _copied(made: Any, result: Argument) -> Array:
    """A copy of a result."""
    kind, shape = np.dtype(result.element), result.shape or ()
    data = ctypes.string_at(made.data + made.offset * kind.itemsize, prod(shape) * kind.itemsize)
    return np.frombuffer(data, kind).reshape(shape)


def check_outputs(kernel: Kernel, got: Sequence[Array], expected: Sequence[Array]) -> None:
    """Compare outputs with those of the untransformed kernel.

    Raises:
        CompilationError: they differ by more than the order of sums explains.
    """
    for number, (own, other) in enumerate(zip(got, expected, strict=True)):
        if own.dtype.kind != "f":
            same = np.array_equal(own, other)
        else:
            finite = np.isfinite(other)
            most = float(np.abs(other[finite]).max(initial=0.0))
            error = TOLERANCE * float(np.finfo(own.dtype).eps) * max(most, 1e-30)
            same = bool(np.allclose(own, other, rtol=0.0, atol=error, equal_nan=True))
        if not same:
            raise CompilationError(
                f"tune: {kernel.name}: expected the outputs of the kernel, got others in output {number}"
            )


def least_seconds(timers: Sequence[Callable[[], float]], seconds: float = MOST_SECONDS) -> list[float]:
    """The least time of every kernel; they run in turns for about `seconds` per kernel."""
    least = [float("inf")] * len(timers)
    began, rounds, passed = time.monotonic(), 0, 0.0
    while passed < seconds * len(timers) or (rounds < FEWEST and passed < 4 * seconds * len(timers)):
        for number, timer in enumerate(timers):
            least[number] = min(least[number], timer())
        rounds, passed = rounds + 1, time.monotonic() - began
    return least
