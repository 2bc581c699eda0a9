# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Base classes of runners that ask another process: `RemoteRunner`, and `PeerRunner` over a pair of FIFOs."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import TYPE_CHECKING

from passpilot.plugin.errors import ModelError, PeerError, SpecMismatchError
from passpilot.runners.base import Runner

if TYPE_CHECKING:
    from typing import NoReturn

    from passpilot.runners.remote.fifo import FifoChannel


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
        try:
            return self._ask(time.monotonic() + self._timeout)
        except (ModelError, SpecMismatchError):
            raise
        except BaseException as error:
            self.end(error)
            raise

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
            self._broken = f"{self._who}: expected a session, got one that an interruption ended"
        self.release()
        if isinstance(error, OSError):
            raise PeerError(self._broken) from error

    def abandon(self, error: BaseException) -> None:
        """Release a session whose handshake `error` ended."""
        self._broken = str(error) or type(error).__name__
        self.release()

    @abstractmethod
    def release(self) -> None:
        """Close what the session holds. Idempotent."""

    def part(self) -> None:
        """Tell the peer that the session ends, if the protocol has a message for it."""

    def _refuse(self, expected: str, got: object) -> NoReturn:
        raise PeerError(f"{self._who}: expected {expected}, got {got!r}")

    def close(self) -> None:
        if not self._broken:
            self._broken = f"{self._who}: expected a session, got one that was closed"
            self.part()
            self.release()

    def __del__(self) -> None:
        if hasattr(self, "_broken"):  # the peer may wait for the end of the session
            self.close()


class PeerRunner(RemoteRunner):
    """A session over `channel`."""

    def __init__(self, channel: FifoChannel, timeout: float) -> None:
        super().__init__(channel.who, timeout)
        self._channel = channel

    def release(self) -> None:
        self._channel.close()
