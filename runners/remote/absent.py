# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`AbsentPeer`: replaces a runner whose peer cannot be reached, so that the compiler's default can decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from passpilot.plugin.errors import PeerError
from passpilot.runners.base import Runner
from passpilot.runners.spec import make_runner

if TYPE_CHECKING:
    from passpilot.features.point import Point
    from passpilot.features.spec import TensorSpec
    from passpilot.runners.spec import RunnerLike


class AbsentPeer(Runner):
    """Replaces a runner whose peer could not be reached: every question raises the connection's error."""

    def __init__(self, error: PeerError, output: TensorSpec) -> None:
        self.inputs = ()
        self.output = output
        self._error = error

    def evaluate(self) -> object:
        raise self._error.with_traceback(None)


def make_runner_or_absent(
    spec: RunnerLike, point: Point, *, timeout: float, default_on_error: bool
) -> Runner:
    """Make a runner; with `default_on_error`, an `AbsentPeer` if the peer is absent.

    Raises:
        Error: like `make_runner`, but no PeerError if `default_on_error`.
    """
    try:
        return make_runner(spec, point, timeout=timeout)
    except PeerError as error:
        if not default_on_error:
            raise
        return AbsentPeer(error, point.advice)
