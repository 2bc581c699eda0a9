# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A tensor of one element in an observation: a numpy array that compares as fast as a Python number.

Through numpy, `obs["cost_estimate"] < 50` costs ten times `.item()`: numpy makes an array of the 50, one of
the answer, and chooses a loop. Everything but comparisons and arithmetic is numpy's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ScalarTensor(np.ndarray[tuple[int, ...], np.dtype[Any]]):
    """A view of an array with one element; a comparison with a Python number gives a `bool`.

    The element is compared as `.item()` gives it: a float32 as a Python float. Arithmetic gives plain arrays.
    """

    __slots__ = ()

    def __int__(self) -> int:  # numpy refuses arrays that have a dimension
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())


def _comparison(name: str) -> Callable[[ScalarTensor, object], object]:
    """The operator `name`: by Python's numbers if the other side is one, else numpy's."""
    compare: Callable[[object, object], object] = getattr(operator, name)
    by_numpy = getattr(np.ndarray, name)

    def compared(self: ScalarTensor, other: object) -> object:
        kind = other.__class__
        if kind is int or kind is float or kind is ScalarTensor:
            try:
                return compare(self.item(), other.item() if kind is ScalarTensor else other)  # type: ignore[attr-defined]
            except ValueError:  # an array that numpy made of this one, with more elements
                pass
        return by_numpy(self, other)

    return compared


def _arithmetic(name: str) -> Callable[[ScalarTensor, object], NDArray[Any]]:
    """numpy's operator `name` on plain arrays, which cost numpy less than a subclass."""
    by_numpy = getattr(np.ndarray, name)
    plain = np.ndarray

    def calculated(self: ScalarTensor, other: object) -> NDArray[Any]:
        result: NDArray[Any] = by_numpy(
            self.view(plain), other.view(plain) if other.__class__ is ScalarTensor else other
        )
        return result

    return calculated


for _name in ("__lt__", "__le__", "__eq__", "__ne__", "__ge__", "__gt__"):
    setattr(ScalarTensor, _name, _comparison(_name))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod"):
    for _side in ("", "r"):
        setattr(ScalarTensor, f"__{_side}{_name}__", _arithmetic(f"__{_side}{_name}__"))
