# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Custom features: a Python function of the decision's view becomes one more named tensor for the model.

    @feature("int64[1]")
    def callee_is_recursive(site):
        return site.caller == site.callee

    @feature("int64[1]", point="evict")
    def holes(site):
        return len(site.candidate.segments) - 1

The decision point offers registered features after LLVM's own, and computes one only if a runner or a log
binds it. Registration checks the spec, the name and the signature; every value is checked when computed.

Some features need no Python at a decision: `register_native` gives a point features that the core computes.

A function that returns the same array at several decisions can make it read-only, by `setflags(write=False)`:
then the array is neither copied nor sent again.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, TypeVar, cast

from passpilot.features.point import Feature, current_name, find_point, is_known, point_names
from passpilot.features.spec import TensorSpec, shortened
from passpilot.plugin.errors import FeatureError
from passpilot.plugin.origin import definition_origin
from passpilot.plugin.registry import Registry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from passpilot.plugin._core import NativeFeature

    Function = TypeVar("Function", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class CustomFeature:
    """A registered feature: its spec, the function that computes it, and where it was registered."""

    spec: TensorSpec
    function: Callable[..., object]
    doc: str
    origin: str
    native: NativeFeature | None = None
    """Computes it in the core, in place of the function."""
    _numbers: tuple[type[int] | type[float], ...] = field(init=False, repr=False, compare=False)
    _range: tuple[float, float] = field(init=False, repr=False, compare=False)
    _single: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        integral = not self.spec.dtype.startswith("float")
        object.__setattr__(self, "_numbers", (int,) if integral else (int, float))
        object.__setattr__(self, "_range", _range(self.spec.dtype))
        object.__setattr__(self, "_single", self.spec.size == 1)

    def store(self, view: object, out: NDArray[np.generic]) -> None:
        """Compute the value for `view` and write it into `out`, the buffer of this tensor.

        A bool counts as 0 or 1. An integer tensor takes integers within its range; a float tensor takes any
        number that its type can hold, NaN and infinity included. A tensor of one element takes a scalar; any
        other tensor takes an array or nested lists of exactly its shape. The function's exceptions propagate.

        Raises:
            FeatureError: the value does not fit; the buffer is unchanged.
        """
        self.write(self.function(view), out)

    def write(self, value: object, out: NDArray[np.generic]) -> None:
        """Write a value that the function returned, as `store` does."""
        plain = cast("np.generic", value).item() if getattr(value, "ndim", None) == 0 else value
        if out.size == 1 and isinstance(plain, self._numbers) and self._range[0] <= plain <= self._range[1]:
            out[...] = plain
        else:
            import numpy as np

            np.copyto(out, _fitting(self, value).reshape(out.shape), casting="unsafe")

    def check(self, value: object) -> None:
        """Check a value as `write` does, without a buffer.

        Raises:
            FeatureError: the value does not fit.
        """
        low, high = self._range
        if self._single and isinstance(value, self._numbers) and low <= value <= high:
            return
        if not self._is_plain(value, self.spec.shape):
            _fitting(self, value)

    def _is_plain(self, value: object, shape: Sequence[int]) -> bool:
        """Whether a value is nested lists of numbers that fit, for which nobody needs numpy."""
        if not shape or not isinstance(value, (list, tuple)) or len(value) != shape[0]:
            return False
        if len(shape) > 1:
            return all(self._is_plain(each, shape[1:]) for each in value)
        kinds = {*self._numbers, bool}
        return (
            kinds.issuperset(map(type, value))
            and self._range[0] <= min(value)
            and max(value) <= self._range[1]
        )


def feature(spec: str, *, point: str = "inline", name: str | None = None) -> Callable[[Function], Function]:
    """Register the decorated function as a feature of `point`; `name` defaults to the function's name.

    Raises:
        FeatureError: the spec or the name is not valid, the function does not take one positional argument,
            or the decision point already offers a tensor of this name.
    """
    if not isinstance(spec, str):  # `@feature` without parentheses would register nothing
        raise FeatureError(
            f'feature at {definition_origin()}: expected a text, got {spec!r}; write @feature("int64[1]")'
        )

    def register(function: Function) -> Function:
        _register(function, spec, point, name, definition_origin())
        return function

    return register


def register_native(point: str, rows: Sequence[Feature], native: Sequence[NativeFeature]) -> None:
    """Register features that the core computes, one for each row.

    Raises:
        FeatureError: the decision point already offers a tensor of one of these names; none is registered.
    """
    features, done = registered(point), 0
    try:
        for row, core in zip(rows, native, strict=True):
            features.add(row.spec.name, CustomFeature(row.spec, _in_core, row.doc, row.origin, core))
            done += 1
    except FeatureError:
        for row in rows[:done]:
            features.unregister(row.spec.name)
        raise


def _in_core(_view: object) -> object:
    raise FeatureError("a feature of the core: expected to be read from obs, got a call of its function")


def custom_rows(point: str) -> tuple[Feature, ...]:
    """The custom features of a decision point as rows of its table."""
    return tuple(Feature(row.spec, row.doc, row.origin) for row in registered(point).values())


def unregister(name: str, *, point: str = "inline") -> None:
    """Remove a custom feature and free its name; for notebooks and tests.

    Raises:
        FeatureError: the decision point has no custom feature of this name.
    """
    registered(current_name(point)).unregister(name)


class _Features(Registry[CustomFeature]):
    def __init__(self, point: str) -> None:
        where = f" at point {point!r}"
        super().__init__("feature", error=FeatureError, where=where, hint="; give name='...'")
        self._point = point

    def owner(self, name: str, definition: CustomFeature) -> str:
        if owner := super().owner(name, definition):
            return owner
        built_in = find_point(self._point).find(name) is not None
        return f"the table of the decision point {self._point!r}" if built_in else ""


@cache
def registered(point: str) -> _Features:
    """The custom features of a decision point by name, in the order of registration; a live view."""
    return _Features(point)


def _register(function: Callable[..., object], text: str, point: str, name: str | None, origin: str) -> None:
    point = current_name(point)
    if not is_known(point):
        known = ", ".join(point_names())
        hint = "import the package that declares it first"
        msg = f"feature at {origin}: expected a decision point among {known}, got {point!r}; {hint}"
        raise FeatureError(msg)
    name = getattr(function, "__name__", "") if name is None else name
    if not isinstance(name, str) or not (name.isascii() and name.isidentifier()):
        msg = f"feature at {origin}: expected an ASCII identifier as its name, got {name!r}; give name='...'"
        raise FeatureError(msg)
    _check_callable(function, name, origin)
    try:
        spec = TensorSpec.parse(text, name)
    except FeatureError as error:
        raise FeatureError(f"feature at {origin}: {error}") from error
    doc = (inspect.getdoc(function) or "").partition("\n")[0]
    registered(point).add(name, CustomFeature(spec, function, doc, origin))


def _check_callable(function: object, name: str, origin: str) -> None:
    who = f"feature {name!r} at {origin}: expected a plain function of one positional argument, the view"
    deferred = inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function)
    if deferred or not callable(function):
        raise FeatureError(f"{who}, got {function!r}")
    try:
        signature = inspect.signature(function)
    except ValueError:  # some built-in functions have no signature
        return
    try:
        signature.bind(None)
    except TypeError as error:
        raise FeatureError(f"{who}, got {name}{signature}") from error


def is_constant(value: object) -> bool:
    """Whether `value` is an array whose elements nobody can change through it or through its bases."""
    import numpy as np

    while isinstance(value, np.ndarray):
        if value.flags.writeable:
            return False
        value = value.base
        if value is None:
            return True
    return False


def _range(dtype: str) -> tuple[float, float]:
    """The least and the largest finite number of the type."""
    if dtype.startswith("float"):
        largest = sys.float_info.max if dtype == "float64" else (2 - 2**-23) * 2.0**127
        return -largest, largest
    bits = int(dtype.lstrip("uint"))
    return (0, (1 << bits) - 1) if dtype.startswith("u") else (-(1 << bits - 1), (1 << bits - 1) - 1)


def _fitting(owner: CustomFeature, value: object) -> NDArray[np.generic]:
    """The value as an array, whose elements and shape fit; one element may have any shape."""
    import numpy as np

    try:
        array = np.asarray(value)
    except (ValueError, OverflowError) as error:
        raise _misfit(owner, value) from error
    if not (array.size == 1 and owner.spec.size == 1) and array.shape != owner.spec.shape:
        raise _misfit(owner, value, f"shape [{','.join(map(str, array.shape))}]")
    if not _fits(array, owner):
        raise _misfit(owner, value)
    return array


def _fits(array: NDArray[np.generic], owner: CustomFeature) -> bool:
    """Whether the tensor's type can hold every element; floats may be rounded, but not become infinite."""
    import numpy as np

    if array.dtype.kind == "b" or array.dtype == owner.spec.numpy_dtype:
        return True
    if float not in owner._numbers:
        low, high = owner._range
        return array.dtype.kind in "iu" and low <= int(array.min()) and int(array.max()) <= high
    if array.dtype.kind not in "iuf":
        return False
    with np.errstate(over="ignore"):
        stored = array.astype(owner.spec.numpy_dtype)
    return bool((np.isfinite(stored) | ~np.isfinite(array)).all())


def _misfit(owner: CustomFeature, value: object, what: str = "") -> FeatureError:
    got = f"{what} of {type(value).__name__}" if what else f"{type(value).__name__} {shortened(repr(value))}"
    who = f"feature {owner.spec.name!r} at {owner.origin}"
    return FeatureError(f"{who}: expected a value for {owner.spec}, got {got}")
