# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who occupies a model server: clients without its token, with many streams, or with long messages."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from passpilot.features.point import find_point
from passpilot.plugin.errors import PeerError
from passpilot.runners.remote import grpc_messages, wire
from passpilot.runners.remote.advisor_pb2 import Answer, Question
from passpilot.runners.serving import grpc_server
from passpilot.runners.serving.grpc_server import GrpcServer
from passpilot.runners.serving.guard import LOOKERS
from tests.runners.serving.grpc_serving import advise, client, server, target_of
from tests.runners.serving.serving import GENEROUS

TOKEN = "a-secret"
LIST = reflection_pb2.ServerReflectionRequest(list_services="*")
Replies = Iterator[reflection_pb2.ServerReflectionResponse]


@contextlib.contextmanager
def looked_at(target: str, count: int, token: str = "") -> Iterator[list[Replies]]:
    """Streams of reflection that ask once and stay open as long as they may."""
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    done = threading.Event()

    def asking() -> Iterator[reflection_pb2.ServerReflectionRequest]:
        yield LIST
        done.wait(GENEROUS)

    with grpc.insecure_channel(target) as channel:
        ask = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo
        streams = [ask(asking(), metadata=metadata, timeout=GENEROUS) for _ in range(count)]
        try:
            yield streams
        finally:
            done.set()
            for each in streams:
                each.cancel()


def ended(stream: Replies) -> grpc.StatusCode:
    """How a stream ended, after at most one answer."""
    with pytest.raises(grpc.RpcError) as caught:
        list(stream)
    return caught.value.code()


def test_reflection_without_the_token_keeps_no_client_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc_server, "MOST", 4)
    with GrpcServer("const:1", "0", token=TOKEN, timeout=GENEROUS) as made:
        with looked_at(target_of(made), 4) as streams:
            assert {ended(each) for each in streams} == {grpc.StatusCode.UNAUTHENTICATED}
            with client(target_of(made), f"?token={TOKEN}") as runner:
                assert runner.evaluate() == 1
        with grpc.insecure_channel(target_of(made)) as channel:
            health = health_pb2_grpc.HealthStub(channel)
            for call in (health.Check, lambda request: next(health.Watch(request))):
                with pytest.raises(grpc.RpcError, match="UNAUTHENTICATED"):
                    call(health_pb2.HealthCheckRequest())


def test_reflection_with_the_token_takes_no_place_of_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc_server, "MOST", 1)
    server = GrpcServer("const:1", "0", token=TOKEN, timeout=GENEROUS)
    with server as made, looked_at(target_of(made), LOOKERS, TOKEN) as streams:
        for each in streams:
            assert next(each).list_services_response.service
        with looked_at(target_of(made), 1, TOKEN) as more:
            assert ended(more[0]) == grpc.StatusCode.RESOURCE_EXHAUSTED
        with client(target_of(made), f"?token={TOKEN}") as runner:
            assert runner.evaluate() == 1


def test_reflection_has_a_deadline() -> None:
    with server("const:1", timeout=0.2) as made, looked_at(target_of(made), 1) as streams:
        assert ended(streams[0]) == grpc.StatusCode.CANCELLED


def test_a_peer_takes_half_of_the_places_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc_server, "MOST", 4)
    with server("const:1") as made, contextlib.ExitStack() as stack:
        first, second = (stack.enter_context(client(target_of(made))) for _ in range(2))
        with pytest.raises(PeerError, match="expected at most 2 sessions of one peer at a time"):
            client(target_of(made))
        assert (first.evaluate(), second.evaluate()) == (1, 1)
        first.close()
        with made._changed:
            assert made._changed.wait_for(lambda: made.sessions == 1, GENEROUS)
        with client(target_of(made)) as third:
            assert third.evaluate() == 1


@pytest.mark.parametrize(("size", "kind"), [(wire.MAX_TEXT, "done"), (wire.MAX_TEXT + 1, "failure")])
def test_the_name_of_a_context_is_bounded(size: int, kind: str) -> None:
    with server("const:1") as made, grpc.insecure_channel(target_of(made)) as channel:
        hello = grpc_messages.hello(find_point("inline"))
        asked = Question(context="x" * size).SerializeToString()
        replies = advise(channel)(iter([hello, asked]), timeout=GENEROUS)
        assert [Answer.FromString(each).WhichOneof("kind") for each in replies] == ["welcome", kind]


def test_a_client_that_says_nothing_keeps_no_place() -> None:
    done = threading.Event()

    def silent() -> Iterator[bytes]:
        done.wait(GENEROUS)
        yield from ()

    with server("const:1", timeout=0.2) as made, grpc.insecure_channel(target_of(made)) as channel:
        with pytest.raises(grpc.RpcError) as caught:
            next(advise(channel)(silent(), timeout=GENEROUS))
        assert caught.value.code() == grpc.StatusCode.CANCELLED
        with made._changed:
            assert made._changed.wait_for(lambda: made.sessions == 0, GENEROUS)
        done.set()
