# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gRPC between a client and a server: questions, answers, errors, TLS and tokens."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from passpilot.features.point import find_point
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import (
    Error,
    InputError,
    PeerError,
    RunnerSpecError,
)
from passpilot.runners.conformance import check_runner
from passpilot.runners.grpc import GrpcRunner
from passpilot.runners.remote.advisor_pb2 import Answer, Question
from passpilot.runners.remote.grpc_messages import AdviceCode, frame_head
from passpilot.runners.remote.wire import LARGEST
from passpilot.runners.serving.grpc_server import GrpcServer
from passpilot.runners.spec import make_runner
from tests.runners.serving.grpc_serving import client, served, server, target_of
from tests.runners.serving.serving import GENEROUS, SERVE, point, process, spec


def test_the_contract_is_kept() -> None:
    with served("random:5") as (_, target):
        check_runner(f"grpc:{target}")


def test_ipv6() -> None:
    with GrpcServer("const:1", "[::1]:0") as made, client(f"[::1]:{made.port}") as runner:
        assert runner.evaluate() == 1


def test_grpcio_with_other_calls_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("grpc._cython.cygrpc.ReceiveStatusOnClientOperation")
    told = r"^grpcio [0-9.]+: expected the calls that 1\.66 to .* have inside, got: .*; install one of these$"
    with server("const:1") as made, pytest.raises(PeerError, match=told):
        client(target_of(made))


def test_client_may_come_before_its_server() -> None:
    with GrpcServer("const:0", "0") as made:
        target = target_of(made)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client, target)
        with GrpcServer("const:1", target), waiting.result(GENEROUS) as runner:
            assert runner.evaluate() == 1


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("grpc:", "expected HOST:PORT, got ''"),
        ("grpc:host", "expected HOST:PORT, got 'host'"),
        ("grpc:host:x", "expected HOST:PORT"),
        ("grpc:host:65536", "expected a port below 65536, got 65536"),
        ("grpc:::1:80", "expected HOST:PORT"),
        ("grpc:[::1:80", "expected HOST:PORT"),
        ("grpc:a b:80", "expected HOST:PORT"),
        ("grpc:\0:80", "expected HOST:PORT"),
        ("grpc:\udcff:80", "expected HOST:PORT"),
        ("grpc:h:0", "expected the port that a server has, got 0"),
        ("grpc:127.others.example:1?token=x", "expected TLS for a token that leaves this machine"),
        ("grpc:h:1?colour=x", "expected keys among protocol, tls, token, proto, features"),
        ("grpc:h:1?protocol=mlgo", "expected a protocol among passpilot, mlbridge, got 'mlgo'"),
        ("grpc:h:1?features=a", "expected keys of the protocol passpilot .tls, token., got features"),
        ("grpc:h:1?token=x", "expected TLS for a token that leaves this machine, got none; add tls=CA.pem"),
        ("grpc:h:1?tls=missing.pem", "expected certificates in missing.pem, got: No such file"),
        ("grpc:127.0.0.1:1?token=@missing", "expected a token in missing, got: No such file"),
        ("grpc:127.0.0.1:1?token=a%0Ab", "expected a token of printable ASCII"),
    ],
)
def test_wrong_specs(text: str, complaint: str) -> None:
    with pytest.raises((RunnerSpecError, InputError), match=complaint):
        make_runner(text, point())


@pytest.fixture
def guarded(certificate: Path) -> Iterator[str]:
    """The target of a server with TLS and a token."""
    tls = ((certificate / "cert.pem").read_bytes(), (certificate / "cert.key").read_bytes())
    with GrpcServer("const:1", "0", token="secret-of-ours", tls=tls) as made:
        yield target_of(made)


def test_a_client_with_tls_may_come_before_its_server(certificate: Path) -> None:
    with GrpcServer("const:0", "0") as made:
        target = target_of(made)
    files = ("--tls-cert", f"{certificate}/cert.pem", "--tls-key", f"{certificate}/cert.key")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client, target, f"?tls={certificate}/cert.pem")
        time.sleep(0.5)  # the client is refused in this time
        with process(sys.executable, "-c", SERVE, "const:1", "--grpc", target, *files) as child:
            assert child.stderr is not None
            assert "answers for" in child.stderr.readline()
            with waiting.result(8) as runner:  # gRPC's own interval of five seconds would make it ten
                assert runner.evaluate() == 1


def test_tls_and_token(certificate: Path, guarded: str) -> None:
    with client(guarded, f"?tls={certificate}/cert.pem&token=@{certificate}/token") as runner:
        assert runner.evaluate() == 1


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ("?tls={}/cert.pem&token=@{}/wrong", "UNAUTHENTICATED: expected the token of this server"),
        ("?tls={}/cert.pem", "UNAUTHENTICATED: expected the token of this server"),
        ("?tls={}/other.pem&token=@{}/token", "UNAVAILABLE: .*CERTIFICATE_VERIFY_FAILED"),
        ("?tls={}/token&token=@{}/token", "UNAVAILABLE|INVALID|nothing before"),
        ("?token=@{}/token", "UNAVAILABLE: "),
    ],
)
def test_clients_that_a_guarded_server_does_not_serve(
    certificate: Path, guarded: str, keys: str, complaint: str
) -> None:
    with pytest.raises(PeerError, match=f"expected a model server, got .*({complaint})"):
        client(guarded, keys.replace("{}", str(certificate)), timeout=5)


def test_nobody_is_told_a_token_of_a_server_behind_the_server(guarded: str, certificate: Path) -> None:
    behind = f"grpc:{guarded}?tls={certificate}/cert.pem&token=secret-of-ours"
    with server(behind) as made, client(target_of(made)) as runner:
        assert isinstance(runner, GrpcRunner)
        assert runner.server == behind.replace("secret-of-ours", "...")
        assert runner.evaluate() == 1


def test_tls_with_a_server_that_has_none(certificate: Path) -> None:
    with server("const:1") as made, pytest.raises(PeerError, match=r"got UNAVAILABLE: .*; start"):
        client(target_of(made), f"?tls={certificate}/cert.pem", timeout=5)


def big(size: int) -> TensorSpec:
    return TensorSpec("big", "uint8", (size,))


def test_the_largest_message(tmp_path: Path) -> None:
    """A frame of 200 MiB minus protobuf's overhead."""
    (tmp_path / "policy.py").write_text(
        "def decide(obs):\n    return obs['big'][-1] == 7\ndecide.features = ('big',)\n"
    )
    with served(f"python:{tmp_path}/policy.py:decide", "--frame", "201") as (_, target):
        offered = replace(point(), features=(big(LARGEST - 8),))
        with client(target, offered=offered) as runner:
            runner.tensors["big"][-1] = 7
            assert runner.evaluate() == 1
        offered = replace(point(), features=(big(LARGEST),))
        with client(target, offered=offered) as runner:
            for _ in range(2):
                with pytest.raises(PeerError, match=r"RESOURCE_EXHAUSTED: .*larger than max .*209715200"):
                    runner.evaluate()


@pytest.mark.parametrize("size", [0, 8, 127, 128, 304, 16384, 1 << 21])
def test_frames_are_what_protobuf_writes(size: int) -> None:
    assert frame_head(size) + bytes(size) == Question(frame=bytes(size)).SerializeToString()


@pytest.mark.parametrize("name", ["inline", "evict", "priority"])
def test_advice_is_what_protobuf_writes(name: str) -> None:
    code = AdviceCode(find_point(name).advice)
    for advice in (0, 1, 32):
        answer = Answer()
        setattr(answer, code.field, advice)
        assert code.pack(advice) == answer.SerializeToString()
        assert code.unpack(code.pack(advice)) == (code.head, advice)


def test_sessions_leave_nothing(base: str) -> None:
    """A session leaves no threads or descriptors at the client's end, however it ends."""

    def session(target: str) -> None:
        with client(target) as runner:
            assert runner.evaluate() == 1
        forgotten = client(target)
        assert forgotten.evaluate() == 1
        del forgotten
        with pytest.raises(Error):
            client(target, offered=replace(find_point("inline"), features=()))

    def held() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), threading.active_count()

    with served(spec(base, "fails")) as (_, target):
        session(target)
        before = held()
        for _ in range(20):
            session(target)
        end = time.monotonic() + GENEROUS
        while any(
            new > old for new, old in zip(held(), before, strict=True)
        ):  # gRPC closes in the background
            assert time.monotonic() < end, (held(), before)
            os.sched_yield()
