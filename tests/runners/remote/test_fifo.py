# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FIFOs and lock files of other users, and symbolic links in their place, at both ends of a pipe."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from passpilot.plugin.errors import PeerError
from passpilot.runners.remote.fifo import FifoChannel, Listener, connect, join
from tests.command import GENEROUS

NOBODY: Final = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of other users")


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that any user reaches and may write, such as /tmp."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o1777)
        yield Path(folder)


def client(base: Path) -> object:
    return connect(str(base), time.monotonic() + GENEROUS)


def foreign(base: Path) -> object:
    """The client of another program's protocol."""
    return join(str(base), time.monotonic() + GENEROUS, "a model")


@needs_root
@pytest.mark.parametrize("end", [client, foreign])
@pytest.mark.parametrize("name", ["in", "out"])
def test_a_client_refuses_another_users_fifo(
    end: Callable[[Path], object], name: str, tmp_path: Path
) -> None:
    base = tmp_path / "ch"
    for each in ("in", "out"):
        os.mkfifo(f"{base}.{each}")
    os.chown(f"{base}.{name}", NOBODY, -1)
    writer = os.open(f"{base}.in", os.O_RDWR)
    reader = os.open(f"{base}.out", os.O_RDWR)
    try:
        with pytest.raises(PeerError, match=rf"got: another user's FIFO \(.*ch\.{name}\)"):
            end(base)
    finally:
        os.close(writer)
        os.close(reader)


@pytest.mark.parametrize(("end", "stay"), [(client, False), (foreign, True)])
def test_only_our_own_protocol_takes_the_names_of_a_pair(
    end: Callable[[Path], Any], stay: bool, tmp_path: Path
) -> None:
    base = tmp_path / "ch"
    for each in ("in", "out"):
        os.mkfifo(f"{base}.{each}")
    ends = [os.open(f"{base}.{each}", os.O_RDWR) for each in ("in", "out")]
    end(base).close()
    assert [path.name for path in sorted(tmp_path.glob("ch.*[nt]"))] == (["ch.in", "ch.out"] if stay else [])
    for descriptor in ends:
        os.close(descriptor)


@pytest.mark.parametrize("end", [client, foreign])
def test_a_client_refuses_a_link(end: Callable[[Path], object], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "ch.in").symlink_to("fifo")
    with pytest.raises(PeerError, match=r"got: a symbolic link, not a FIFO \(.*ch\.in\)"):
        end(tmp_path / "ch")


def test_a_lock_is_not_made_through_a_dangling_link(tmp_path: Path) -> None:
    (tmp_path / "ch.lock").symlink_to("elsewhere")
    with pytest.raises(PeerError, match=r"a symbolic link, not a lock file \(.*ch\.lock\)"):
        Listener(str(tmp_path / "ch")).__enter__()
    assert os.listdir(tmp_path) == ["ch.lock"]


def test_a_server_starts_while_a_client_looks_at_the_lock(tmp_path: Path) -> None:
    base = str(tmp_path / "base")
    descriptor = os.open(f"{base}.lock", os.O_RDONLY | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    threading.Timer(0.05, os.close, (descriptor,)).start()
    with Listener(base), pytest.raises(PeerError, match="there is a server already"), Listener(base):
        pass


def test_a_fifo_is_no_lock(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ch.lock")
    with pytest.raises(PeerError, match="not a lock file"):
        Listener(str(tmp_path / "ch")).__enter__()
    with pytest.raises(PeerError, match=r"expected a model server, got none"):
        connect(str(tmp_path / "ch"), time.monotonic())


@needs_root
def test_another_users_lock_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ch.lock").touch()
    os.chown(tmp_path / "ch.lock", NOBODY, -1)
    with pytest.raises(PeerError, match="another user's lock file"):
        Listener(str(tmp_path / "ch")).__enter__()


@needs_root
@pytest.mark.parametrize("name", ["ch.in", "ch.out", "ch.in.new"])
def test_a_server_that_cannot_remove_another_users_fifo(name: str, shared: Path) -> None:
    """The server is an ordinary user."""
    folder = shared
    os.mkfifo(folder / name)
    os.chown(folder / name, NOBODY, -1)
    listener = Listener(str(folder / "ch"))
    os.seteuid(NOBODY - 1)
    try:
        with pytest.raises(PeerError, match="expected to make FIFOs, got: Operation not permitted"):  # noqa: SIM117
            with listener:
                listener.offer()
    finally:
        os.seteuid(0)
    assert os.listdir(folder) == [name]
    assert stat.S_ISFIFO((folder / name).stat().st_mode)


@pytest.mark.timeout(60)
def test_a_peer_that_does_not_read_is_noticed_in_time() -> None:
    """More than a FIFO holds: the writer waits until the deadline, and no longer."""
    (answers, answering), (unread, questions) = os.pipe(), os.pipe()
    os.set_blocking(questions, False)
    channel = FifoChannel("model at x", answers, questions, answering)
    try:
        began = time.monotonic()
        with pytest.raises(PeerError, match=r"^model at x: expected it to read a question"):
            channel.write(bytes(1 << 21), began + 0.2, "a question")
        assert 0.2 <= time.monotonic() - began < GENEROUS
    finally:
        channel.close()
        os.close(unread)


def test_a_client_that_locks_a_pair_whose_names_have_passed_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server gives the names to a new pair after the client has opened the old one."""
    lock = fcntl.flock
    servers: list[FifoChannel] = []

    def late(descriptor: int, how: int) -> None:
        if len(servers) == 1:
            servers.append(listener.offer())
        lock(descriptor, how)

    with Listener(str(tmp_path / "ch")) as listener:
        servers.append(listener.offer())
        monkeypatch.setattr(fcntl, "flock", late)
        end = connect(str(tmp_path / "ch"), time.monotonic() + GENEROUS)
        for number, server in enumerate(servers):
            with contextlib.suppress(PeerError):  # nobody reads from the first
                server.write(b"%d" % number, time.monotonic() + GENEROUS, "a number")
        assert end.read(1, time.monotonic() + GENEROUS, "a number") == b"1"
        for each in (end, *servers):
            each.close()
