# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`CompilerClient` message by message: what it makes of every answer, and what ends its stream."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from passpilot.features.domain import Choice, Flag, Number
from passpilot.plugin.errors import AdviceError, CompilationError, InputError, PeerError
from passpilot.runners.remote.advisor_pb2 import TensorSpec
from passpilot.training.compiler_pb2 import AgentMessage, CompilerMessage, Episode, Result
from passpilot.training.episode import CompilerClient
from passpilot.training.episode_stream import EpisodeStream

if TYPE_CHECKING:
    from passpilot.training.episode import Observed

WHO = "compiler 127.0.0.1:9"


class Answers(EpisodeStream):
    """A stream whose answers are known."""

    def __init__(self, *answers: CompilerMessage | BaseException) -> None:
        super().__init__("127.0.0.1:9", 1, tls="", token="")
        self.answers, self.sent, self.closed = list(answers), list[AgentMessage](), 0

    def exchange(self, message: AgentMessage) -> CompilerMessage:
        self.sent.append(message)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def close(self) -> None:
        self.closed += 1


def client_of(*answers: CompilerMessage | BaseException) -> tuple[CompilerClient, Answers]:
    """A client whose stream has these answers."""
    made, stream = CompilerClient("127.0.0.1:9"), Answers(*answers)
    made._stream = stream
    return made, stream


def episode(**domain: object) -> Episode:
    tensors = [
        TensorSpec(name="x", type="int64_t", shape=[2]),
        TensorSpec(name="y", type="int64_t", shape=[1]),
    ]
    advice = TensorSpec(name="advice", type="int64_t", shape=[1])
    return Episode(tensors=tensors, advice=advice, **(domain or {"flag": {}}))  # type: ignore[arg-type]


def asks(
    *values: int, point: str = "p", progress: float = 0.0, first: Episode | None = None
) -> CompilerMessage:
    data = struct.pack(f"<{len(values)}q", *values)
    return CompilerMessage(observation=data, episode=first, point=point, progress=progress)


def shown(observed: Observed | None) -> dict[str, list[int]]:
    assert observed is not None
    return {name: tensor.tolist() for name, tensor in observed.items()}


def test_an_episode_from_begin_to_end() -> None:
    end = Result(reward=0.75, value=3, baseline=4, decisions=2, notes=["a", "b"], object=b"code")
    client, stream = client_of(
        asks(1, 2, 3, first=episode()),
        asks(4, 5, 6, progress=0.25),
        CompilerMessage(result=end, progress=0.125),
    )
    first = client.reset(b"m", point="p")
    assert shown(first) == {"x": [1, 2], "y": [3]}
    assert ([each.name for each in client.tensors], client.advice.name) == (["x", "y"], "advice")
    second, reward, done, info = client.step(True)
    assert (reward, done, dict(info)) == (0.25, False, {})
    assert second is first, "the arrays are used again"
    assert shown(first) == {"x": [4, 5], "y": [6]}
    last, reward, done, info = client.step(0)
    assert (last, reward, done) == (None, 0.375, True), "what the steps have told is taken off"
    assert info == {"decisions": 2, "notes": ("a", "b"), "value": 3, "baseline": 4, "object": b"code"}
    assert [each.action.integer for each in stream.sent[1:]] == [1, 0]
    with pytest.raises(InputError, match=f"^{WHO}: no episode is under way; call reset"):
        client.step(1)
    assert (len(stream.sent), stream.closed) == (3, 0)


def test_an_observation_cannot_be_written() -> None:
    client, _ = client_of(asks(1, 2, 3, first=episode()))
    observed = client.reset(b"m", point="p")
    assert observed
    for tensor in observed.values():
        with pytest.raises(ValueError, match="read-only"):
            tensor[0] = 1


def test_what_is_not_measured_is_not_told() -> None:
    client, _ = client_of(CompilerMessage(result=Result(decisions=0, baseline=4)))
    assert client.reset(b"m", point="p") is None
    assert client.info == {"decisions": 0, "notes": ()}


def test_a_new_episode_begins_afresh() -> None:
    end = CompilerMessage(result=Result(reward=1, value=1, baseline=2))
    start = asks(1, 2, 3, first=episode())
    client, _ = client_of(start, asks(1, 2, 3, progress=0.5), start, end, asks(1, 2, 3))
    client.reset(b"m", point="p")
    client.step(1)
    client.reset(b"m", point="p")
    assert client.step(1)[1] == 1, "the progress of the episode before does not count"
    with pytest.raises(
        PeerError, match="expected an observation of 0 bytes, got 24; use one version at both"
    ):
        client.reset(b"m", point="p")
    assert client.info == {}


def test_points_take_turns() -> None:
    client, _ = client_of(
        asks(1, 2, 3, first=episode(choice={"count": 2, "mask": "x"})),
        asks(4, 5, 6, point="q", first=episode(number={"low": -1.5, "high": 2.5})),
        asks(7, 8, 9),
        asks(0, 0, 0, point="r", first=episode()),
    )
    first = client.reset(b"m", point="p")
    assert (client.point, client.domain) == ("p", Choice(2, "x"))
    other = client.step(1)[0]
    assert (client.point, client.domain) == ("q", Number(-1.5, 2.5))
    assert (shown(first), shown(other)) == ({"x": [1, 2], "y": [3]}, {"x": [4, 5], "y": [6]})
    assert client.step(1.5)[0] is first
    assert (client.point, client.domain) == ("p", Choice(2, "x"))
    client.step(1)
    assert (client.point, client.domain) == ("r", Flag())


@pytest.mark.parametrize("size", [2, 4])
def test_an_observation_of_another_size_ends_the_stream(size: int) -> None:
    client, stream = client_of(asks(1, 2, 3, first=episode()), asks(*range(size)))
    client.reset(b"m", point="p")
    with pytest.raises(
        PeerError, match=f"^{WHO}: expected an observation of 24 bytes, got {8 * size}; use one"
    ):
        client.step(1)
    assert stream.closed == 1
    with pytest.raises(InputError, match="call reset first"):
        client.step(1)


def test_an_answer_without_anything_ends_the_stream() -> None:
    client, stream = client_of(asks(1, 2, 3, first=episode()), CompilerMessage(point="p"))
    client.reset(b"m", point="p")
    with pytest.raises(PeerError, match="expected an observation of 24 bytes, got 0;"):
        client.step(1)
    assert stream.closed == 1


@pytest.mark.parametrize(
    ("kind", "raised"),
    [("AdviceError", AdviceError), ("CompilationError", CompilationError), ("X", PeerError)],
)
@pytest.mark.parametrize("retry", [True, False])
def test_only_some_failures_let_the_agent_try_again(
    kind: str, raised: type[Exception], *, retry: bool
) -> None:
    refused = {"failure": {"error": "no\x1b luck", "kind": kind}, "retry": retry}
    client, stream = client_of(
        asks(1, 2, 3, first=episode()),
        CompilerMessage(failure=refused),
        asks(4, 5, 6),
    )
    client.reset(b"m", point="p")
    with pytest.raises(raised, match=f"^{WHO}: no") as caught:
        client.step(1)
    assert "\x1b" not in str(caught.value)
    assert stream.closed == 0, "the stream goes on"
    if retry:
        assert shown(client.step(0)[0]) == {"x": [4, 5], "y": [6]}
    else:
        with pytest.raises(InputError, match="call reset first"):
            client.step(0)


@pytest.mark.parametrize("error", [PeerError("gone"), KeyboardInterrupt()])
def test_a_broken_exchange_closes_the_stream(error: BaseException) -> None:
    client, stream = client_of(asks(1, 2, 3, first=episode()), error)
    client.reset(b"m", point="p")
    with pytest.raises(type(error)):
        client.step(1)
    assert stream.closed == 1
    with pytest.raises(InputError, match="call reset first"):
        client.step(1)


def test_all_arguments_of_an_episode_are_sent() -> None:
    end = CompilerMessage(result=Result())
    client, stream = client_of(end, end)
    client.reset(
        "a.bc", point="p", pipeline="l", at={"x": "y"}, reward="r", features=("f", "g"), function="fn",
        opt_level=0, also={"q": ("h",), "s": ()}, with_object=True, partial=True,
    )  # fmt: skip
    client.reset(b"a.bc", point="p")
    sent, plain = (each.start for each in stream.sent)
    assert (sent.path, sent.code, sent.point, sent.pipeline, dict(sent.at)) == (
        "a.bc",
        b"",
        "p",
        "l",
        {"x": "y"},
    )
    assert (sent.reward, list(sent.features), sent.function) == ("r", ["f", "g"], "fn")
    assert (sent.HasField("opt_level"), sent.opt_level, sent.object, sent.partial) == (True, 0, True, True)
    assert [(each.point, list(each.features)) for each in sent.also] == [("q", ["h"]), ("s", [])]
    assert (plain.path, plain.code, plain.reward, plain.opt_level) == ("", b"a.bc", "none", 2)
    assert [plain.object, plain.partial, list(plain.also), list(plain.features)] == [False, False, [], []]


@pytest.mark.parametrize(
    "reset",
    [
        lambda client: client.reset(b"m", point="p", features="cost"),
        lambda client: client.reset(b"m", point="p", also={"q": ("a",), "r": "cost"}),
    ],
)
def test_names_of_features_are_not_one_text(reset: Callable[[CompilerClient], object]) -> None:
    client, stream = client_of()
    with pytest.raises(InputError, match=f"^{WHO}: expected the names of features, got one text 'cost'$"):
        reset(client)
    assert stream.sent == []


@pytest.mark.parametrize("timeout", [0, -1, 1_000_000.5, float("nan")])
def test_a_timeout_has_bounds(timeout: float) -> None:
    with pytest.raises(InputError, match=f"of more than 0 seconds, at most a million, got {timeout}"):
        CompilerClient("127.0.0.1:9", timeout=timeout)
    CompilerClient("127.0.0.1:9", timeout=1_000_000).close()


def test_the_end_of_a_block_closes_the_stream() -> None:
    client, stream = client_of()
    with client as same:
        assert same is client
    assert stream.closed == 1


def test_observations_have_a_largest_size() -> None:
    """A hundred tensors of a gigabyte would be memory that no message could fill."""
    huge = [TensorSpec(name=f"t{i}", type="int64_t", shape=[1 << 27]) for i in range(100)]
    client, _ = client_of(asks(0, first=Episode(tensors=huge, advice=episode().advice, flag={})))
    with pytest.raises(PeerError, match="expected observations of at most 209715200 bytes, got 107374182400"):
        client.reset(b"", point="p")
