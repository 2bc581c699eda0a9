# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler service when a connection, or one of its processes, ends after any byte of a message."""

from __future__ import annotations

import contextlib
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

import pytest

from passpilot.plugin.errors import PeerError
from passpilot.training.compiler_pb2 import AgentMessage
from passpilot.training.episode import CompilerClient
from passpilot.training.messages import LENGTH
from passpilot.training.worker import AgentChannel
from tests.command import program
from tests.runners.remote.cutter import cutter
from tests.training.serving import INLINE, Played, persistently, play, served

TOGETHER = 3


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("step", [397, pytest.param(1, marks=pytest.mark.soak)])
def test_an_agents_connection_that_ends_after_any_byte(step: int, tmp_path: Path) -> None:
    """The agent gets an error or its whole episode, and the service goes on."""
    module = program(2).encode()
    with served(tmp_path) as service:
        with cutter(service.target) as whole, CompilerClient(whole.target) as client:
            expected = play(client, 1, module, **INLINE)
            sizes = dict(whole.passed)
        assert min(sizes.values()) > 300

        def outcome(way: str, size: int) -> Played | str:
            with cutter(service.target) as cut, CompilerClient(cut.target, timeout=3) as client:
                cut.cut_after(way, size)
                try:
                    return play(client, 1, module, **INLINE)
                except PeerError as error:
                    return str(error)

        places = [(way, size) for way in sizes for size in range(0, sizes[way], step)]
        with ThreadPoolExecutor(TOGETHER) as pool:
            outcomes = list(pool.map(outcome, *zip(*places, strict=True)))
        assert all(each == expected or "expected" in str(each) for each in outcomes)
        assert outcomes.count(expected) < len(outcomes) / 2
        with service.client() as client:
            persistently(lambda: play(client, 1, module, **INLINE))


class _Ended(Exception):  # noqa: N818
    """The process would end."""


class _Told(AgentChannel):
    def _gone(self) -> NoReturn:
        raise _Ended


def test_a_worker_ends_with_a_service_that_dies_after_any_byte() -> None:
    """A part of a message may be a valid message, which nobody has sent."""
    message = AgentMessage()
    message.start.point = "inline"
    message.start.features.extend(["callee_users", "node_count"])
    data = message.SerializeToString()
    sent = LENGTH.pack(len(data)) + data
    for size in range(len(sent) + 1):
        ours, theirs = socket.socketpair()
        with ours:
            ours.sendall(sent[:size])
        with contextlib.closing(_Told(theirs)) as channel:
            if size < len(sent):
                with pytest.raises(_Ended):
                    channel.receive()
            else:
                assert channel.receive() == message
