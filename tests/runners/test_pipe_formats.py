# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pipe in formats other than bitstream: its messages, and faults at every byte of a message."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from passpilot.features.point import find_point
from passpilot.plugin.errors import ModelError, PeerError, RunnerSpecError
from passpilot.runners.base import allocate
from passpilot.runners.pipe import CodedPipeRunner
from passpilot.runners.remote import wire
from passpilot.runners.remote.fifo import Listener, connect
from passpilot.runners.serdes import advice_serdes
from passpilot.runners.spec import make_runner
from tests.runners.serving.serving import GENEROUS, point, served, spec

FORMATS = ("json", "protobuf")
INPUTS = point().select(["callee_users"])


def client(base: str, serdes: str, timeout: float = GENEROUS, name: str = "inline") -> CodedPipeRunner:
    return allocate(CodedPipeRunner(base, find_point(name), timeout, serdes))


def message(serdes: str, advice: int) -> bytes:
    """A server's complete answer."""
    made, value = advice_serdes(serdes, point().advice)
    value[...] = advice
    data = bytes(made.encode())
    return wire.HEAD.pack(0, len(data)) + data


def question(serdes: str, users: int) -> bytes:
    """The complete request of a client whose server wants `callee_users`."""
    number = [each.name for each in point().features].index("callee_users") + 1
    data = b'{"callee_users":%d}' % users
    if serdes == "protobuf":
        tag = number << 3 | 2
        data = bytes([tag & 0x7F | 0x80, tag >> 7, 1, users])
    return wire.HEAD.pack(1, len(data)) + data


class Script:
    """A server thread: it welcomes a client, answers its requests with `answers` in turn, and ends."""

    def __init__(self, base: str, *answers: bytes, hold: bool = False) -> None:
        self.requests: list[bytes] = []
        self._answers = answers
        self._released = threading.Event()
        if not hold:
            self._released.set()
        self._listener = Listener(base).__enter__()
        self._channel = self._listener.offer()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        channel, deadline = self._channel, time.monotonic() + GENEROUS
        channel.wait()
        channel.read_line(deadline, "")
        channel.write(wire.welcome(INPUTS, "script"), deadline, "")
        for answer in self._answers:
            head = channel.read(wire.HEAD.size, deadline, "")
            self.requests.append(head + channel.read(wire.HEAD.unpack(head)[1], deadline, ""))
            channel.write(answer, deadline, "")
        self._released.wait(GENEROUS)
        channel.close()

    def __enter__(self) -> Script:
        return self

    def __exit__(self, *_: object) -> None:
        self._released.set()
        self._thread.join()
        self._listener.__exit__()


@pytest.mark.parametrize("serdes", FORMATS)
def test_each_request_and_answer_is_a_message(base: str, serdes: str) -> None:
    with Script(base, message(serdes, 1), message(serdes, 0)) as script, client(base, serdes) as runner:
        runner.tensors["callee_users"][...] = 7
        assert runner.evaluate() == 1
        runner.tensors["callee_users"][...] = 8
        assert runner.evaluate() == 0
    assert script.requests == [question(serdes, 7), question(serdes, 8)]


@pytest.mark.parametrize("serdes", FORMATS)
def test_a_server_that_dies_at_any_byte_of_its_answer(base: str, serdes: str) -> None:
    whole = message(serdes, 1)
    for size in range(len(whole) + 1):
        with Script(base, whole, whole[:size]), client(base, serdes) as runner:
            assert runner.evaluate() == 1
            if size == len(whole):
                assert runner.evaluate() == 1
            for _ in range(2):
                with pytest.raises(PeerError, match="the peer is gone"):
                    runner.evaluate()


@pytest.mark.parametrize("serdes", FORMATS)
@pytest.mark.parametrize("size", [0, 3, 16, 17])
def test_a_server_that_stops_within_its_answer(base: str, serdes: str, size: int) -> None:
    with Script(base, message(serdes, 1)[:size], hold=True), client(base, serdes, 0.2) as runner:
        for _ in range(2):
            with pytest.raises(PeerError, match="before the deadline; see whether it hangs"):
                runner.evaluate()


@pytest.mark.parametrize(
    ("serdes", "answer", "told"),
    [
        ("json", b"\xff" * 40, "expected an answer of 16 bytes, got b"),
        ("json", wire.HEAD.pack(0, 1 << 40), "expected an advice of at most 65536 bytes"),
        ("json", message("json", 1) + b"x", "expected an advice of at most 23 bytes"),
        ("json", wire.HEAD.pack(0, 0), "expected a JSON object, got b''"),
        ("json", wire.HEAD.pack(0, 9) + b'{"out":1}', "got no 'inlining_decision' and 'out'"),
        ("json", wire.HEAD.pack(0, 25) + b'{"inlining_decision":1.5}', "expected integers"),
        ("json", wire.HEAD.pack(0, 25) + b'{"inlining_decision":NaN}', "bare NaN"),
        ("protobuf", wire.HEAD.pack(0, 0), "expected 1 values, got 0"),
        ("protobuf", wire.HEAD.pack(0, 4) + b"\x0a\x02\x01\x01", "expected 1 values, got 2"),
        ("protobuf", wire.HEAD.pack(0, 3) + b"\x12\x01\x01", "one of number 2"),
        ("protobuf", wire.HEAD.pack(0, 2) + b"\x0a\x09", "expected a message"),
    ],
)
def test_a_server_that_answers_nonsense(base: str, serdes: str, answer: bytes, told: str) -> None:
    with Script(base, answer, hold=True), client(base, serdes) as runner:
        for _ in range(2):
            with pytest.raises(PeerError, match=f"pipe:.*{told}"):
                runner.evaluate()


@pytest.mark.parametrize("serdes", FORMATS)
def test_a_real_server(base: str, serdes: str) -> None:
    """Answers, contexts, and errors after which the session goes on."""
    with served(spec(base, "Contexts"), base), client(base, serdes) as runner:
        runner.tensors["inlining_default"][...] = 1
        for name, answer in (("", 0), ("naïve", 1)):
            runner.switch_context(name)
            assert runner.evaluate() == answer
        with pytest.raises(ModelError, match="a bad context"):
            runner.switch_context("bad")
        assert runner.evaluate() == 0
    with served(spec(base, "fails"), base), client(base, serdes) as runner:
        for _ in range(2):
            runner.tensors["node_count"][...] = 1
            with pytest.raises(ModelError, match=r"ValueError: a bad number \(.*policy.py:\d+\)"):
                runner.evaluate()
            runner.tensors["node_count"][...] = 99
            assert runner.evaluate() == 1


@pytest.mark.parametrize("serdes", FORMATS)
def test_every_point(base: str, serdes: str) -> None:
    with served(spec(base, "largest"), base, "--point=evict"), client(base, serdes, name="evict") as runner:
        runner.tensors["mask"][...] = 1
        runner.tensors["liverange_size"][...] = np.nan
        runner.tensors["evict_default"][...] = 31
        assert runner.evaluate() == 31
        runner.switch_context("main")
        runner.tensors["liverange_size"][...] = -np.inf
        runner.tensors["liverange_size"][0, 12] = 0.5
        assert runner.evaluate() == 12
    with (
        served(spec(base, "halves"), base, "--point=priority"),
        client(base, serdes, name="priority") as runner,
    ):
        runner.tensors["priority_default"][...] = 4294967295
        assert runner.evaluate() == 4294967295 / 2


@pytest.mark.parametrize("serdes", FORMATS)
def test_a_server_survives_a_client_that_leaves_at_any_byte(base: str, serdes: str) -> None:
    name = b"a context"
    context = wire.CONTEXT + wire.WORD.pack(0) + wire.WORD.pack(len(name)) + name
    with served(spec(base, "positive"), base) as server:
        with client(base, serdes) as runner:
            data = bytes(runner._observation.encode())
        whole = context + wire.HEAD.pack(1, len(data)) + data + wire.BYE + wire.WORD.pack(0)
        for size in range(len(whole) + 1):
            deadline = time.monotonic() + GENEROUS
            channel = connect(base, deadline)
            channel.write(wire.hello(point(), serdes), deadline, "")
            channel.read_line(deadline, "")
            channel.write(whole[:size], deadline, "")
            channel.close()
        with client(base, serdes) as runner:
            runner.tensors["node_count"][...] = 1
            assert runner.evaluate() == 1
        assert server.poll() is None


def exchange(base: str, serdes: str, request: bytes) -> str:
    """The server's complaint about a request, after which it ends the session."""
    deadline = time.monotonic() + GENEROUS
    channel = connect(base, deadline)
    channel.write(wire.hello(point(), serdes), deadline, "")
    channel.read_line(deadline, "")
    channel.write(request, deadline, "")
    status, _ = wire.HEAD.unpack(channel.read(16, deadline, ""))
    text = channel.read(status, deadline, "").decode()
    with pytest.raises(PeerError, match="the peer is gone"):
        channel.read(1, deadline, "")
    channel.close()
    return text


def test_a_server_refuses_nonsense_and_goes_on(base: str) -> None:
    with served(spec(base, "positive"), base):
        for serdes, request, told in (
            ("json", wire.HEAD.pack(9, 0), "expected a request of a known kind"),
            ("json", wire.HEAD.pack(1, 1 << 60), "expected a message of at most"),
            ("json", wire.HEAD.pack(1, 2) + b"{}", "got no 'node_count'"),
            ("json", wire.HEAD.pack(1, 18) + b'{"node_count":1.5}', "expected integers, got [1.5]"),
            ("protobuf", wire.HEAD.pack(1, 1) + b"\x0a", "expected a message"),
            (
                "json",
                wire.CONTEXT + wire.WORD.pack(0) + wire.WORD.pack(1 << 60),
                "expected a name of at most",
            ),
        ):
            assert told in exchange(base, serdes, request)
        with client(base, "json") as runner:
            assert runner.evaluate() == 0


def test_a_format_that_the_server_does_not_know(base: str) -> None:
    with (
        served("const:1", base),
        pytest.raises(RunnerSpecError, match="expected one of bitstream, json, pro"),
    ):
        client(base, "xml")


def test_an_old_client_means_bitstream() -> None:
    line = wire.hello(point()).replace(b', "serdes": "bitstream"', b"")
    assert b"serdes" not in line
    assert wire.read_serdes(line) == "bitstream"
    with pytest.raises(PeerError, match="expected a format of messages, got 7"):
        wire.read_serdes(line.replace(b"{", b'{"serdes": 7, ', 1))


@pytest.mark.parametrize("serdes", ["bitstream", *FORMATS])
def test_the_spec_chooses(base: str, serdes: str) -> None:
    def ask(answer: Callable[[], object]) -> int:
        return sum(answer() == 1 for _ in range(5))

    with served("const:1", base), make_runner(f"pipe:{base}?serdes={serdes}", point()) as runner:
        assert isinstance(runner, CodedPipeRunner) == (serdes != "bitstream")
        assert ask(allocate(runner).evaluate) == 5
