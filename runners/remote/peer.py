# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runners that ask another process: `RemoteRunner`, `PeerRunner` over FIFOs, and `AbsentPeer`."""

from __future__ import annotations

import contextlib
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NoReturn, TypeVar

from passpilot.plugin.errors import ModelError, PeerError, SpecMismatchError
from passpilot.plugin.failures import for_terminal
from passpilot.runners.base import Frame, Host, Runner, Tensor
from passpilot.runners.spec import RunnerLike, make_runner

if TYPE_CHECKING:
    from passpilot.features.point import Point
    from passpilot.features.spec import TensorSpec
    from passpilot.runners.remote.fifo import FifoChannel
    from passpilot.runners.remote.wire import Greeting
    from passpilot.runners.serdes import SerDes

Result = TypeVar("Result")


class RemoteRunner(Runner):
    """A session with the peer `who`; no wait is longer than `timeout` seconds.

    After a `PeerError` the session is over, and every further question raises the error again at once. After
    an error about one question the session goes on.
    """

    def __init__(self, who: str, timeout: float) -> None:
        self._timeout = timeout
        self._who = who
        self._broken = ""

    def evaluate(self) -> object:
        """The peer's advice.

        Raises:
            ModelError: the peer reported an error of its model.
            PeerError: the peer is dead, silent or incoherent.
            SpecMismatchError: the tensors' values do not fit the peer's messages.
        """
        return self._guarded(self._ask)

    def _guarded(self, exchange: Callable[[float], Result]) -> Result:
        """The result of `exchange`, which gets the deadline; an error of the peer ends the session."""
        try:
            return exchange(time.monotonic() + self._timeout)
        except (ModelError, SpecMismatchError):
            raise
        except BaseException as error:
            self.end(error)
            raise

    def _greet(self, greeting: Greeting, point: Point) -> None:
        """Take the server's handshake."""
        try:
            self.inputs = point.select(greeting.inputs)
        except SpecMismatchError as error:
            raise SpecMismatchError(f"{self._who}: {error}") from None
        self.output = point.advice
        self.server = greeting.runner

    def _failure(self, text: str) -> ModelError:
        return ModelError(f"{self._who} ({self.server}): {for_terminal(text)}")

    @abstractmethod
    def _ask(self, deadline: float) -> object:
        """Ask one question and return the answer."""

    def end(self, error: BaseException) -> None:
        """End the session for good: bytes that still come would answer an earlier question.

        Raises:
            PeerError: for an error of the operating system, and for every question after the first failure.
        """
        if self._broken:
            raise PeerError(self._broken) from None
        if isinstance(error, PeerError):
            self._broken = str(error)
        elif isinstance(error, OSError):
            self._broken = f"{self._who}: expected a running server, got: {error.strerror}"
        else:
            self._broken = f"{self._who}: an interruption has ended the session"
        self.release()
        if isinstance(error, OSError):
            raise PeerError(self._broken) from error

    @contextlib.contextmanager
    def _handshake(self) -> Iterator[None]:
        """Release the session if an error ends the block, which opens it."""
        try:
            yield
        except BaseException as error:
            self._broken = str(error) or type(error).__name__
            self.release()
            raise

    @abstractmethod
    def release(self) -> None:
        """Close what the session holds. Idempotent."""

    def part(self) -> None:
        """Tell the peer that the session ends, if the protocol has a message for it."""

    def _refuse(self, expected: str, got: object) -> NoReturn:
        raise PeerError(f"{self._who}: expected {expected}, got {got!r}")

    def close(self) -> None:
        if not self._broken:
            self._broken = f"{self._who}: the session is closed"
            self.part()
            self.release()

    def __del__(self) -> None:
        if hasattr(self, "_broken"):  # the peer may wait for the end of the session
            self.close()


class PeerRunner(RemoteRunner):
    """A session over `channel`, whose questions `serdes` encodes if there is one."""

    _serdes: SerDes | None = None

    def __init__(self, channel: FifoChannel, timeout: float) -> None:
        super().__init__(channel.who, timeout)
        self._channel = channel

    def bind(self, tensors: Mapping[str, Tensor], frame: Frame, host: Host | None = None) -> None:
        super().bind(tensors, frame, host)
        if self._serdes is not None:
            self._serdes.bind(tensors, frame)

    def release(self) -> None:
        self._channel.close()


class AbsentPeer(Runner):
    """Replaces a runner whose peer cannot be reached, so that the compiler's default can decide.

    Every question raises the connection's error.
    """

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
