# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot serve RUNNER --pipe BASE`: a model server, the other end of `pipe:BASE`.

It serves one compiler after the other and gives each a runner of its own. A compiler that dies, at whatever
byte, costs no more than its session; a runner's error goes back to it as text, and the session goes on.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING, Final

from passpilot.features.point import POINTS, Point, find_point
from passpilot.plugin.errors import Error, PeerError, PolicyError, SpecMismatchError
from passpilot.plugin.load import load_file
from passpilot.runners import wire
from passpilot.runners.base import Runner, allocate
from passpilot.runners.fifo import Channel, Listener
from passpilot.runners.python import describe_exception
from passpilot.runners.spec import make_runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Server:
    """Serves the runner that `spec` names at the FIFOs of `base`.

    `timeout` in seconds bounds each wait within a message and for a handshake; a connected compiler may be
    silent between its questions for as long as it likes. `notice` is called with one line about each session
    that did not end well. `wakeup_fd` is what `signal.set_wakeup_fd` writes to.
    """

    def __init__(
        self,
        spec: str | Callable[..., object],
        base: str,
        *,
        point: str = "inline",
        timeout: float = 10.0,
        notice: Callable[[str], object] = lambda _: None,
        wakeup_fd: int | None = None,
    ) -> None:
        self._spec = spec
        self._base = base
        self._timeout = timeout
        self._notice = notice
        self._wakeup_fd = wakeup_fd
        self._point = find_point(point)
        self._spare = self._first_runner()

    def _first_runner(self) -> Runner | None:
        """A runner made before anyone asks, so that a wrong spec shows at once; the first session takes it.

        A policy may want custom features that only the compiler's side registers: the handshake tells.
        """
        try:
            return make_runner(self._spec, self._point, timeout=self._timeout)
        except SpecMismatchError:
            return None

    def run(self, *, once: bool = False) -> None:
        """Serve until a signal handler raises; or, with `once`, one session."""
        try:
            with Listener(self._base) as listener:
                while True:
                    self._serve_next(listener.offer())
                    if once:
                        return
        finally:
            if self._spare is not None:
                self._spare.close()

    def _serve_next(self, channel: Channel) -> None:
        try:
            self._wait(channel)
            self._session(channel)
        except PeerError as error:
            self._notice(str(error))
        finally:
            channel.close()

    def _wait(self, channel: Channel) -> None:
        """Wait until a client writes, or opens and leaves."""
        poll = self._poll(channel)
        while all(descriptor != channel.read_fd for descriptor, _ in poll.poll()):
            self._drain()

    def _poll(self, channel: Channel) -> select.poll:
        poll = select.poll()
        poll.register(channel.read_fd, select.POLLIN)
        if self._wakeup_fd is not None:
            poll.register(self._wakeup_fd, select.POLLIN)
        return poll

    def _drain(self) -> None:
        """Forget the signals whose handlers have run."""
        if self._wakeup_fd is not None:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wakeup_fd, 512)

    def _session(self, channel: Channel) -> None:
        deadline = time.monotonic() + self._timeout
        try:
            point = wire.read_hello(channel.read_line(deadline, "a handshake"))
            runner = self._runner_for(point)
        except Error as error:
            channel.write(wire.refusal(error), deadline, "the refusal")
            raise PeerError(f"{channel.who}: refused a client: {error}") from error
        with runner:
            allocate(runner)
            channel.write(wire.welcome(runner.inputs, str(self._spec)), deadline, "the handshake")
            session = _Session(channel, runner, point, self._timeout, self._notice)
            session.run(self._poll(channel).poll, self._drain)

    def _runner_for(self, point: Point) -> Runner:
        spare, self._spare = self._spare, None
        if spare is not None:
            if point == self._point:
                return spare
            spare.close()
        if point.name != self._point.name:
            msg = f"expected a client of the decision point {self._point.name}, got one of {point.name}"
            raise SpecMismatchError(msg)
        return make_runner(self._spec, point, timeout=self._timeout)


class _Session:
    """The questions of one client after the handshake."""

    def __init__(
        self, channel: Channel, runner: Runner, point: Point, timeout: float, notice: Callable[[str], object]
    ) -> None:
        self._channel = channel
        self._runner = runner
        self._domain = point.domain
        self._pack = wire.answer_struct(point.advice).pack
        self._timeout = timeout
        self._notice: Callable[[str], object] | None = notice
        self._kind = bytearray(len(wire.EVALUATE))
        self._frame = runner.frame.data

    def run(self, wait: Callable[[], object], interrupted: Callable[[], object]) -> None:
        """Answer until the client ends the session.

        Raises:
            PeerError: the client died within a message, or sent what is none.
        """
        read_fd, write_fd, kind = self._channel.read_fd, self._channel.write_fd, self._kind
        evaluate, accept, pack = self._runner.evaluate, self._domain.accept, self._pack
        parts = (memoryview(kind), self._frame)
        size = len(kind) + self._frame.nbytes
        while True:
            wait()
            try:
                got = os.readv(read_fd, parts)
            except BlockingIOError:
                interrupted()
                continue
            if got != size:
                if not got:
                    return
                self._read_rest(size, got)
            if kind != wire.EVALUATE:
                if kind == wire.BYE:
                    return
                self._other()
                continue
            try:
                answer = pack(0, accept(evaluate()))
            except (Exception, SystemExit) as error:  # noqa: BLE001  (it goes back to the compiler)
                self._fail(error)
                continue
            try:
                os.write(write_fd, answer)
            except OSError:
                self._send(answer)

    def _read_rest(self, size: int, got: int) -> None:
        rest = self._channel.read(size - got, self._deadline(), "the rest of a request")
        missing = max(0, len(self._kind) - got)
        self._kind[len(self._kind) - missing :] = rest[:missing]
        self._frame[got + missing - len(self._kind) :] = rest[missing:]

    def _other(self) -> None:
        if self._kind != wire.CONTEXT:
            text = f"{self._channel.who}: expected a request of a known kind, got {bytes(self._kind)!r}"
            self._send(self._failure(text))
            raise PeerError(text)
        (size,) = wire.WORD.unpack(
            self._channel.read(wire.WORD.size, self._deadline(), "the length of a name")
        )
        if size > wire.MAX_TEXT:
            text = f"{self._channel.who}: expected a name of at most {wire.MAX_TEXT} bytes, got {size}"
            self._send(self._failure(text))
            raise PeerError(text)
        name = self._channel.read(size, self._deadline(), "the name of a context").decode("utf-8", "replace")
        try:
            self._runner.switch_context(name)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (it goes back to the compiler)
            self._fail(error)
        else:
            self._send(self._pack(0, 0))

    def _fail(self, error: BaseException) -> None:
        text = _described(error)
        self._send(self._failure(text))
        if self._notice is not None:
            self._notice(text)
            self._notice = None  # the client has them all

    def _failure(self, text: str) -> bytes:
        data = wire.text_message(text or "error")
        return self._pack(len(data), 0) + data

    def _send(self, data: bytes) -> None:
        self._channel.write(data, self._deadline(), "an answer")

    def _deadline(self) -> float:
        return time.monotonic() + self._timeout


def _described(error: BaseException) -> str:
    """Our own words for our own errors; type, text and place for whatever a policy raised."""
    return (
        str(error)
        if isinstance(error, Error) and not isinstance(error, PolicyError)
        else describe_exception(error)
    )


class _Stopped(BaseException):
    """A signal asks the server to end; not an Exception, so that no policy swallows it."""


@contextlib.contextmanager
def _stop_on_signals() -> Iterator[int]:
    """Let SIGINT and SIGTERM raise `_Stopped`, once; yields the descriptor that becomes readable then."""
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def stop(number: int, _frame: object) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)  # what follows is the clean-up, which is to be complete
        raise _Stopped(number)

    woken = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    handlers = {each: signal.signal(each, stop) for each in _SIGNALS}
    try:
        yield reader
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)
        signal.set_wakeup_fd(woken)
        os.close(reader)
        os.close(writer)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="passpilot serve",
        description="Serve a runner to compilers on this machine, which ask it as pipe:BASE.",
        epilog="example: passpilot serve python:policy.py:decide --pipe /tmp/ch &  "
        "passpilot opt a.bc -passes='default<Oz>' --inline=pipe:/tmp/ch -o b.bc",
        allow_abbrev=False,
    )
    parser.add_argument("runner", metavar="RUNNER", help="what to serve, such as python:policy.py:decide")
    parser.add_argument("--pipe", metavar="BASE", required=True, help="make the FIFOs BASE.in and BASE.out")
    parser.add_argument("--load", metavar="FILE.py", action="append", default=[], help="run this file first")
    parser.add_argument("--once", action="store_true", help="end after one client")
    parser.add_argument(
        "--point", choices=tuple(POINTS), default="inline", help="the decision point (inline)"
    )
    parser.add_argument("--timeout", metavar="S", type=float, default=10.0, help="seconds per message (10)")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The command `passpilot serve`; ends with 0 on SIGINT and SIGTERM, its FIFOs removed."""
    args = _parser().parse_args(argv)
    for file in args.load:
        load_file(file)
    with contextlib.suppress(_Stopped), _stop_on_signals() as wakeup_fd:
        server = Server(
            args.runner,
            args.pipe,
            point=args.point,
            timeout=args.timeout,
            notice=lambda text: print(f"passpilot serve: {text}", file=sys.stderr, flush=True),
            wakeup_fd=wakeup_fd,
        )
        server.run(once=args.once)
    return 0
