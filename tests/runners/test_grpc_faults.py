# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gRPC when one end dies, stops, or sends wrong messages."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from passpilot.features.point import find_point
from passpilot.passes.advisor import Advisor
from passpilot.passes.llvm_advisors import EvictAdvisor, InlineAdvisor, PriorityAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin.errors import AdviceError, Error, ModelError, PeerError, SpecMismatchError
from passpilot.plugin.module import Module
from passpilot.runners.base import Runner
from passpilot.runners.python import Observation
from passpilot.runners.remote import grpc_messages, wire
from passpilot.runners.remote.advisor_pb2 import Answer, Done, Failure, Hello, Question, Welcome
from passpilot.runners.serving.sessions import Tally
from tests.command import CALLS, program, stock
from tests.passes.allocation import pressure
from tests.runners.remote.cutter import cutter
from tests.runners.serving.grpc_serving import advise, client, served, server, target_of
from tests.runners.serving.serving import GENEROUS, point, spec

Session = Callable[[Iterator[bytes]], Iterator[bytes]]

WELCOME = Answer(welcome=Welcome(inputs=["node_count"], runner="faulty")).SerializeToString()
YES = Answer(integer=1).SerializeToString()


@contextlib.contextmanager
def speaking(session: Session) -> Iterator[str]:
    """The target of a server that answers with arbitrary bytes."""
    handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(
        lambda requests, _context: session(requests)
    )
    made = grpc.server(ThreadPoolExecutor(4), options=[("grpc.max_receive_message_length", -1)])
    made.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(grpc_messages.SERVICE, {grpc_messages.METHOD: handler}),)
    )
    port = made.add_insecure_port("127.0.0.1:0")
    made.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        made.stop(None).wait()


def answers(*given: bytes) -> Session:
    """A session with a correct handshake and these answers."""

    def session(requests: Iterator[bytes]) -> Iterator[bytes]:
        for answer in (WELCOME, *given):
            next(requests)
            yield answer

    return session


@contextlib.contextmanager
def listening(says: bytes, *, leaves: bool) -> Iterator[str]:
    """The target of a plain TCP server that sends bytes to every client, and may then leave."""
    held: list[socket.socket] = []

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                held.append(connection)
                connection.sendall(says)
                if leaves:
                    connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    for connection in held:
        connection.close()


def test_absent_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(
        PeerError, match=r"model server, got UNAVAILABLE: .*refused.*; start `passpilot serve R"
    ):
        client(f"127.0.0.1:{port}", timeout=0.2)


def test_what_to_start_where_nobody_listens() -> None:
    """TLS and token are mentioned to a client that has them, or if somebody else listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        target = f"127.0.0.1:{listener.getsockname()[1]}"
    command = f"; start `passpilot serve RUNNER --grpc {target}`"
    with pytest.raises(PeerError) as caught:
        client(target, timeout=0.2)
    assert str(caught.value).endswith(command)
    with pytest.raises(PeerError) as caught:
        client(target, "?token=secret", timeout=0.2)
    assert str(caught.value).endswith(f"{command}, with the same TLS and token")
    assert "secret" not in str(caught.value)
    with listening(b"", leaves=False) as target, pytest.raises(PeerError) as caught:
        client(target, timeout=0.2)
    assert str(caught.value).endswith(f"--grpc {target}`, with the same TLS and token")


def test_host_that_has_no_address() -> None:
    with pytest.raises(PeerError, match=r"got (UNAVAILABLE: .*|nothing before)"):
        client("no-such-host.invalid:1", timeout=5)


@pytest.mark.parametrize("leaves", [False, True])
@pytest.mark.parametrize(
    "says", [b"", b"\x93" * 3000, b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", bytes(9)]
)
def test_servers_of_something_else(says: bytes, leaves: bool) -> None:
    complaint = "^grpc:127.0.0.1:[0-9]+: expected a model server, got .*; start"
    with listening(says, leaves=leaves) as target, pytest.raises(PeerError, match=complaint):
        client(target, timeout=0.5)


def test_grpc_server_of_another_service() -> None:
    made = grpc.server(ThreadPoolExecutor(1))
    port = made.add_insecure_port("127.0.0.1:0")
    made.start()
    with pytest.raises(PeerError, match="got UNIMPLEMENTED"):
        client(f"127.0.0.1:{port}")
    made.stop(None).wait()


def test_server_that_never_answers(base: str) -> None:
    with served(spec(base, "forever")) as (_, target), client(target, timeout=2) as runner:
        for _ in range(3):
            with pytest.raises(
                PeerError, match=r"expected an answer within 2 s, got none; see whether it hangs"
            ):
                runner.evaluate()


def test_server_that_never_greets() -> None:
    def session(requests: Iterator[bytes]) -> Iterator[bytes]:
        for _ in requests:
            continue
        yield b""

    with speaking(session) as target, pytest.raises(PeerError, match="got nothing before the deadline"):
        client(target, timeout=0.3)


@pytest.mark.parametrize(
    ("greeting", "kind", "complaint"),
    [
        (b"", PeerError, "expected a welcome, got b''"),
        (b"\xff\xff", PeerError, "expected an Answer of advisor.proto"),
        (YES, PeerError, "expected a welcome"),
        (
            Answer(welcome=Welcome(runner="x" * wire.MAX_LINE)).SerializeToString(),
            PeerError,
            "expected a welcome of at most 1048576 bytes, got 10485",
        ),
        (Answer(welcome=Welcome(inputs=["weight"])).SerializeToString(), SpecMismatchError, "got weight"),
        (Answer(welcome=Welcome(inputs=["a", "a"])).SerializeToString(), PeerError, "handshake"),
        (grpc_messages.failure("too busy", "ModelError"), ModelError, "too busy"),
        (grpc_messages.failure("too busy", "SystemExit"), PeerError, "too busy"),
    ],
)
def test_bad_greetings(greeting: bytes, kind: type[Error], complaint: str) -> None:
    def session(requests: Iterator[bytes]) -> Iterator[bytes]:
        next(requests)
        yield greeting

    with speaking(session) as target, pytest.raises(kind, match=complaint):
        client(target)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (b"", "expected an answer with the advice as integer, got b''"),
        (YES[:5], "expected an Answer of advisor.proto"),
        (b"\x93" * 9, "expected an Answer of advisor.proto"),
        (Answer(number=1.0).SerializeToString(), "expected an answer with the advice as integer"),
        (Answer(done=Done()).SerializeToString(), "expected an answer with the advice as integer"),
        (WELCOME, "expected an answer with the advice as integer"),
        (bytes(wire.LARGEST + 1), "RESOURCE_EXHAUSTED: .*larger than max"),
    ],
)
def test_bad_answers(answer: bytes, complaint: str) -> None:
    with speaking(answers(YES, answer)) as target, client(target) as runner:
        assert runner.evaluate() == 1
        for _ in range(2):
            with pytest.raises(PeerError, match=complaint):
                runner.evaluate()


def test_answers_that_another_language_writes() -> None:
    """Any valid protobuf encoding is accepted, such as one with a field of a later version."""
    longer = YES + b"\xa2\x06\x03new"
    failure = Answer(failure=Failure(error="no")).SerializeToString()
    with speaking(answers(longer, failure, YES)) as target, client(target) as runner:
        assert runner.evaluate() == 1
        with pytest.raises(ModelError, match=r"faulty.: no"):
            runner.evaluate()
        assert runner.evaluate() == 1


@pytest.mark.parametrize("ended", ["at once", "after a question"])
def test_server_that_ends_the_session(ended: str) -> None:
    given = () if ended == "at once" else (YES,)
    with speaking(answers(*given)) as target, client(target) as runner:
        for _ in given:
            assert runner.evaluate() == 1
        with pytest.raises(PeerError, match=r"expected an answer, got (OK|UNKNOWN)"):
            runner.evaluate()


@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.soak)])
def test_connection_cut_at_every_byte_of_a_question_and_its_answer(base: str, step: int) -> None:
    with server(spec(base, "positive")) as made:
        sizes = {}
        with cutter(target_of(made)) as cut, client(cut.target) as runner:
            assert runner.evaluate() == 0
            before = dict(cut.passed)
            assert runner.evaluate() == 0
            sizes = {way: cut.passed[way] - before[way] for way in before}
        assert sizes["up"] > 8
        assert sizes["down"] > 9
        for way, size in sizes.items():
            for offset in {*range(0, size, step), size - 1}:
                with cutter(target_of(made)) as cut, client(cut.target) as runner:
                    assert runner.evaluate() == 0
                    cut.cut_after(way, offset + 1)
                    with contextlib.suppress(PeerError):  # more than the message may be lost
                        runner.evaluate()
                        runner.evaluate()
                    with pytest.raises(PeerError, match="expected an answer, got UNAVAILABLE"):
                        runner.evaluate()


def test_connection_cut_within_the_handshake() -> None:
    with server("const:1") as made:
        with cutter(target_of(made)) as cut:
            client(cut.target).close()
            sizes = dict(cut.passed)
        assert min(sizes.values()) > 50
        for way, size in sizes.items():
            for offset in range(0, size // 2, max(1, size // 12)):
                with cutter(target_of(made)) as cut:
                    cut.cut_after(way, offset)
                    with pytest.raises(PeerError, match="expected a model server, got "):
                        client(cut.target, timeout=2)
        with client(target_of(made)) as runner:
            assert runner.evaluate() == 1


@contextlib.contextmanager
def raw(target: str) -> Iterator[Callable[[bytes], Answer]]:
    """A client that sends arbitrary bytes."""
    told: list[bytes] = []
    ready = threading.Semaphore(0)

    def questions() -> Iterator[bytes]:
        while ready.acquire() and told:
            yield told.pop(0)

    with grpc.insecure_channel(target) as channel:
        replies = advise(channel)(questions(), timeout=GENEROUS)

        def ask(data: bytes) -> Answer:
            told.append(data)
            ready.release()
            return Answer.FromString(next(replies))

        yield ask
        ready.release()


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "handshake: expected a hello"),
        (b"\xff\xff", "handshake: expected a Question of advisor.proto"),
        (Question(frame=b"x").SerializeToString(), "handshake: expected a hello"),
        (
            Question(hello=Hello(passpilot=1, point="x" * wire.MAX_LINE)).SerializeToString(),
            "handshake: expected at most 1048576 bytes, got 10485",
        ),
        (Question(hello=Hello()).SerializeToString(), "handshake: expected protocol 1, got 0"),
        (
            Question(hello=Hello(passpilot=1, point="x")).SerializeToString(),
            "decision point: expected one of inline, ",
        ),
        (Question(hello=Hello(passpilot=1, point="inline")).SerializeToString(), "handshake: "),
        (
            grpc_messages.hello(find_point("evict")),
            "expected a client of the decision point inline, got one of evict",
        ),
    ],
)
def test_clients_with_a_bad_handshake(data: bytes, complaint: str) -> None:
    notices: list[str] = []
    with server("const:1") as made:
        made._tally = Tally(notices.append)
        with raw(target_of(made)) as ask:
            answer = ask(data)
            assert complaint in answer.failure.error
            with pytest.raises(StopIteration):
                ask(data)
    assert [complaint in notice and "refused a client at ipv4" in notice for notice in notices] == [True]


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "expected a frame of 8 bytes, or a context, got b''"),
        (b"\xff\xff", r"got b'\xff\xff'"),
        (Question(frame=bytes(7)).SerializeToString(), "got one of 7"),
        (Question(frame=bytes(16)).SerializeToString(), "got one of 16"),
        (grpc_messages.hello(find_point("inline")), "or a context, got"),
    ],
)
def test_clients_with_bad_questions(base: str, data: bytes, complaint: str) -> None:
    with server(spec(base, "positive")) as made, raw(target_of(made)) as ask:
        assert list(ask(grpc_messages.hello(point())).welcome.inputs) == ["node_count"]
        assert complaint in ask(data).failure.error
        assert ask(Question(frame=bytes([1, *bytes(7)])).SerializeToString()).integer == 1


def test_clients_that_never_greet_are_let_go() -> None:
    with server("const:1", timeout=0.1) as made, grpc.insecure_channel(target_of(made)) as channel:
        held = threading.Event()

        def nothing() -> Iterator[bytes]:
            held.wait()
            yield from ()

        with pytest.raises(grpc.RpcError):
            next(advise(channel)(nothing(), timeout=GENEROUS))
        held.set()


class Unfit(Runner):
    """Fails in `bind`."""

    inputs = ()
    output = find_point("inline").advice

    def bind(self, *_: object) -> None:
        raise MemoryError("no room")

    def evaluate(self) -> object:
        return True


def test_session_that_cannot_begin() -> None:
    notices: list[str] = []
    with server(Unfit()) as made:
        made._tally = Tally(notices.append)
        with pytest.raises(PeerError, match=r"^grpc:.*: MemoryError: no room"):
            client(target_of(made))
    assert ["refused a client at ipv4:127.0.0.1:" in each for each in notices] == [True]


def test_slow_policy_under_both_error_policies(tmp_path: Path) -> None:
    """One deadline in all, not one per question."""
    asked = []
    release = threading.Event()

    def slow(_obs: Observation) -> bool:
        asked.append(1)
        release.wait(GENEROUS)
        return True

    (tmp_path / "in.ll").write_text(program())
    with server(slow) as made:
        target = f"grpc:{target_of(made)}"
        told = "expected an answer within 2 s, got none"
        module = Module.read(tmp_path / "in.ll")
        with InlineAdvisor(target, timeout=2) as failing, pytest.raises(PeerError, match=told):
            optimize(module, "default<O2>", [failing])
        module = Module.read(tmp_path / "in.ll")
        fallen = pytest.warns(match=f"{CALLS} of {CALLS} decisions fell back .*{told}")
        with InlineAdvisor(target, timeout=2, on_error="default") as going_on, fallen:
            optimize(module, "default<O2>", [going_on])
        release.set()
    assert len(asked) == 2
    assert module.bitcode() == stock(tmp_path / "in.ll", "-O2")


def test_illegal_advice_of_another_server(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(program())
    seven = Answer(integer=7).SerializeToString()
    welcome = Answer(done=Done()).SerializeToString()
    with speaking(answers(welcome, *[seven] * CALLS)) as target:
        inliner = InlineAdvisor(f"grpc:{target}", timeout=GENEROUS)
        with (
            inliner,
            pytest.raises(
                AdviceError,
                match=r"decision 0 \(caller0 -> callee\): expected True, False, 0 or 1, got int 7",
            ),
        ):
            optimize(Module.read(tmp_path / "in.ll"), "default<O2>", [inliner])


def test_sessions_of_a_process_share_a_connection() -> None:
    with server("const:1") as made, cutter(target_of(made)) as cut, contextlib.ExitStack() as stack:
        runners = [stack.enter_context(client(cut.target)) for _ in range(5)]
        assert [runner.evaluate() for runner in runners] == [1] * 5
        assert cut.connections == 1


@pytest.mark.parametrize(
    ("advisor_of", "name", "answer", "complaint"),
    [
        (PriorityAdvisor, "li_size", Answer(number=float("nan")), "got float nan"),
        (EvictAdvisor, "mask", Answer(integer=33), "got int 33"),
        (EvictAdvisor, "mask", Answer(integer=-1), "got int -1"),
    ],
)
def test_illegal_advice_on_registers(
    tmp_path: Path, advisor_of: type[Advisor], name: str, answer: Answer, complaint: str
) -> None:
    source = pressure.compiled(tmp_path)

    def session(requests: Iterator[bytes]) -> Iterator[bytes]:
        next(requests)
        yield Answer(welcome=Welcome(inputs=[name])).SerializeToString()
        for request in requests:
            told = Question.FromString(request).WhichOneof("kind") == "context"
            yield (Answer(done=Done()) if told else answer).SerializeToString()

    with (
        speaking(session) as target,
        advisor_of(f"grpc:{target}") as refusing,
        pytest.raises(AdviceError, match=complaint),
    ):
        pressure.allocated(source, refusing)
