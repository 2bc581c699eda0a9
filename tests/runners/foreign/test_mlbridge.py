# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ML-Compiler-Bridge's protocols, spoken to its own Python end."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from passpilot.features.point import find_point
from passpilot.features.proto import proto_text
from passpilot.plugin.errors import ModelError, PeerError, RunnerSpecError, SpecMismatchError
from passpilot.runners.base import Runner, allocate
from passpilot.runners.foreign.mlbridge import grpc_runner, pipe_runner
from tests.command import GENEROUS, files_in, passpilot, program
from tests.runners.serving.serving import process

MODEL = Path(__file__).with_name("bridge_model.py")
FORMATS = {"bitstream": "bytes", "json": "json"}


@contextlib.contextmanager
def model(serdes: str, base: Path, how: str, size: int = 0) -> Iterator[None]:
    command = (sys.executable, str(MODEL), FORMATS[serdes], str(base), how, str(size))
    with process(*command) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n", child.communicate()[1]
        yield


def client(base: Path, serdes: str, point: str = "inline", timeout: float = GENEROUS, **more: str) -> Runner:
    options = {"serdes": serdes, **more}
    return allocate(pipe_runner(str(base), options, find_point(point), timeout))


def fill(runner: Runner) -> None:
    for number, tensor in enumerate(runner.tensors.values()):
        tensor[...] = number


@pytest.mark.parametrize("point", ["inline", "evict", "priority"])
@pytest.mark.parametrize("serdes", FORMATS)
def test_every_tensor_arrives(tmp_path: Path, serdes: str, point: str) -> None:
    how = "whole" if point != "priority" else "float"
    with model(serdes, tmp_path / "ch", how), client(tmp_path / "ch", serdes, point) as runner:
        fill(runner)
        expected = 2.5 if point == "priority" else 1
        assert [runner.evaluate() for _ in range(3)] == [expected] * 3
        if point != "priority":
            next(iter(runner.tensors.values()))[...] = 77
            assert runner.evaluate() == 0


@pytest.mark.parametrize(
    ("serdes", "point", "how", "answer"),
    [
        ("bitstream", "inline", "long", -5),
        ("bitstream", "priority", "double", 4294967295.0),
        ("bitstream", "inline", "list", 1),
        ("json", "inline", "long", -5),
        ("json", "priority", "double", 4294967295.0),
        ("json", "inline", "list", 1),
    ],
)
def test_their_ways_to_answer(tmp_path: Path, serdes: str, point: str, how: str, answer: float) -> None:
    with model(serdes, tmp_path / "ch", how), client(tmp_path / "ch", serdes, point) as runner:
        fill(runner)
        assert runner.evaluate() == answer


@pytest.mark.parametrize("serdes", FORMATS)
def test_features_that_are_chosen(tmp_path: Path, serdes: str) -> None:
    with (
        model(serdes, tmp_path / "ch", "whole"),
        client(tmp_path / "ch", serdes, features="callee_users, node_count") as runner,
    ):
        assert [spec.name for spec in runner.inputs] == ["callee_users", "node_count"]
        fill(runner)
        assert runner.evaluate() == 1


@pytest.mark.parametrize("serdes", FORMATS)
@pytest.mark.parametrize("size", [0, 7, 9])
def test_a_model_that_dies_within_its_answer(tmp_path: Path, serdes: str, size: int) -> None:
    with model(serdes, tmp_path / "ch", "dies", size), client(tmp_path / "ch", serdes) as runner:
        fill(runner)
        assert runner.evaluate() == 1
        for _ in range(2):
            with pytest.raises(PeerError, match="and the peer is gone"):
                runner.evaluate()


@pytest.mark.parametrize(("serdes", "how"), [("bitstream", "stalls"), ("json", "stalls"), ("json", "raises")])
def test_a_model_that_falls_silent(tmp_path: Path, serdes: str, how: str) -> None:
    with model(serdes, tmp_path / "ch", how, 9), client(tmp_path / "ch", serdes, timeout=2) as runner:
        fill(runner)
        if how == "stalls":
            assert runner.evaluate() == 1
        for _ in range(2):
            with pytest.raises(PeerError, match="before the deadline; see whether it hangs"):
                runner.evaluate()


def answering(base: Path, data: bytes, *, leaves: bool = False) -> threading.Thread:
    """A model without the library: answers one observation with `data`, then leaves or waits for the end."""
    for end in ("in", "out"):
        os.mkfifo(f"{base}.{end}")

    def run() -> None:
        with open(f"{base}.in", "wb", buffering=0) as writer, open(f"{base}.out", "rb") as reader:
            reader.read(struct.unpack("Q", reader.read(8))[0])
            writer.write(data)
            if not leaves:
                reader.read()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def framed(data: bytes) -> bytes:
    return struct.pack("Q", len(data)) + data


@pytest.mark.parametrize(
    ("serdes", "point", "data", "told"),
    [
        ("bitstream", "inline", framed(b""), "an advice of 1 to 65536 bytes, got 0"),
        ("bitstream", "inline", b"\xff" * 30, "an advice of 1 to 65536 bytes, got 18446744073709551615"),
        ("bitstream", "inline", framed(bytes(12)), "an advice of one int, which is 4 or 8 bytes"),
        ("bitstream", "inline", framed(b"\1\0\0\0") + b"x", "an advice of 4 bytes, got more"),
        ("bitstream", "priority", framed(b"\1\0\0\0"), r"looks like an int; answer float\(...\)"),
        ("json", "inline", framed(b"{}"), 'the object {"out": advice}, got'),
        ("json", "inline", framed(b'{"out":1,"x":2}'), 'the object {"out": advice}, got'),
        ("json", "inline", framed(b'{"out":NaN}'), "bare NaN"),
        ("json", "inline", framed(b"\x93\0"), "ch: json: expected a JSON object"),
    ],
)
def test_an_answer_of_another_form(tmp_path: Path, serdes: str, point: str, data: bytes, told: str) -> None:
    thread = answering(tmp_path / "ch", data)
    with client(tmp_path / "ch", serdes, point) as runner:
        for _ in range(2):
            with pytest.raises(PeerError, match=told):
                runner.evaluate()
    thread.join()


@pytest.mark.parametrize("serdes", FORMATS)
def test_a_model_that_is_gone_at_any_byte(tmp_path: Path, serdes: str) -> None:
    whole = framed(b'{"out":1}' if serdes == "json" else b"\1\0\0\0")
    for size in range(len(whole) + 1):
        thread = answering(tmp_path / str(size), whole[:size], leaves=True)
        with client(tmp_path / str(size), serdes) as runner:
            if size == len(whole):
                assert runner.evaluate() == 1
            with pytest.raises(PeerError, match="and the peer is gone"):
                runner.evaluate()
        thread.join()


@pytest.mark.parametrize("serdes", FORMATS)
def test_a_model_that_does_not_come(tmp_path: Path, serdes: str) -> None:
    with pytest.raises(PeerError, match="expected a model of ML-Compiler-Bridge, got none"):
        client(tmp_path / "ch", serdes, timeout=0.1)
    with (
        model(serdes, tmp_path / "ch", "never opens"),
        pytest.raises(PeerError, match="got the FIFOs of one that is gone"),
    ):
        client(tmp_path / "ch", serdes, timeout=0.3)


def test_formats_that_a_pipe_does_not_know() -> None:
    with pytest.raises(RunnerSpecError, match="expected one of bitstream, json, got 'protobuf'"):
        client(Path("ch"), "protobuf")


@pytest.mark.parametrize("serdes", FORMATS)
def test_a_compilation(tmp_path: Path, serdes: str) -> None:
    """A model's answer to real features and its faults, as a user sees them."""
    (tmp_path / "in.ll").write_text(program(3))
    flags = (
        "opt",
        "in.ll",
        "-O2",
        f"--inline=pipe:ch?protocol=mlbridge&serdes={serdes}",
        "-S",
        "-o",
        "out.ll",
    )
    with model(serdes, tmp_path / "ch", "whole"):
        done = passpilot(*flags, cwd=tmp_path)
    assert done.code == 0, done.err
    assert (tmp_path / "out.ll").read_text().count("call i32 @callee") == 3
    (tmp_path / "out.ll").unlink()
    for end in ("in", "out"):
        (tmp_path / f"ch.{end}").unlink(missing_ok=True)
    with model(serdes, tmp_path / "ch", "long"):
        done = passpilot(*flags, cwd=tmp_path)
    assert done.code == 1
    assert "decision 0 (caller0 -> callee)" in done.err
    assert "0 or 1, got int -5" in done.err
    assert "out.ll" not in files_in(tmp_path)


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


SCALARS = """\
syntax = "proto3";
service Own { rpc getAdvice(Ask) returns (Told); }
message Ask { int64 callee_users = 4; repeated int64 x = 9; }
message Told { int32 decision = 3; string why = 1; }
"""


@contextlib.contextmanager
def grpc_model(folder: Path, how: str, text: str) -> Iterator[str]:
    proto = folder / "model.proto"
    proto.write_text(text)
    port = free_port()
    path = f"PYTHONPATH={folder}"  # the modules that protoc writes import each other
    with process("env", path, sys.executable, "-u", str(MODEL), "grpc", str(port), how, str(proto)) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "Server Running\n", child.communicate()[1]
        yield f"127.0.0.1:{port}"


def grpc_client(address: str, point: str = "inline", timeout: float = GENEROUS, **options: str) -> Runner:
    return allocate(grpc_runner(address, {"protocol": "mlbridge", **options}, find_point(point), timeout))


@pytest.mark.parametrize(("point", "how", "answer"), [("inline", "whole", 1), ("priority", "float", 2.5)])
def test_a_call_per_decision(tmp_path: Path, point: str, how: str, answer: float) -> None:
    with (
        grpc_model(tmp_path, how, proto_text(find_point(point))) as address,
        grpc_client(address, point) as runner,
    ):
        fill(runner)
        assert [runner.evaluate() for _ in range(3)] == [answer] * 3
        if point == "inline":
            next(iter(runner.tensors.values()))[...] = 77
            assert runner.evaluate() == 0


def test_a_message_of_the_users_own(tmp_path: Path) -> None:
    with grpc_model(tmp_path, "scalar", SCALARS.replace("x = 9", "node_count = 9")) as address:
        file = str(tmp_path / "model.proto")
        with grpc_client(address, proto=file) as runner:
            assert [spec.name for spec in runner.inputs] == ["callee_users", "node_count"]
            runner.tensors["callee_users"][...] = 7
            assert runner.evaluate() == 0
            runner.tensors["node_count"][...] = 3
            assert runner.evaluate() == 1
    (tmp_path / "x.proto").write_text(SCALARS)
    with pytest.raises(SpecMismatchError, match="got x; `passpilot features --point=inline` lists them, and"):
        grpc_client("127.0.0.1:1", proto=str(tmp_path / "x.proto"))


def test_a_value_that_does_not_fit_its_field_ends_no_session(tmp_path: Path) -> None:
    text = SCALARS.replace("int64 callee_users", "int32 callee_users").replace("x = 9", "node_count = 9")
    with (
        grpc_model(tmp_path, "scalar", text) as address,
        grpc_client(address, proto=str(tmp_path / "model.proto")) as runner,
    ):
        runner.tensors["callee_users"][...] = 1 << 40
        for _ in range(2):
            with pytest.raises(SpecMismatchError, match="tensors that fit the fields of Ask, got: "):
                runner.evaluate()
        runner.tensors["callee_users"][...] = 7
        runner.tensors["node_count"][...] = 3
        assert runner.evaluate() == 1


@pytest.mark.parametrize(
    ("how", "kind", "told"),
    [
        ("raises", ModelError, "a bad model"),
        ("dies", PeerError, "expected an advice, got nothing, and the server is gone"),
        ("hangs", PeerError, "expected an advice, got nothing within 2 s; see whether it hangs"),
        ("nothing", PeerError, "expected an advice of one value"),
    ],
)
def test_a_server_that_fails(tmp_path: Path, how: str, kind: type[Exception], told: str) -> None:
    with (
        grpc_model(tmp_path, how, proto_text(find_point("inline"))) as address,
        grpc_client(address, timeout=2 if how == "hangs" else GENEROUS) as runner,
    ):
        for _ in range(2):
            with pytest.raises(kind, match=told):
                runner.evaluate()


def test_a_server_of_another_service(tmp_path: Path) -> None:
    with (
        grpc_model(tmp_path, "whole", proto_text(find_point("evict"))) as address,
        grpc_client(address) as runner,
        pytest.raises(PeerError, match=r"a server of /passpilot.InlineAdvisor/getAdvice, got one without it"),
    ):
        runner.evaluate()


def test_no_address() -> None:
    with pytest.raises(RunnerSpecError, match="runner grpc:here: expected HOST:PORT, got 'here'"):
        grpc_client("here")


def test_no_server() -> None:
    with pytest.raises(PeerError, match="expected a server, got none before the deadline"):
        grpc_client(f"127.0.0.1:{free_port()}", timeout=0.2)


def test_a_proto_that_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name in ("fifo", "missing", ""):
        with pytest.raises(RunnerSpecError, match=r"^proto .*: expected a file, got none$"):
            grpc_client("127.0.0.1:1", proto=str(tmp_path / name))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nonsense", "expected a file that protoc compiles, got: .*x.proto"),
        ('syntax = "proto3";', "expected one service with a unary getAdvice, got 0"),
        (SCALARS.replace("returns (Told)", "returns (stream Told)"), "a unary getAdvice, got 1"),
        (SCALARS.replace("(Ask)", "(stream Ask)"), "a unary getAdvice, got 1"),
        (SCALARS + SCALARS.splitlines()[1].replace("Own", "Two"), "a unary getAdvice, got 2"),
        (SCALARS.replace("getAdvice", "advise"), "expected one service with a unary getAdvice, got 0"),
        (
            SCALARS.replace("(Ask)", "(google.protobuf.Empty)").replace(
                "service", 'import "google/protobuf/empty.proto"; service'
            ),
            "expected the messages of getAdvice in the same file, got others",
        ),
    ],
)
def test_a_proto_that_does_not_fit(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "x.proto").write_text(text)
    with pytest.raises(RunnerSpecError, match=told):
        grpc_client("127.0.0.1:1", proto=str(tmp_path / "x.proto"))


def test_protoc_is_none_of_the_present_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "grpc_tools.py").write_text("raise ImportError('another')\n")
    (tmp_path / "x.proto").write_text("nonsense")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RunnerSpecError, match=r"protoc compiles, got: .*x\.proto"):
        grpc_client("127.0.0.1:1", proto="x.proto")


def test_a_reply_without_fields_and_a_field_too_narrow(tmp_path: Path) -> None:
    file = tmp_path / "x.proto"
    file.write_text(
        SCALARS.replace("int32 decision = 3; string why = 1;", "").replace("x = 9", "node_count = 9")
    )
    with pytest.raises(SpecMismatchError, match="expected a field for the advice in Told, got none"):
        grpc_client("127.0.0.1:1", proto=str(file))
    file.write_text(
        SCALARS.replace("repeated int64 x = 9", "int64 mask = 9").replace("callee_users", "is_hint")
    )
    with pytest.raises(SpecMismatchError, match=r"a field for is_hint \(int64\[1,33\]\) in the request"):
        grpc_client("127.0.0.1:1", "evict", proto=str(file))


@pytest.mark.parametrize("serdes", FORMATS)
def test_one_deadline_for_a_whole_compilation(tmp_path: Path, serdes: str) -> None:
    """With a deadline per decision the command would take too long."""
    (tmp_path / "in.ll").write_text(program(40))
    flags = (f"--inline=pipe:ch?protocol=mlbridge&serdes={serdes}", "--timeout=2", "--on-error=default")
    with model(serdes, tmp_path / "ch", "stalls", 3):
        done = passpilot("opt", "in.ll", "-O2", *flags, "-o", "out.bc", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "39 of 40 decisions fell back to the default; the first: " in done.err
    assert "before the deadline" in done.err
