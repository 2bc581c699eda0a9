# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: ARG001
"""gRPC between a client and a server: questions, answers, errors, TLS and tokens."""

from __future__ import annotations

import datetime
import ipaddress
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from passpilot.features.custom import feature, unregister
from passpilot.features.point import find_point
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import (
    Error,
    InputError,
    ModelError,
    PeerError,
    RunnerSpecError,
    SpecMismatchError,
)
from passpilot.runners.advisor import LARGEST, AdviceCode, frame_head
from passpilot.runners.advisor_pb2 import Answer, Question
from passpilot.runners.base import allocate
from passpilot.runners.check import check_runner
from passpilot.runners.grpc import GrpcRunner
from passpilot.runners.grpc_server import GrpcServer
from passpilot.runners.spec import make_runner
from tests.runners.grpc_serving import client, served, server, target_of
from tests.runners.serving import GENEROUS, interrupt_once_asked, point, resident_kilobytes, spec


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A base beside the file of policies, as for pipes."""
    from tests.runners.conftest import POLICY

    folder = tmp_path_factory.mktemp("grpc")
    (folder / "policy.py").write_text(POLICY)
    return str(folder / "ch")


def test_questions_and_answers(policies: str) -> None:
    with server(spec(policies, "positive")) as made, client(target_of(made)) as runner:
        assert [each.name for each in runner.inputs] == ["node_count"]
        assert isinstance(runner, GrpcRunner)
        assert runner.server == spec(policies, "positive")
        for value in (1, 0, -1, 2**63 - 1):
            runner.tensors["node_count"][...] = value
            assert runner.evaluate() == (value > 0)
            assert runner.tensors["node_count"] == value


def test_every_tensor_arrives_in_its_place(policies: str) -> None:
    with server(spec(policies, "whole")) as made, client(target_of(made)) as runner:
        for number, view in enumerate(runner.tensors.values()):
            view[...] = number + 1
        assert runner.evaluate() == 1


def test_the_contract_is_kept(policies: str) -> None:
    with served("random:5") as (_, target):
        check_runner(f"grpc:{target}")


def test_contexts_and_the_default_travel(policies: str) -> None:
    with server(spec(policies, "Contexts")) as made:
        for _ in range(2):  # a runner each
            with client(target_of(made)) as runner:
                runner.switch_context("")
                runner.switch_context("naïve")
                assert runner.evaluate() == 0
                runner.tensors["inlining_default"][...] = 1
                assert runner.evaluate() == 1
                with pytest.raises(ModelError, match=r"ValueError: a bad context \(.*policy.py:\d+\)"):
                    runner.switch_context("bad")
                assert runner.evaluate() == 0


def test_evictions_travel(policies: str) -> None:
    with server(spec(policies, "largest"), "evict") as made:
        with pytest.raises(SpecMismatchError, match="a client of the decision point evict, got"):
            client(target_of(made))
        with client(target_of(made), offered=find_point("evict")) as runner:
            assert [str(each) for each in runner.inputs] == ["float32[1,33]", "int64[1,33]", "int64[1]"]
            runner.tensors["mask"][0, [3, 32]] = 1
            runner.tensors["evict_default"][...] = 32
            assert runner.evaluate() == 32
            runner.switch_context("main")
            runner.tensors["liverange_size"][0, 4] = 2
            with pytest.raises(ModelError, match=r"'mask' allows \(3, 32\), got int64 np.int64\(4\)"):
                runner.evaluate()
            runner.tensors["mask"][0, 4] = 1
            answer = runner.evaluate()
            assert (type(answer), answer) == (int, 4)


def test_priorities_travel_exactly(policies: str) -> None:
    with (
        server(spec(policies, "halves"), "priority") as made,
        client(target_of(made), offered=find_point("priority")) as runner,
    ):
        for value in (2.0**32 - 1, 3221225985.0, 0.2):
            runner.tensors["priority_default"][...] = value
            assert runner.evaluate() == value / 2
        runner.tensors["priority_default"][...] = float("nan")
        with pytest.raises(ModelError, match="expected a number of 0 to 4294967295, got float nan"):
            runner.evaluate()


def test_custom_feature_of_the_compilers_side(policies: str) -> None:
    with server(spec(policies, "custom")) as made:
        with pytest.raises(SpecMismatchError, match="for_test_pipe"):
            client(target_of(made))

        @feature("float32[1]", name="for_test_pipe")
        def here(site: object) -> float:
            return 5

        try:
            offered = find_point("inline")
        finally:
            unregister("for_test_pipe")
        with client(target_of(made), offered=offered) as runner:
            runner.tensors["for_test_pipe"][...] = 5
            assert runner.evaluate() == 1


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (1, r"ValueError: a bad number \(.*policy.py:\d+\)$"),
        (2, r"advice: expected a bool or an integer 0 or 1, got float 0.5"),
        (3, r"PolicyError: obs.site: expected a policy inside the compiler.*grpc: \(.*policy.py:\d+\)$"),
        (4, r"PolicyError: obs.default\(\): .*'inlining_default'\) \(.*policy.py:\d+\)$"),
        (5, r"PolicyError: obs\['edge_count'\]: .*policy.py:\d+\)$"),
        (6, r"SystemExit: leaving \(.*policy.py:\d+\)$"),
        (7, r"ValueError: x{60000,}$"),
    ],
)
def test_errors_of_the_policy_come_back_and_the_session_goes_on(
    policies: str, value: int, complaint: str
) -> None:
    with server(spec(policies, "fails")) as made, client(target_of(made)) as runner:
        for _ in range(3):
            runner.tensors["node_count"][...] = value
            with pytest.raises(ModelError, match=complaint) as caught:
                runner.evaluate()
            assert str(caught.value).startswith(f"grpc:{target_of(made)} (python:")
            runner.tensors["node_count"][...] = 0
            assert runner.evaluate() == 1


def test_random_is_the_same_over_grpc() -> None:
    with (
        server("random:7") as made,
        client(target_of(made)) as there,
        allocate(make_runner("random:7", point())) as here,
    ):
        answers = []
        for context in ("", "a.c", "", "naïve"):
            for runner in (there, here):
                runner.switch_context(context)
            answers += [(there.evaluate(), here.evaluate()) for _ in range(50)]
    assert all(a == b for a, b in answers)
    assert 0 < sum(int(str(a)) for a, _ in answers) < 200


def test_closed_runner() -> None:
    with server("const:1") as made:
        runner = client(target_of(made))
        assert runner.evaluate() == 1
        runner.close()
        runner.close()
        for _ in range(2):
            with pytest.raises(PeerError, match="one that was closed"):
                runner.evaluate()
        with pytest.raises(PeerError, match="one that was closed"):
            runner.switch_context("x")


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
        ("grpc:host:65536", "expected HOST:PORT"),
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


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a certificate for this machine that signs itself, its key, and another certificate."""
    folder = tmp_path_factory.mktemp("tls")
    for name in ("cert", "other"):
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "passpilot")])
        now = datetime.datetime.now(datetime.UTC)
        made = (
            x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False
            )
            .sign(key, hashes.SHA256())
        )
        (folder / f"{name}.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
        (folder / f"{name}.key").write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
    (folder / "token").write_text("secret-of-ours\n")
    (folder / "wrong").write_text("secret-of-others\n")
    return folder


@pytest.fixture
def guarded(certificate: Path) -> Iterator[str]:
    """The target of a server with TLS and a token."""
    tls = ((certificate / "cert.pem").read_bytes(), (certificate / "cert.key").read_bytes())
    with GrpcServer("const:1", "0", token="secret-of-ours", tls=tls) as made:
        yield target_of(made)


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
    """A frame of 200 MiB less what protobuf adds."""
    (tmp_path / "policy.py").write_text(
        "def decide(obs):\n    return obs['big'][-1] == 7\ndecide.features = ('big',)\n"
    )
    with served(f"python:{tmp_path}/policy.py:decide") as (_, target):
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


def test_interruption_ends_the_session(policies: str) -> None:
    """What the server still answers would belong to a question that was given up."""
    with served(spec(policies, "forever")) as (child, target), client(target) as runner:
        interrupt_once_asked(child, runner)
        with pytest.raises(PeerError, match="one that an interruption ended"):
            runner.evaluate()


def test_sessions_leave_nothing(policies: str) -> None:
    """Neither threads nor descriptors at the client's end, whatever way the session ends."""

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

    with served(spec(policies, "fails")) as (_, target):
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


def test_neither_end_grows(policies: str) -> None:
    with served(spec(policies, "positive")) as (child, target), client(target) as runner:

        def ask(count: int) -> list[int]:
            for _ in range(count):
                runner.evaluate()
            return [resident_kilobytes(), resident_kilobytes(child.pid)]

        ask(1_000)
        sizes = [ask(1_000) for _ in range(4)]
    for end in zip(*sizes, strict=True):
        # What is allocated once shows in one batch, a leak in each.
        assert min(new - old for old, new in pairwise(end)) < 50
