# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Large frames over gRPC: a client sends only the blocks that changed, if the server reads changes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from passpilot.features.custom import feature, registered, unregister
from passpilot.features.point import Point
from passpilot.features.spec import TensorSpec
from passpilot.passes.host import CompilerHost
from passpilot.passes.llvm_advisors import InlineAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin.errors import ModelError
from passpilot.plugin.module import Module
from passpilot.runners.base import Runner
from passpilot.runners.python import Observation
from passpilot.runners.remote import grpc_messages, grpc_stream
from passpilot.runners.remote.advisor_pb2 import Answer, FrameChanges, FramePart, Question, Welcome
from passpilot.runners.remote.frame_changes import BLOCK, LEAST
from passpilot.runners.serving import grpc_server
from tests.command import CALLS, program
from tests.runners.remote.cutter import cutter
from tests.runners.serving.grpc_serving import client, server, target_of
from tests.runners.serving.serving import point
from tests.runners.test_grpc_faults import YES, raw, speaking

BIG = TensorSpec("big", "float32", (5 * BLOCK,))
SIZE = BIG.nbytes + 8


class Core:
    """Stands for the core, which nothing is asked of."""


class Seen:
    """A policy that keeps what it sees, and raises if the first number is negative."""

    features = ("big", "node_count")

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def decide(self, obs: Observation) -> bool:
        if obs["big"][0] < 0:
            raise ValueError("negative")
        self.frames.append(obs["big"].tobytes() + obs["node_count"].tobytes())
        return True


def big_point() -> Point:
    return point(BIG)


def connected(target: str) -> Runner:
    return client(target, offered=big_point())


def shown(runner: Runner) -> bytes:
    return runner.tensors["big"].tobytes() + runner.tensors["node_count"].tobytes()


def test_server_sees_each_frame_and_only_changes_travel() -> None:
    policy, told = Seen(), []
    numbers = np.random.default_rng(1)
    with server(policy) as made, cutter(target_of(made)) as cut, connected(cut.target) as runner:
        big = runner.tensors["big"]
        big[:] = numbers.random(big.size)
        assert runner.evaluate() == 1
        told.append(shown(runner))
        before = cut.passed["up"]
        assert before > BIG.nbytes
        for count in range(30):
            big[numbers.integers(0, big.size, count % 4)] = count
            runner.tensors["node_count"][...] = count // 2
            assert runner.evaluate() == 1
            told.append(shown(runner))
        assert cut.passed["up"] - before < 30 * 5 * BLOCK < 30 * BIG.nbytes // 3
    assert policy.frames == told


def test_frame_that_changes_altogether() -> None:
    policy, told = Seen(), []
    with server(policy) as made, connected(target_of(made)) as runner:
        for value in (1, 2, 2, 3):
            runner.tensors["big"][:] = value
            assert runner.evaluate() == 1
            told.append(shown(runner))
    assert policy.frames == told


def test_changes_after_a_failure_and_a_context() -> None:
    policy, told = Seen(), []
    with server(policy) as made, connected(target_of(made)) as runner:
        for value in (1, 2, -1, 3, -2, -2, 4, 5):
            runner.tensors["big"][0] = value
            runner.tensors["big"][2 * BLOCK] += 1
            if value < 0:
                with pytest.raises(ModelError, match="ValueError: negative"):
                    runner.evaluate()
                continue
            runner.switch_context(f"value {value}")
            assert runner.evaluate() == 1
            told.append(shown(runner))
    assert policy.frames == told


@pytest.mark.parametrize("reads", [False, True])
def test_server_decides_whether_changes_are_sent(reads: bool) -> None:
    """A server of an earlier version says nothing in its welcome, and gets whole frames."""
    kinds: list[str | None] = []

    def session(requests: Iterator[bytes]) -> Iterator[bytes]:
        next(requests)
        inputs = ["big", "node_count"]
        yield Answer(welcome=Welcome(inputs=inputs, runner="other", changes=reads)).SerializeToString()
        for request in requests:
            question = Question.FromString(request)
            kinds.append(question.WhichOneof("kind"))
            assert len(question.frame) in (0, SIZE)
            yield YES

    with speaking(session) as target, connected(target) as runner:
        assert [runner.evaluate() for _ in range(3)] == [1] * 3
    assert kinds == ["frame", *["changes" if reads else "frame"] * 2]


def whole(value: float) -> bytes:
    frame = np.full(SIZE // 4, value, np.float32).tobytes()
    return Question(frame=frame).SerializeToString()


def changed(*parts: tuple[int, bytes]) -> bytes:
    made = FrameChanges(parts=[FramePart(start=start, data=data) for start, data in parts])
    return Question(changes=made).SerializeToString()


def test_client_of_an_earlier_version() -> None:
    policy = Seen()
    with server(policy) as made, raw(target_of(made)) as ask:
        assert ask(grpc_messages.hello(big_point())).welcome.changes
        assert [ask(whole(value)).integer for value in (1, 2)] == [1, 1]
    assert [len(frame) for frame in policy.frames] == [SIZE] * 2
    assert len(set(policy.frames)) == 2


@pytest.mark.parametrize(
    "part",
    [(SIZE, b"x"), (SIZE - 1, b"xy"), (0, bytes(SIZE + 1)), ((1 << 64) - 1, b"x"), (1 << 63, b"")],
)
def test_changes_beyond_the_frame(part: tuple[int, bytes]) -> None:
    """All are refused, and the client must begin with a whole frame again."""
    policy = Seen()
    with server(policy) as made, raw(target_of(made)) as ask:
        ask(grpc_messages.hello(big_point()))
        assert ask(whole(1)).integer == 1
        assert ask(changed((0, b"abcd"), (SIZE - 1, b"z"), (SIZE, b""))).integer == 1
        told = f"expected changes within a frame of {SIZE} bytes, got {len(part[1])} bytes at {part[0]}"
        assert told in ask(changed((0, b"efgh"), part)).failure.error
        assert f"expected a frame of {SIZE} bytes first, got changes" in ask(changed()).failure.error
        assert ask(whole(2)).integer == 1
        assert ask(changed()).integer == 1
    assert [frame[:4] for frame in policy.frames] == [
        np.float32(1).tobytes(),
        b"abcd",
        *[np.float32(2).tobytes()] * 2,
    ]
    assert policy.frames[1][-1:] == b"z"


@pytest.mark.parametrize("data", [b"\x22\x05ab", b"\x22\x02\x0a\x7f", b"\x22\x01\xff"])
def test_changes_that_are_cut(data: bytes) -> None:
    with server(Seen()) as made, raw(target_of(made)) as ask:
        ask(grpc_messages.hello(big_point()))
        assert ask(whole(1)).integer == 1
        assert f"expected a frame of {SIZE} bytes, or a context, got" in ask(data).failure.error


def test_changes_of_a_small_frame_are_refused() -> None:
    def decide(obs: Observation) -> bool:
        return bool(obs["node_count"][0])

    decide.features = ("node_count",)  # type: ignore[attr-defined]
    with server(decide) as made, raw(target_of(made)) as ask:
        assert not ask(grpc_messages.hello(big_point())).welcome.changes
        assert ask(Question(frame=bytes([1, *bytes(7)])).SerializeToString()).integer == 1
        assert "expected a frame of 8 bytes first" in ask(changed()).failure.error
    assert BIG.nbytes >= LEAST > 8


def test_policy_cannot_change_what_it_is_asked() -> None:
    def decide(obs: Observation) -> bool:
        obs["big"][0] = 1
        return True

    decide.features = ("big",)  # type: ignore[attr-defined]
    told = "ValueError: assignment destination is read-only"
    with (
        server(decide) as made,
        connected(target_of(made)) as runner,
        pytest.raises(ModelError, match=told),
    ):
        runner.evaluate()


def feature_of(kind: str) -> Callable[[object], object]:
    """A feature whose value depends on the number of decisions."""
    kept = [np.full(BIG.shape, value, np.float32) for value in range(3)]
    for array in kept:
        array.setflags(write=False)
    own = np.zeros(BIG.shape, np.float32)
    count = iter(range(1000))

    def constant(_site: object) -> object:
        return kept[0]

    def alternating(_site: object) -> object:
        return kept[(next(count) // 2) % 3]

    def written(_site: object) -> object:
        own[next(count)] += 1
        return own

    def reopened(_site: object) -> object:
        own.setflags(write=True)
        own[next(count)] += 1
        own.setflags(write=False)
        return own[:]  # a new view each time

    def failing(_site: object) -> object:
        if next(count) % 3 == 1:
            raise ValueError("sometimes")
        return kept[1]

    return {each.__name__: each for each in (constant, alternating, written, reopened, failing)}[kind]


@pytest.mark.parametrize("kind", ["constant", "alternating", "written", "reopened", "failing"])
def test_custom_features_are_seen_as_in_the_compiler(kind: str, tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(program())
    seen = []
    for remote in (False, True):
        feature("float32[20480]", name="big")(feature_of(kind))
        try:
            policy = Seen()
            with server(policy) as made:
                asked = f"grpc:{target_of(made)}" if remote else policy
                with InlineAdvisor(asked, on_error="default") as advisor:
                    if kind == "failing":
                        with pytest.warns(match="decisions fell back"):
                            optimize(Module.read(tmp_path / "in.ll"), "default<O2>", [advisor])
                    else:
                        optimize(Module.read(tmp_path / "in.ll"), "default<O2>", [advisor])
            seen.append(policy.frames)
        finally:
            unregister("big")
    assert seen[0] == seen[1]
    assert len(seen[0]) == (CALLS - (CALLS + 1) // 3 if kind == "failing" else CALLS)
    expected = {"constant": 1, "alternating": min(3, (CALLS + 1) // 2), "failing": 1}
    assert len({frame[: BIG.nbytes] for frame in seen[0]}) == expected.get(kind, CALLS)


@pytest.mark.parametrize("tracked", [False, True])
def test_constant_array_is_copied_once(tracked: bool) -> None:
    array = np.ones(BIG.shape, np.float32)
    feature("float32[20480]", name="big")(lambda _site: array)
    try:
        host, core = CompilerHost(big_point(), lambda _core: None, tracked=tracked), Core()
        host.connect(core)  # type: ignore[arg-type]
        host.buffers = {"big": np.zeros(BIG.shape, np.float32)}
        fill = host.filler(registered("inline")["big"])
        stamps = []
        for constant in (False, True, True, True, False, True):
            array.setflags(write=not constant)
            fill()
            stamps.append(host.stamp("big"))
            assert host.buffers["big"][0] == (2 if tracked and stamps[-2:-1] == stamps[-1:] else 1)
            host.buffers["big"][0] = 2
        assert stamps == ([1, 2, 2, 2, 3, 4] if tracked else [None] * 6)
        assert host.stamp("node_count") is None
    finally:
        unregister("big")


def test_questions_do_not_pass_through_grpcios_iterator(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unread(Iterator[bytes]):
        def __next__(self) -> bytes:
            raise AssertionError("it was read")

    monkeypatch.setattr(grpc_server, "turns", lambda _, *rest: grpc_stream.turns(Unread(), *rest))
    with server("const:1") as made, client(target_of(made)) as runner:
        assert [runner.evaluate() for _ in range(3)] == [1] * 3


def test_grpcio_with_other_calls_inside_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The public iterators do the work."""
    monkeypatch.setattr(grpc_stream, "_server", object())
    with server("const:1") as made, client(target_of(made)) as runner:
        runner.switch_context("one")
        assert [runner.evaluate() for _ in range(3)] == [1] * 3


SHOW = "from passpilot.runners.remote import grpc_messages; import os; print(os.environ['GRPC_EXPERIMENTS'])"


@pytest.mark.parametrize("own", [None, "", "tcp_frame_size_tuning"])
def test_user_may_choose_grpcs_experiments(own: str | None) -> None:
    environment = {name: text for name, text in os.environ.items() if name != "GRPC_EXPERIMENTS"}
    if own is not None:
        environment["GRPC_EXPERIMENTS"] = own
    told = subprocess.check_output([sys.executable, "-c", SHOW], env=environment, text=True)
    assert told == f"{'-event_engine_client,-event_engine_listener' if own is None else own}\n"


def test_experiments_of_an_unknown_grpcio_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRPC_EXPERIMENTS", raising=False)
    monkeypatch.setattr(grpc_messages, "TESTED", ((0, 1), (0, 2)))
    grpc_messages._let_waiting_threads_poll()
    assert "GRPC_EXPERIMENTS" not in os.environ
