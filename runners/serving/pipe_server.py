# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`PipeServer`: a model server behind two FIFOs, the other end of `pipe:BASE`.

It serves one compiler after the other, each with a new runner. A compiler that dies, at whatever byte, ends
only its session; a runner's error goes back to the compiler as text, and the session goes on.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING

from passpilot.plugin.errors import Error, PeerError, PolicyError
from passpilot.plugin.failures import describe_failure
from passpilot.runners.remote import wire
from passpilot.runners.remote.fifo import FifoChannel, Listener
from passpilot.runners.serving.pipe_session import LONGEST_NOTICE, session_maker
from passpilot.runners.serving.supply import Supply
from passpilot.runners.serving.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable

    from passpilot.runners.serving.tally import SessionCount


class PipeServer:
    """Serves the runner that `spec` names at the FIFOs of `base`.

    `timeout` in seconds bounds the waits within a message and for a handshake; between questions a compiler
    may be silent without limit. `notice` is called with one line about every session that fails, and `ready`
    once clients can come. Once `stopping` is set, no further question is answered.
    """

    def __init__(
        self,
        spec: str | Callable[..., object],
        base: str,
        *,
        point: str = "inline",
        timeout: float = 10.0,
        notice: Callable[[str], object] = lambda _: None,
        stopping: threading.Event | None = None,
        ready: Callable[[], object] = lambda: None,
        tally: Tally | None = None,
    ) -> None:
        self._base = base
        self._timeout = timeout
        self._notice = notice
        self._stopping = stopping or threading.Event()
        self._ready = ready
        self._tally = tally or Tally(notice)
        self._supply = Supply(spec, point, timeout)

    def run(self, *, once: bool = False) -> None:
        """Serve one session if `once`, else until a signal handler raises or `stopping` is set."""
        try:
            with Listener(self._base) as listener:
                while not self._stopping.is_set():
                    channel = listener.offer()
                    self._ready()
                    self._ready = lambda: None
                    self._serve_next(channel)
                    if once:
                        return
        finally:
            self._supply.close()

    def _serve_next(self, channel: FifoChannel) -> None:
        try:
            channel.wait()
            with self._tally.session("a client on this machine") as count:
                self._session(channel, count)
        except BrokenPipeError:
            self._notice(str(channel.gone("it to read an answer")))
        except (Exception, SystemExit) as error:  # noqa: BLE001  (it ends one session only)
            self._notice(describe_failure(error)[:LONGEST_NOTICE])
        finally:
            channel.close()

    def _session(self, channel: FifoChannel, count: SessionCount) -> None:
        deadline = time.monotonic() + self._timeout
        with contextlib.ExitStack() as stack:
            try:
                line = channel.read_line(deadline, "a handshake")
                point, serdes = wire.read_hello(line), wire.read_serdes(line)
                runner = stack.enter_context(self._supply.runner_for(point))
                session = session_maker(serdes)(channel, runner, point, self._timeout, self._notice, count)
            except (Exception, SystemExit) as error:
                reason = error if isinstance(error, Error) else PolicyError(describe_failure(error))
                channel.write(wire.refusal(reason), deadline, "the refusal")
                raise PeerError(f"{channel.who}: refused a client: {reason}") from error
            channel.write(wire.welcome(runner.inputs, self._supply.name), deadline, "the handshake")
            session.run(self._stopping.is_set)
