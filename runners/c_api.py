# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python side of the C API: makes and asks the runners that are not native.

The C library calls these functions through the struct of plugin/native/c/python_runner.h, as
`passpilot.plugin.embedded` describes. It describes a decision point in lines of text: the name, the domain,
then "SPEC NAME" for the advice, the default and every feature.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from ctypes import CFUNCTYPE, c_bool, c_double, c_int64, c_size_t, c_void_p
from functools import partial
from typing import Final

import numpy as np

from passpilot.features.domain import Choice, Domain, Flag, Number
from passpilot.features.point import Point
from passpilot.features.spec import TensorSpec, layout
from passpilot.plugin.embedded import TEXT, Function, Tell, Teller, end, fill, load, told_warnings, trace
from passpilot.plugin.errors import AdviceError, PolicyError
from passpilot.plugin.failures import describe_failure
from passpilot.runners.base import Runner, Tensor, tensor_views
from passpilot.runners.remote.peer import make_runner_or_absent

RELEASE: Final = CFUNCTYPE(None, c_void_p)


class _Memory:
    """The C library's memory as a numpy array; released with its last view."""

    def __init__(self, address: int, size: int, kept: int, release: int) -> None:
        self.__array_interface__ = {
            "data": (address, False),
            "shape": (size,),
            "typestr": "|u1",
            "version": 3,
        }
        self._kept = kept
        self._release = RELEASE(release)

    def __del__(self) -> None:
        self._release(self._kept)


class ForeignHost:
    """The host for a compiler other than LLVM and MLIR: knows its default decision and its features."""

    def __init__(self, point: Point, tensors: Mapping[str, Tensor], default: c_int64 | c_double) -> None:
        self._point = point
        self._tensors = tensors
        self._default = default

    @property
    def site(self) -> object:
        """Not available: passpilot cannot view this compiler's IR.

        Raises:
            PolicyError: always.
        """
        text = "the compiler around the decision function is not LLVM or MLIR"
        raise PolicyError(f"obs.site: {text}; ask for its features")

    def default(self) -> bool | int | float:
        """The compiler's own decision."""
        return bool(self._default.value) if isinstance(self._point.domain, Flag) else self._default.value

    def feature(self, name: str) -> Tensor:
        """An offered tensor.

        Raises:
            SpecMismatchError: the point does not offer it.
        """
        (spec,) = self._point.select([name])
        if name == self._point.default.name:
            return np.array([self._default.value], spec.numpy_dtype)
        return self._tensors[name]

    def stamp(self, name: str) -> None:
        """Not known: the compiler writes into its own memory."""


class AskedRunner:
    """A runner that writes its answers into the C caller's memory."""

    def __init__(self, runner: Runner, point: Point) -> None:
        self.runner = runner
        self._point = point
        self._answer: c_int64 | c_double

    def bind(self, memory: _Memory, order: Sequence[str], default: int, answer: int) -> None:
        """Take the buffers: `memory` has the tensors of `order`; `default` and `answer` are addresses."""
        block = np.asarray(memory)
        scalar = c_double if isinstance(self._point.domain, Number) else c_int64
        self._answer = scalar.from_address(answer)
        tensors = tensor_views(self._point.select(order), block)
        frame = block[: layout(self.runner.inputs)[1]]
        mine = {spec.name: tensors[spec.name] for spec in self.runner.inputs}
        host = ForeignHost(self._point, tensors, scalar.from_address(default))
        self.runner.bind(mine, frame, host)

    def evaluate(self) -> None:
        """Ask, and write the answer.

        Raises:
            AdviceError: the answer is outside the domain; the C library checks the mask.
        """
        self._answer.value = self._point.domain.accept(self.runner.evaluate())


_RUNNERS: Final[dict[int, AskedRunner]] = {}
_HANDLES: Final = itertools.count(1)


def read_point(text: str) -> Point:
    """Parse the C library's description of a decision point."""
    name, domain, *rows = text.split("\n")
    specs = [TensorSpec.parse(*row.split(" ", 1)) for row in rows]
    advice, default, *features = specs
    return Point(name, (*features, default), advice, default, _read_domain(domain))


def _read_domain(text: str) -> Domain:
    kind, _, rest = text.partition(" ")
    if kind == "choice":
        count, _, mask = rest.partition(" ")
        return Choice(int(count), mask)
    return Number(*map(float, rest.split())) if kind == "number" else Flag()


def _make(tell: Teller, spec: bytes, point_text: bytes, timeout: float, default_on_error: bool) -> int:
    point = read_point(os.fsdecode(point_text))
    with told_warnings(tell):
        runner = make_runner_or_absent(
            os.fsdecode(spec), point, timeout=timeout, default_on_error=default_on_error
        )
    for tensor in runner.inputs:
        tell("input", tensor.name)
    handle = next(_HANDLES)
    _RUNNERS[handle] = AskedRunner(runner, point)
    return handle


def _bind(
    tell: Teller,  # noqa: ARG001
    handle: int,
    block: int,
    size: int,
    order: bytes,
    default: int,
    answer: int,
    kept: int,
    release: int,
) -> bool:
    memory = _Memory(block, size, kept, release)
    names = os.fsdecode(order).split("\n") if order else []
    _RUNNERS[handle].bind(memory, names, default, answer)
    return True


def _evaluate(tell: Teller, handle: int) -> bool:
    return _succeeds(tell, _RUNNERS[handle].evaluate)


def _switch_context(tell: Teller, handle: int, name: bytes) -> None:
    _succeeds(tell, partial(_RUNNERS[handle].runner.switch_context, name.decode("utf-8", "surrogateescape")))


def _succeeds(tell: Teller, call: Callable[[], None]) -> bool:
    try:
        call()
    except BaseException as error:  # noqa: BLE001  (reported, whatever it raises)
        text = " ".join(describe_failure(error).split())
        if isinstance(error, AdviceError):
            text = text.removeprefix("advice: ")
        tell("fatal" if getattr(error, "fatal", False) is True else "error", text)
        trace(error)
        return False
    return True


def _close(tell: Teller, handle: int) -> None:
    with told_warnings(tell):
        _RUNNERS.pop(handle).runner.close()


def _load(tell: Teller, files: bytes) -> None:
    with told_warnings(tell):
        load(files)


def connect(address: int, tell: Tell) -> None:
    """Write the functions into the struct of plugin/native/c/python_runner.h at `address`."""
    size = c_size_t
    functions: tuple[Function, ...] = (
        (lambda _: end(), None, ()),
        (_load, None, (TEXT,)),
        (_make, size, (TEXT, TEXT, c_double, c_bool)),
        (_bind, c_bool, (size, size, size, TEXT, size, size, size, size)),
        (_evaluate, c_bool, (size,)),
        (_switch_context, None, (size, TEXT)),
        (_close, None, (size,)),
    )
    fill(address, tell, functions)
