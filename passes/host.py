# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`CompilerHost`: gives runners in the compiler's process the site, the default and unbound features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import ref

from passpilot.features.custom import CustomFeature, is_constant, registered
from passpilot.features.point import features_of
from passpilot.plugin.errors import Error, FeatureError, StaleViewError, restated
from passpilot.plugin.failures import describe_failure, did_you_mean

if TYPE_CHECKING:
    from passpilot.features.point import Point
    from passpilot.plugin import _core
    from passpilot.runners.base import Tensor


class CompilerHost:
    """The compiler as a runner in this process sees it; every advisor has one.

    The core refers to the runner, and so to this host, which refers back weakly: an advisor is freed with its
    last reference, not when Python's collector comes.
    """

    __slots__ = (
        *("_core", "_default", "_offered", "_point", "_site", "_stamps", "_tracked", "_values"),
        *("buffers", "views"),
    )

    views: dict[str, Tensor]
    """The bound tensors, read-only, for runners."""
    buffers: dict[str, Tensor]
    """The same tensors, writable, for custom features."""

    def __init__(
        self, point: Point, site: Callable[[_core.Advisor], object], *, tracked: bool = True
    ) -> None:
        self._tracked = tracked  # false if the core itself may write into a custom feature's buffer
        self._stamps: Counter[str] = Counter()
        self._values: dict[str, object] = {}
        self._point = point.name
        self._site = site
        self._default = point.default.name
        self._offered = {spec.name: spec for spec in point.features}

    def connect(self, core: _core.Advisor) -> None:
        """Say which core asks the runner."""
        self._core = ref(core)

    @property
    def site(self) -> object:
        return self._site(self._asking("site"))

    def default(self) -> bool | int | float:
        return self._asking("default()").default()

    def _asking(self, what: str) -> _core.Advisor:
        if (core := self._core()) is None:
            text = "can be used within a decision alone; the advisor has ended"
            raise StaleViewError(f"obs.{what}: {text}")
        return core

    def feature(self, name: str) -> Tensor:
        """The value of any offered feature; computes it now if it is not bound.

        Raises:
            FeatureError: the point does not offer it.
        """
        import numpy as np

        if (view := self.views.get(name)) is not None:
            if core := self._core():
                core.describe_rest()
            return view
        if name not in self._offered:
            raise self._unknown(name)
        spec = self._offered[name]
        out: Tensor = np.zeros(spec.shape, spec.numpy_dtype)
        if name == self._default:
            out[...] = self.default()
        elif native := (row := registered(self._point)[name]).native:
            self._asking("feature").compute(native, name, out)
        else:
            row.store(self.site, out)
        return out

    def stamp(self, name: str) -> int | None:
        """A number that changes when a bound feature in Python may have changed; None for other features."""
        row = registered(self._point).get(name) if self._tracked else None
        return self._stamps[name] if row is not None and row.native is None else None

    def _unknown(self, name: str) -> FeatureError:
        late = name in registered(self._point)
        got = "one registered after the advisor was made" if late else "none of this name"
        hint = "load its file first, as --load=FILE.py does" if late else features_of(self._point)
        if not late:
            hint += did_you_mean(name, [*self._offered, *self.views])
        return FeatureError(
            f"obs[{name!r}]: expected a feature of the point {self._point}, got {got}; {hint}"
        )

    def filler(self, feature: CustomFeature) -> Callable[[], None]:
        """A function with which the core computes a bound custom feature into its buffer."""
        name = feature.spec.name
        who = f"feature {name!r}"

        def fill() -> None:
            try:
                value = feature.function(self.site)
                if self._tracked:
                    constant = is_constant(value)
                    if constant and value is self._values.get(name):
                        return  # the buffer has it already
                    self._values[name] = value if constant else None
                    self._stamps[name] += 1
                feature.write(value, self.buffers[name])
            except BaseException as error:
                # The core clears the buffers of this feature and of those behind it.
                self._values.clear()
                self._stamps.update(self._stamps.keys())
                if not isinstance(error, Exception):
                    raise
                text = describe_failure(error)
                if isinstance(error, Error):
                    raise error if text.startswith(who) else restated(error, f"{who}: {text}")  # noqa: B904
                raise FeatureError(f"{who}: {text}") from error

        return fill
