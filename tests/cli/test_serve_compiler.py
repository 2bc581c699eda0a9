# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot serve-compiler` as a command: how it starts, whom it answers, what it refuses."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import os
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from passpilot.plugin.errors import InputError, PeerError
from passpilot.training.compiler_pb2 import CompilerMessage
from passpilot.training.compiler_service import SERVICE
from passpilot.training.episode import CompilerClient
from passpilot.training.pool import Pool, WorkerOptions
from tests.command import GENEROUS, PASSPILOT, finished, passpilot, refused, started
from tests.training.serving import served

CODE = b"define i32 @f() { ret i32 1 }"


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate that this machine has signed for itself, and its key, as PEM files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1)
    builder = builder.not_valid_before(now - datetime.timedelta(days=1)).add_extension(
        address, critical=False
    )
    made = builder.not_valid_after(now + datetime.timedelta(days=1)).sign(key, hashes.SHA256())
    chain, private = folder / "chain.pem", folder / "key.pem"
    pem = serialization.Encoding.PEM
    chain.write_bytes(made.public_bytes(pem))
    private.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return chain, private


def test_tls_and_a_token(tmp_path: Path) -> None:
    chain, key = certificate(tmp_path)
    secret = tmp_path / "token"
    secret.write_text("a-secret\n")
    flags = (f"--tls-cert={chain}", f"--tls-key={key}", f"--token=@{secret}")
    with served(tmp_path, *flags) as service:
        with CompilerClient(service.target, tls=str(chain), token="a-secret", timeout=GENEROUS) as client:
            assert client.reset(CODE, point="inline", pipeline="default<Oz>", reward="native-size") is None
            assert client.info["value"] == client.info["baseline"]
        for token in ("", "another", "a-secret-", "ä"):
            kind = InputError if token == "ä" else PeerError
            with pytest.raises(kind, match=r"token"):  # noqa: SIM117
                with CompilerClient(service.target, tls=str(chain), token=token, timeout=GENEROUS) as client:
                    client.reset(CODE, point="inline", pipeline="default<Oz>")
        plain = CompilerClient(service.target, token="a-secret", timeout=GENEROUS)
        with plain as client, pytest.raises(PeerError, match="UNAVAILABLE"):
            client.reset(CODE, point="inline", pipeline="default<Oz>")
        service.process.terminate()
        assert service.ended() == (0, "")


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refused("serve-compiler", f"--grpc={port}", cwd=tmp_path)
    assert f"serve-compiler --grpc {port}: expected to listen there, got" in said


@pytest.mark.parametrize(
    ("flags", "code", "text"),
    [
        ((), 2, "expected --grpc, got none"),
        (("--grpc=nowhere",), 2, "expected HOST:PORT, got 'nowhere'"),
        (("--grpc=0", "--timeout=0"), 2, "-timeout: expected a number of seconds above 0, got '0'"),
        (("--grpc=0", "--timeout=nan"), 2, "-timeout: expected a number of seconds above 0, got 'nan'"),
        (("--grpc=0", "--compile-timeout=-1"), 2, "-compile-timeout: expected"),
        (("--grpc=0", "--episodes=0"), 2, "-episodes: expected a number of episodes, 1 or more, got '0'"),
        (("--grpc=0", "--modules=absent"), 1, "--modules: expected a folder, got absent"),
        (("--grpc=0", "--load=absent.py"), 1, "file absent.py: expected a Python file that can be read"),
        (("--grpc=0", "--load=bad.py"), 1, "bad.py:1: expected Python that runs, got ZeroDivisionError"),
        (("--grpc=0", "--load=exits.py"), 1, "exits.py:1: expected Python that runs, got SystemExit: 3"),
        (("--grpc=0", "--token=@absent"), 1, "serve-compiler: --token: expected a token in absent"),
        (
            ("--grpc=0", "--tls-cert=absent", "--tls-key=absent"),
            1,
            "serve-compiler: --tls-cert: expected a certificate in absent",
        ),
        (
            ("--grpc=0", "--tls-cert=absent"),
            1,
            "serve-compiler: --tls-cert and --tls-key belong together",
        ),
    ],
)
def test_wrong_flags(tmp_path: Path, flags: tuple[str, ...], code: int, text: str) -> None:
    (tmp_path / "bad.py").write_text("1 / 0\n")
    (tmp_path / "exits.py").write_text("raise SystemExit(3)\n")
    assert text in refused("serve-compiler", *flags, cwd=tmp_path, code=code)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_while_a_file_is_loaded(tmp_path: Path, number: signal.Signals) -> None:
    here = tmp_path / "here"
    (tmp_path / "slow.py").write_text(f"import time\nopen({str(here)!r}, 'w').close()\ntime.sleep(1000)\n")
    flags = ("serve-compiler", "--grpc=0", "--load=slow.py")
    with started(PASSPILOT, *flags, cwd=tmp_path) as service:
        while not here.exists():
            assert service.poll() is None
            os.sched_yield()
        service.send_signal(number)
        done = finished(service, time.monotonic())
    assert (done.code, done.out, done.err) == (0, b"", "")


def test_modules_of_the_present_folder_are_not_the_services(tmp_path: Path) -> None:
    (tmp_path / "tempfile.py").write_text("1 / 0\n")
    (tmp_path / "file.py").write_text("import nothing\n")
    said = refused("serve-compiler", "--grpc=0", "--load=file.py", cwd=tmp_path)
    assert "No module named 'nothing'" in said


def test_it_is_listed_and_explained(tmp_path: Path) -> None:
    assert b"serve-compiler" in passpilot("--help", cwd=tmp_path).out
    assert b"--compile-timeout" in passpilot("serve-compiler", "--help", cwd=tmp_path).out


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan"), float("inf")])
def test_a_client_without_a_deadline_is_refused(timeout: float) -> None:
    with pytest.raises(InputError, match="expected a timeout of more than 0 seconds"):
        CompilerClient("127.0.0.1:5005", timeout=timeout)


def test_no_token_leaves_the_machine_unless_told_to() -> None:
    with pytest.raises(InputError, match="expected TLS for a token that leaves this machine"):
        CompilerClient("192.0.2.1:5005", token="a-secret")
    CompilerClient("192.0.2.1:5005", token="a-secret", tls="no")


def answering(answer: CompilerMessage) -> grpc.Server:
    """A service that says the same to all."""
    server = grpc.server(ThreadPoolExecutor(1))
    serve: grpc.RpcMethodHandler[bytes, CompilerMessage] = grpc.stream_stream_rpc_method_handler(
        lambda messages, _: (answer for _ in messages), response_serializer=CompilerMessage.SerializeToString
    )
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {"Episodes": serve}),))
    return server


@pytest.mark.parametrize(
    "answer", [CompilerMessage(), CompilerMessage(observation=b""), CompilerMessage(observation=bytes(8))]
)
def test_answers_that_make_no_episode(answer: CompilerMessage) -> None:
    server = answering(answer)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        expected = pytest.raises(
            PeerError, match=r"expected an observation of 0 bytes, got [08]; use one version"
        )
        with CompilerClient(f"127.0.0.1:{port}", timeout=GENEROUS) as client, expected:
            client.reset(CODE, point="inline", pipeline="default<Oz>")
    finally:
        server.stop(None).wait()


def test_a_worker_that_comes_back_late_is_not_kept() -> None:
    async def scene() -> None:
        pool = Pool(WorkerOptions(), 1)
        worker = await pool.borrow()
        pool.close()
        pool.give_back(worker, done=False)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        pool.give_back(worker, done=True)
        assert await pool.borrow() is not worker
        pool.close()

    asyncio.run(scene())


def test_nobody_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("passpilot.training.episode_stream._PATIENCE", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with CompilerClient(f"127.0.0.1:{port}") as client, pytest.raises(PeerError, match="UNAVAILABLE"):
        client.reset(CODE, point="inline", pipeline="default<Oz>")


def test_somebody_silent_is_there() -> None:
    """A port at which somebody listens and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        target = f"127.0.0.1:{silent.getsockname()[1]}"
        late = pytest.raises(PeerError, match=r"expected an answer, got none within 0\.5 s")
        with CompilerClient(target, timeout=0.5) as client, late:
            client.reset(CODE, point="inline", pipeline="default<Oz>")
