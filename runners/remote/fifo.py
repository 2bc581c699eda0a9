# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A pair of FIFOs between a compiler and a model server, with a deadline on every wait.

    BASE.out    compiler -> server          BASE.in     server -> compiler          BASE.lock   server's lock

The server makes a pair (mode 0600) for each session. A client claims the pair by a lock on BASE.in, opens
both FIFOs and unlinks their names, so that no third process can open them: when either end dies, the other
reads an end of file, whatever other clients do, and bytes of a dead client never reach the next session.
During a session the names do not exist, and other clients wait for the next pair. The server holds a lock on
BASE.lock for its life; names without that lock are left-overs of a killed server. Both ends refuse symbolic
links, and files of users other than their own and root.

The client also keeps a reading end of BASE.out, so that writing to a dead server raises no SIGPIPE in a
compiler that may not ignore it; it notices the server's death at once, by the end of file on BASE.in.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import math
import os
import select
import stat
import time
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Final

from passpilot.plugin.errors import PeerError
from passpilot.runners.remote.wire import MAX_LINE

_SHORTEST_NAP: Final = 0.001
_LONGEST_NAP: Final = 0.02
_LOOKING: Final = 0.2
"""Seconds: a client that waits looks at the lock now and then, which keeps it for a moment."""
_LARGEST_READ: Final = 1 << 20
_USUAL_CAPACITY: Final = 1 << 16
_LARGEST_CAPACITY: Final = 1 << 20
"""Linux's limit for ordinary users; a system may set it lower."""


class FifoChannel:
    """Two open descriptors: a blocking one to read from and a non-blocking one to write to.

    `who` names the channel in errors. The methods keep their deadlines; using `reader` directly is cheaper,
    but has no deadline. `others` are only kept open.
    """

    def __init__(self, who: str, read_fd: int, write_fd: int, *others: int) -> None:
        self.who = who
        self.reader = FileIO(read_fd, "rb")
        self.writer = FileIO(write_fd, "wb")
        self._others = others
        self._readable = _poll(read_fd, select.POLLIN)
        self._writable = _poll(write_fd, select.POLLOUT)
        self._writable.register(read_fd, 0)  # reports the peer's death
        os.set_blocking(read_fd, True)  # opening it needed O_NONBLOCK

    def close(self) -> None:
        """Close both directions; idempotent."""
        self.reader.close()
        self.writer.close()
        others, self._others = self._others, ()
        for descriptor in others:
            os.close(descriptor)

    def wait(self) -> None:
        """Wait, without a deadline, until the peer has written something, or has opened its end and left."""
        self._readable.poll()

    def write(self, data: bytes | memoryview, deadline: float, what: str) -> None:
        """Write all of `data`.

        Raises:
            PeerError: the peer is gone, or did not read `data` before the deadline.
        """
        rest = memoryview(data)
        while rest:
            try:
                written = self.writer.write(rest)
            except BrokenPipeError:
                raise self.gone(f"it to read {what}") from None
            rest = rest[written or 0 :]
            if written is None:
                events = self._writable.poll(_milliseconds(deadline))
                if not events:
                    raise self.silent(f"it to read {what}")
                if any(event & (select.POLLHUP | select.POLLERR) for _, event in events):
                    raise self.gone(f"it to read {what}")

    def read(self, size: int, deadline: float, what: str, begun: bytes = b"", *, only: bool = False) -> bytes:
        """Read `size` bytes; `begun` are those that have been read already.

        Raises:
            PeerError: the peer is gone, did not send them before the deadline, or with `only` sent more.
        """
        what = f"{what} of {size} bytes"
        data = bytearray(begun)
        while len(data) < size:
            data += self.read_some(size + only - len(data), deadline, what, len(data))
        if only and len(data) > size:
            raise PeerError(f"{self.who}: expected {what}, got more")
        return bytes(data)

    def read_line(self, deadline: float, what: str) -> bytes:
        """Read one line, after which the peer must have sent nothing.

        Raises:
            PeerError: the peer is gone, did not send a line before the deadline, or sent something else.
        """
        data = bytearray()
        while not data.endswith(b"\n"):
            data += self.read_some(MAX_LINE, deadline, what, len(data))
            if len(data) > MAX_LINE or b"\n" in data[:-1]:
                raise PeerError(f"{self.who}: expected {what} of one line, got {bytes(data[:80])!r}")
        return bytes(data)

    def fill(self, buffer: memoryview, deadline: float, what: str) -> None:
        """Fill `buffer`.

        Raises:
            PeerError: the peer is gone, or did not send enough before the deadline.
        """
        got, size = 0, len(buffer)
        while got < size:
            if not self._readable.poll(_milliseconds(deadline)):
                raise self.silent(what, got)
            more = self.reader.readinto(buffer[got:])
            if not more:
                raise self.gone(what, got)
            got += more

    def widen(self, size: int) -> None:
        """Let messages of `size` bytes fit into the FIFO to the peer, as far as the system permits."""
        if size > _USUAL_CAPACITY:
            with contextlib.suppress(OSError):  # the user has too many large pipes
                fcntl.fcntl(self.writer.fileno(), fcntl.F_SETPIPE_SZ, min(2 * size, _LARGEST_CAPACITY))

    def read_some(self, limit: int, deadline: float, what: str, got: int = 0) -> bytes:
        """Read some bytes, `limit` at most; an error says that the peer had sent `got` bytes before.

        Raises:
            PeerError: the peer is gone, or did not send any before the deadline.
        """
        if not self._readable.poll(_milliseconds(deadline)):
            raise self.silent(what, got)
        data = self.reader.read(min(limit, _LARGEST_READ))
        if not data:
            raise self.gone(what, got)
        return data

    def silent(self, what: str, got: int = 0) -> PeerError:
        """The error for a peer that did not answer in time."""
        hint = "see whether it hangs, or raise --timeout"
        return PeerError(f"{self.who}: expected {what}, got {_nothing(got)} before the deadline; {hint}")

    def gone(self, what: str, got: int = 0) -> PeerError:
        """The error for a peer that closed its end."""
        return PeerError(
            f"{self.who}: expected {what}, got {_nothing(got)}, and the peer is gone; see its own output"
        )


def _nothing(got: int) -> str:
    return f"{got} bytes" if got else "nothing"


def _poll(descriptor: int, events: int) -> select.poll:
    poll = select.poll()
    poll.register(descriptor, events)
    return poll


def _milliseconds(deadline: float) -> int:
    return max(0, math.ceil((deadline - time.monotonic()) * 1000))


def connect(base: str, deadline: float) -> FifoChannel:
    """Claim the next free pair of the server at `base`, for a client.

    Raises:
        PeerError: no pair was free before the deadline, or the names cannot be opened.
    """
    return _await(
        base, deadline, "a model server", f"start `passpilot serve RUNNER --pipe {base}`", unlink=True
    )


def join(base: str, deadline: float, peer: str) -> FifoChannel:
    """Open the compiler's end of a pair that another program, `peer`, made; the names stay.

    BASE.in is opened first; the peer may open the two in either order.

    Raises:
        PeerError: the peer did not open its ends before the deadline, or the names cannot be opened.
    """
    hint = f"start a program that makes {base}.in and {base}.out, and opens them"
    return _await(base, deadline, peer, hint, unlink=False)


def _await(base: str, deadline: float, peer: str, hint: str, *, unlink: bool) -> FifoChannel:
    nap = _SHORTEST_NAP
    while True:
        got = _claim(base, unlink=unlink)
        if isinstance(got, FifoChannel):
            return got
        left = deadline - time.monotonic()
        if left <= 0:
            raise PeerError(f"pipe:{base}: expected {peer}, got {got}; {hint}")
        time.sleep(min(nap, left))
        nap = min(nap * 1.5, _LONGEST_NAP)


def _claim(base: str, *, unlink: bool) -> FifoChannel | str:
    """The client's end of a pair, or why no pair is free now."""
    inward, outward = _names(base)
    opened: list[int] = []
    try:
        opened.append(_open(inward, os.O_RDONLY))
        fcntl.flock(opened[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(inward.stat(), os.fstat(opened[0])):
            raise FileNotFoundError
        opened.append(_open(outward, os.O_WRONLY))
        opened.append(_open(outward, os.O_RDONLY))
        if unlink:
            inward.unlink()
            outward.unlink()
        channel = FifoChannel(f"pipe:{base}", *opened)
        opened.clear()
        return channel
    except FileNotFoundError:
        return "one that is serving another client" if _served(base) else "none"
    except BlockingIOError:
        return "one that another client is about to use"
    except OSError as error:
        if error.errno == errno.ENXIO:
            return "the FIFOs of one that is gone"
        msg = f"pipe:{base}: expected FIFOs that can be opened, got: {error.strerror} ({error.filename})"
        raise PeerError(msg) from error
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _names(base: str) -> tuple[Path, Path]:
    return Path(f"{base}.in"), Path(f"{base}.out")


def _open(path: Path, mode: int) -> int:
    return _opened(path, mode, stat.S_ISFIFO, "FIFO")


def _opened(path: Path, mode: int, is_kind: Callable[[int], bool], kind: str) -> int:
    """Open a file of `kind` of this user or root, which is no symbolic link; does not block."""
    try:
        flags = mode | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.EINVAL, f"a symbolic link, not a {kind}", str(path)) from error
        raise
    status = os.fstat(descriptor)
    wrong = "" if is_kind(status.st_mode) else f"not a {kind}"
    if status.st_uid not in (0, os.geteuid()):
        wrong = f"another user's {kind}"
    if wrong:
        os.close(descriptor)
        raise OSError(errno.EINVAL, wrong, str(path))
    return descriptor


def _served(base: str) -> bool:
    """Whether a live server holds BASE.lock."""
    try:
        descriptor = _opened(Path(f"{base}.lock"), os.O_RDONLY, stat.S_ISREG, "lock file")
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


class Listener:
    """The server's claim to `base`; offers one pair after the other.

    Raises:
        PeerError: another server has claimed `base`, or the names cannot be made.
    """

    def __init__(self, base: str) -> None:
        self.base = base
        self._paths = (*_names(base), Path(f"{base}.in.new"))
        self._lock = Path(f"{base}.lock")
        self._held = -1

    def __enter__(self) -> Listener:
        try:
            self._held = self._locked()
        except OSError as error:
            raise self._refused(error) from error
        return self

    def __exit__(self, *_: object) -> None:
        if self._held >= 0:
            for path in (*self._paths, self._lock):
                with contextlib.suppress(OSError):  # it is gone, or another user's
                    if path == self._lock or path.is_fifo():
                        path.unlink()
            os.close(self._held)
            self._held = -1

    def _locked(self) -> int:
        deadline = time.monotonic() + _LOOKING
        while True:
            descriptor = _opened(self._lock, os.O_RDWR | os.O_CREAT, stat.S_ISREG, "lock file")
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(self._lock.stat(), os.fstat(descriptor)):
                    return descriptor
            except FileNotFoundError:
                pass  # its owner has just removed it
            except BlockingIOError as error:
                if time.monotonic() >= deadline:
                    os.close(descriptor)
                    there = "there is a server already; choose another base"
                    raise PeerError(f"serve --pipe {self.base}: {there}") from error
                time.sleep(_SHORTEST_NAP)
            os.close(descriptor)

    def offer(self) -> FifoChannel:
        """Make a new pair and return the server's end; a client can claim the other end now.

        The pair is complete before BASE.in gets its name, and a client opens BASE.in first.
        """
        inward, outward, unfinished = self._paths
        opened: list[int] = []
        try:
            for path in self._paths:  # left by a killed server
                if path.is_fifo():
                    path.unlink()
                elif path.is_symlink() or path.exists():
                    raise OSError(errno.EEXIST, "not a FIFO", str(path))
            os.mkfifo(outward, 0o600)
            opened.append(_open(outward, os.O_RDONLY))
            os.mkfifo(unfinished, 0o600)
            reader = _open(unfinished, os.O_RDONLY)  # opening a FIFO for writing needs a reader
            try:
                opened.append(_open(unfinished, os.O_WRONLY))
            finally:
                os.close(reader)
            unfinished.rename(inward)
            channel = FifoChannel(f"serve --pipe {self.base}", *opened)
            opened.clear()
            return channel
        except OSError as error:
            raise self._refused(error) from error
        finally:
            for descriptor in opened:
                with contextlib.suppress(OSError):  # the channel owns it, and a signal came before `clear`
                    os.close(descriptor)

    def _refused(self, error: OSError) -> PeerError:
        return PeerError(
            f"serve --pipe {self.base}: expected to make FIFOs, got: {error.strerror} ({error.filename}); "
            "choose a base in a folder of your own"
        )
