# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Flag`, `Choice`, `Number`: the domains of advice; `accept` checks and converts an answer from Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias, cast

from passpilot.features.spec import shortened
from passpilot.plugin.errors import AdviceError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Tensors: TypeAlias = Mapping[str, NDArray[np.generic]]

_PLAIN: Final = (int, float, bool)


@dataclass(frozen=True, slots=True)
class Flag:
    """The advice domain of a yes-or-no decision."""

    expected: ClassVar[str] = "0 or 1"
    """The domain in words."""

    def accept(self, answer: object, tensors: Tensors | None = None) -> int:  # noqa: ARG002
        """The answer as 0 or 1.

        Takes bool, int, numpy's bool and integer scalars, and arrays of one such element.

        Raises:
            AdviceError: anything else.
        """
        if answer is True or answer is False:
            return int(answer)
        plain = _plain(answer)
        if isinstance(plain, int) and plain in (0, 1):
            return int(plain)
        raise _refused(f"a bool or an integer {self.expected}", answer, "return the decision itself")


@dataclass(frozen=True, slots=True)
class Choice:
    """The advice domain of a choice among `count` columns; the tensor `mask` marks the legal ones."""

    count: int
    """The number of columns."""
    mask: str = "mask"
    """The name of the tensor that marks the legal columns."""

    @property
    def expected(self) -> str:
        """The domain in words."""
        return f"an integer of 0 to {self.count - 1}"

    def accept(self, answer: object, tensors: Tensors | None = None) -> int:
        """The answer as a column number; must be legal by the mask if `tensors` contain it.

        Takes int, numpy's integer scalars, and arrays of one integer; no bool.

        Raises:
            AdviceError: anything else.
        """
        plain = _plain(answer)
        if not isinstance(plain, int) or isinstance(plain, bool) or not 0 <= plain < self.count:
            raise _refused(self.expected, answer, "return the number of a column")
        if tensors is not None and self.mask in tensors:
            mask = tensors[self.mask].reshape(-1)
            if not mask[plain]:
                legal = ", ".join(str(column) for column in range(self.count) if mask[column]) or "none"
                expected = f"a column that {self.mask!r} allows ({legal})"
                raise _refused(expected, answer, "return the number of one of these")
        return int(plain)


@dataclass(frozen=True, slots=True)
class Number:
    """The advice domain of a finite number from `low` to `high`."""

    low: float
    """The least answer."""
    high: float
    """The largest answer."""

    @property
    def expected(self) -> str:
        """The domain in words."""
        return f"a number of {self.low:.17g} to {self.high:.17g}"

    def accept(self, answer: object, tensors: Tensors | None = None) -> float:  # noqa: ARG002
        """The answer as a float.

        Takes int, float, numpy's integer and float scalars, and arrays of one number; no bool.

        Raises:
            AdviceError: anything else.
        """
        plain = _plain(answer)
        if not isinstance(plain, (int, float)) or isinstance(plain, bool):
            raise _refused(self.expected, answer, "return the number itself")
        if not self.low <= plain <= self.high:  # also refuses NaN
            raise _refused(self.expected, answer, "return the number itself")
        return float(plain)


Domain: TypeAlias = Flag | Choice | Number


def _plain(answer: object) -> object:
    """Unwraps a numpy scalar or array of one element; returns anything else unchanged."""
    if type(answer) in _PLAIN:
        return answer
    item = getattr(answer, "item", None)
    if callable(item) and getattr(answer, "size", None) == 1:
        return cast("object", item())
    return answer


def _refused(expected: str, answer: object, hint: str) -> AdviceError:
    try:
        text = repr(answer)
    except Exception:  # noqa: BLE001  (an answer whose repr() fails is still refused)
        text = "that cannot be shown"
    return AdviceError(f"advice: expected {expected}, got {type(answer).__name__} {shortened(text)}; {hint}")
