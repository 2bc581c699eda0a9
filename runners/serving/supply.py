# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Supply`: makes the runners of a model server, one for every session."""

from __future__ import annotations

import threading
from typing import Final

from passpilot.features.point import Point, find_point
from passpilot.plugin.errors import SpecMismatchError, restated
from passpilot.runners.base import Runner
from passpilot.runners.spec import RunnerLike, make_runner, shown

_MODELS: Final = ("aot", "onnx")
"""The schemes whose models have fixed inputs."""


class Supply:
    """Makes the runners that `spec` names; any thread may call it.

    The first runner is made at once, so that a wrong spec shows early; the first session takes it.

    Raises:
        SpecMismatchError: the runner is a model that reads what `point` does not offer.
        Error: the runner cannot be made.
    """

    def __init__(self, spec: RunnerLike, point: str, timeout: float) -> None:
        self.name = shown(str(spec))
        """The runner's text, for people."""
        self._spec = spec
        self._timeout = timeout
        self._point = find_point(point)
        self._lock = threading.Lock()
        self._spare: Runner | None = None
        try:
            self._spare = make_runner(spec, self._point, timeout=timeout)
        except SpecMismatchError as error:
            if str(spec).partition(":")[0] in _MODELS:
                hint = "name another point with --point, or the file of its custom features with --load"
                raise restated(error, f"{error}; {hint}") from error
            # A decision function may ask for features that only its clients have registered.

    def runner_for(self, point: Point) -> Runner:
        """A runner for a client that offers the tensors of `point`.

        Raises:
            SpecMismatchError: the client has another decision point, or offers too little.
            Error: the runner cannot be made.
        """
        spare = self._take_spare()
        if spare is not None:
            if point == self._point:
                return spare
            spare.close()
        if point.name != self._point.name:
            msg = f"expected a client of the decision point {self._point.name}, got one of {point.name}"
            raise SpecMismatchError(msg)
        return make_runner(self._spec, point, timeout=self._timeout)

    def close(self) -> None:
        """Close the runner that no session took. Idempotent."""
        if (spare := self._take_spare()) is not None:
            spare.close()

    def _take_spare(self) -> Runner | None:
        with self._lock:
            spare, self._spare = self._spare, None
        return spare
