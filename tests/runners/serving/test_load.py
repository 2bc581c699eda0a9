# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot serve --grpc` under hostile clients: honest ones are answered, and the memory is bounded."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2

from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import PeerError, SpecMismatchError
from passpilot.runners.python import Observation
from passpilot.runners.remote.fifo import connect
from passpilot.runners.serving import grpc_server
from passpilot.runners.serving.connections import peer_of
from passpilot.runners.serving.grpc_server import GrpcServer
from passpilot.runners.serving.sessions import MOST_NOTICES, Notices
from tests.runners.serving.grpc_serving import advise, client, server, target_of
from tests.runners.serving.grpc_serving import served as grpc_served
from tests.runners.serving.hostile import (
    ADVISE,
    CHECK,
    HELLO,
    KINDS,
    PREFACE,
    WATCH,
    closed,
    message,
    opened,
    pour,
    wait_for_end,
)
from tests.runners.serving.serving import (
    GENEROUS,
    SERVE,
    point,
    process,
    reached,
    resident_kilobytes,
    said_by,
    served,
)

MOST = 300 << 10
"""Kilobytes of memory that a server under attack may have."""


@contextlib.contextmanager
def watched(pid: int) -> Iterator[list[int]]:
    """The largest memory of a process during the block, in kilobytes."""
    most, done = [0], threading.Event()

    def look() -> None:
        while not done.wait(0.02):
            most[0] = max(most[0], resident_kilobytes(pid))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield most
    finally:
        done.set()
        thread.join()


def ask_once(target: str) -> object:
    """The answer to one honest client."""
    with client(target) as runner:
        return runner.evaluate()


def answered(honest: int, hostile: int) -> None:
    """Let hostile clients of all kinds come first, then honest ones, some at a time."""
    with grpc_served("const:1", "--timeout=5") as (child, target), watched(child.pid) as most:
        port = int(target.rpartition(":")[2])
        with contextlib.ExitStack() as attacks:
            for attack in KINDS * (hostile // len(KINDS)):
                attacks.enter_context(attack(port))
            with ThreadPoolExecutor(50) as clients:
                assert list(clients.map(ask_once, [target] * honest)) == [1] * honest
        assert ask_once(target) == 1
        assert child.poll() is None
    assert most[0] < MOST


def test_hostile_clients() -> None:
    answered(honest=30, hostile=30)


@pytest.mark.soak
def test_a_hundred_hostile_clients_among_a_thousand() -> None:
    for _ in range(5):
        answered(honest=1000, hostile=100)


def test_idle_connections_do_not_take_the_last_descriptors() -> None:
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100)); {SERVE}"
    with (
        process(sys.executable, "-c", limited, "const:1", "--grpc", "0") as child,
        contextlib.ExitStack() as open_,
    ):
        assert child.stdout is not None
        port = int(child.stdout.readline())
        for _ in range(150):
            connection = open_.enter_context(opened(port))
            connection.sendall(PREFACE)  # gRPC itself ends connections that never begin
        assert ask_once(f"127.0.0.1:{port}") == 1


@pytest.mark.parametrize("path", [ADVISE, CHECK])
def test_a_call_without_a_message_ends(path: str) -> None:
    """A unary call, too: gRPC would wait for its message with no deadline."""
    with server("const:1", timeout=0.2) as made, opened(made.port, path) as connection:
        wait_for_end(connection)


def test_an_unfinished_question_has_a_deadline() -> None:
    begun = message(HELLO) + message(bytes(10_000), 20_000)
    with server("const:1", timeout=0.2) as made, opened(made.port, ADVISE, begun) as connection:
        assert closed(connection, GENEROUS)
        assert ask_once(target_of(made)) == 1


def test_what_a_session_did_not_declare_is_not_received() -> None:
    """The frame of `const:1` is empty, so that a question of 300 kB is none."""
    begun = message(HELLO) + message(b"", 1_000_000)
    with server("const:1") as made, opened(made.port, ADVISE, begun) as connection:
        pour(connection, 300_000)
        assert closed(connection, GENEROUS)


def test_messages_are_not_expanded() -> None:
    packed = grpc.Compression.Gzip
    with server("const:1") as made, grpc.insecure_channel(target_of(made), compression=packed) as channel:
        with pytest.raises(grpc.RpcError) as caught:
            list(advise(channel)(iter([HELLO]), timeout=GENEROUS))
        assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_unknown_names_of_health_checks_are_refused() -> None:
    with server("const:1") as made, grpc.insecure_channel(target_of(made)) as channel:
        ask = channel.unary_stream(
            WATCH, health_pb2.HealthCheckRequest.SerializeToString, health_pb2.HealthCheckResponse.FromString
        )
        with pytest.raises(grpc.RpcError) as caught:
            next(ask(health_pb2.HealthCheckRequest(service="other"), timeout=GENEROUS))
        assert caught.value.code() == grpc.StatusCode.NOT_FOUND
        known = ask(health_pb2.HealthCheckRequest(service="passpilot.v1.Advisor"), timeout=GENEROUS)
        assert next(known).status == health_pb2.HealthCheckResponse.SERVING
        known.cancel()


def test_addresses_of_one_host_are_one_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc_server, "MOST", 4)
    with server("const:1") as made, contextlib.ExitStack() as sessions:
        for sender in ("127.0.0.2", "127.0.0.3"):
            connection = sessions.enter_context(opened(made.port, ADVISE, message(HELLO), sender))
            while b"const" not in connection.recv(1 << 16):
                pass
        with pytest.raises(PeerError, match="expected at most 2 sessions of one peer at a time"):
            ask_once(target_of(made))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("127.0.0.1", "127.9.9.9", True),
        ("127.0.0.1", "::1", True),
        ("::ffff:127.0.0.1", "::1", True),
        ("2001:db8::1", "2001:db8::2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
    ],
)
def test_who_is_one_peer(one: str, other: str, *, same: bool) -> None:
    assert (peer_of(one) == peer_of(other)) == same


@pytest.mark.parametrize("scheme", ["grpc", "pipe"])
def test_tensors_have_a_largest_size(tmp_path: Path, scheme: str) -> None:
    (tmp_path / "policy.py").write_text("def decide(obs):\n    return True\ndecide.features = ('big',)\n")
    policy, base = f"python:{tmp_path}/policy.py:decide", str(tmp_path / "ch")
    for size, flags in ((1 << 20, ()), (100_000_000, ()), (2 << 20, ("--frame", "2"))):
        offered = point(TensorSpec("big", "uint8", (size,)))
        with contextlib.ExitStack() as stack:
            if scheme == "grpc":
                child, target = stack.enter_context(grpc_served(policy, *flags))
            else:
                child, target = stack.enter_context(served(policy, base, *flags)), base
            if size > 3 << 20:
                with pytest.raises(
                    SpecMismatchError, match="expected tensors of at most 1048576 bytes, got 1"
                ):
                    reached(f"{scheme}:{target}", offered)
                assert resident_kilobytes(child.pid) < MOST
            else:
                with reached(f"{scheme}:{target}", offered) as runner:
                    assert runner.evaluate() == 1


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01\x02\x00\x01"])
def test_a_handshake_of_tls_that_stalls_ends(certificate: Path, sent: bytes) -> None:
    tls = ((certificate / "cert.pem").read_bytes(), (certificate / "cert.key").read_bytes())
    with GrpcServer("const:1", "0", timeout=0.5, tls=tls) as made:
        with socket.create_connection(("127.0.0.1", made.port)) as connection:
            connection.sendall(sent)
            assert closed(connection, GENEROUS)
        with client(target_of(made), f"?tls={certificate}/cert.pem") as runner:
            assert runner.evaluate() == 1


def test_clients_do_not_fill_the_log(tmp_path: Path) -> None:
    """Every one of them is refused with a line, which nobody reads here."""
    base = str(tmp_path / "ch")
    with served("const:1", base) as child:
        for _ in range(2 * MOST_NOTICES + 20):
            connect(base, time.monotonic() + GENEROUS).close()
        with reached(f"pipe:{base}") as runner:
            assert runner.evaluate() == 1
        child.terminate()
        code, said = said_by(child)
    assert code == 0
    assert 5 < len(said.splitlines()) <= 2 * MOST_NOTICES + 4  # a minute may end in between


def test_what_is_left_out_of_the_log_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    notices = Notices(lines.append, 2)
    for now, text in ((0.0, "a"), (1.0, "b"), (2.0, "c"), (59.9, "d"), (60.0, "e" * 2000), (200.0, "f")):
        monkeypatch.setattr(time, "monotonic", lambda now=now: now)
        notices(text)
    assert lines == ["a", "b", "2 lines about clients left out", "e" * 1000, "f"]


class Big:
    """A policy that sees a large tensor."""

    features = ("big",)

    def decide(self, obs: Observation) -> bool:
        return bool(obs["big"][0] >= 0)


def test_what_tls_adds_to_large_questions_is_no_message(certificate: Path) -> None:
    tls = ((certificate / "cert.pem").read_bytes(), (certificate / "cert.key").read_bytes())
    big = TensorSpec("big", "float32", (2 << 20,))
    keys = f"?tls={certificate}/cert.pem"
    with (
        GrpcServer(Big(), "0", frame=big.nbytes << 1, tls=tls) as made,
        client(target_of(made), keys, offered=point(big)) as runner,
    ):
        for number in range(25):
            runner.tensors["big"][:] = number
            assert runner.evaluate() == 1
