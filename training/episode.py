# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`CompilerClient`: an agent's end of `passpilot serve-compiler`, with an interface like Gymnasium's.

with CompilerClient("127.0.0.1:5005") as compiler:
    observation = compiler.reset(code, point="inline", pipeline="default<Oz>", reward="native-size")
    while observation is not None:
        observation, reward, done, info = compiler.step(decide(observation))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from passpilot.features.domain import Choice, Domain, Flag, Number
from passpilot.features.spec import TensorSpec, layout
from passpilot.plugin.errors import InputError, PeerError
from passpilot.plugin.extras import needs
from passpilot.plugin.failures import for_terminal
from passpilot.runners.base import Tensor, tensor_views
from passpilot.runners.remote.wire import LARGEST, error_class
from passpilot.runners.spec import LONGEST_TIMEOUT

if TYPE_CHECKING:
    from passpilot.runners.remote import advisor_pb2
    from passpilot.training.compiler_pb2 import AgentMessage, CompilerMessage, Episode, Result
    from passpilot.training.messages import MessageStream

    Observed: TypeAlias = Mapping[str, Tensor]
    Info: TypeAlias = Mapping[str, float | int | tuple[str, ...] | bytes]


@dataclass(frozen=True, slots=True)
class _PointInEpisode:
    """What an episode shows and takes at one point; the views are those of the frame."""

    tensors: tuple[TensorSpec, ...]
    advice: TensorSpec
    domain: Domain
    frame: NDArray[np.uint8]
    views: Observed


class CompilerClient:
    """Takes the decisions of compilations, one episode after the other, over one stream.

    Nothing is sent before the first `reset`. After a `PeerError` the next `reset` opens a new stream; after
    any other error the stream goes on.

    Args:
        target: HOST:PORT of the service.
        timeout: seconds that one step of the compiler may take.
        tls: a PEM file with a certificate that signed the service's; empty for no TLS; ``no`` for no TLS even
            if a token goes to another machine.
        token: the service's token; ``@FILE`` is the text in a file.

    Raises:
        Error: an argument is invalid.
    """

    point: str = ""
    """The point whose decision is asked for."""

    tensors: tuple[TensorSpec, ...] = ()
    """The tensors in the observations at this point."""

    advice: TensorSpec
    """The type of the actions at this point."""

    domain: Domain
    """The valid actions at this point."""

    def __init__(self, target: str, *, timeout: float = 600.0, tls: str = "", token: str = "") -> None:
        self._who = f"compiler {target}"
        with needs("grpc", "CompilerClient"):
            from passpilot.training.episode_stream import EpisodeStream
        if not 0 < timeout <= LONGEST_TIMEOUT:
            msg = f"{self._who}: expected a timeout of more than 0 seconds, at most a million, got {timeout}"
            raise InputError(msg)
        self._stream: MessageStream = EpisodeStream(target, timeout, tls=tls, token=token)
        self._begin()

    def _begin(self) -> None:
        """Forget the episode before."""
        self._asking, self._progress = False, 0.0
        self._points: dict[str, _PointInEpisode] = {}
        self.info: Info = {}
        """What the service says of the episode; complete after its last step."""

    def reset(
        self,
        module: bytes | str,
        *,
        point: str,
        pipeline: str = "",
        at: Mapping[str, str] = MappingProxyType({}),
        reward: str = "none",
        features: Iterable[str] = (),
        function: str = "",
        opt_level: int = 2,
        also: Mapping[str, Iterable[str]] = MappingProxyType({}),
        with_object: bool = False,
        partial: bool = False,
    ) -> Observed | None:
        """Start an episode, which ends the present one; the first observation, or None without decisions.

        Args:
            module: bitcode or assembly in bytes, or the path (str) of a file in the service's corpus.
            point: the decisions to take: ``inline``, ``evict``, ``priority``, or those of a Python pass.
            pipeline: the passes to run, such as ``default<Oz>``; the pipeline or the code generation after it
                must reach `point`.
            at: more pipelines, by LLVM's extension points: ``{"vectorizer-start": "advised-unroll"}``.
            reward: ``native-size``, ``native-estimate``, ``allocation-cost`` or ``none``.
            features: the tensors to observe; empty for the point's own features.
            function: take only the decisions in this function; empty for all.
            opt_level: the level of code generation, 0 to 3.
            also: more points whose decisions to take in the same compilation, each with the tensors to
                observe there; the attribute `point` names the one that asks.
            with_object: whether `info` has the object file at the end, as ``object``.
            partial: whether a step has its share of the reward at once, by an estimate of the machine code
                of caller and callee; the last step has what is missing from the measured reward. Only for
                ``inline``.

        Raises:
            Error: the module, the pipeline or another argument is wrong; the class is the service's error's.
            PeerError: the service is absent, silent or gone.
        """
        for wanted in (features, *also.values()):
            if isinstance(wanted, str):
                raise InputError(f"{self._who}: expected the names of features, got one text {wanted!r:.80}")
        start = self._stream.start_message(
            point=point,
            pipeline=pipeline,
            at=at,
            reward=reward,
            features=list(features),
            function=function,
            opt_level=opt_level,
            also=[{"point": name, "features": list(wanted)} for name, wanted in also.items()],
            object=with_object,
            partial=partial,
            **{"path" if isinstance(module, str) else "code": module},
        )
        self._begin()
        return self._take(self._exchange(start))

    def step(self, action: object) -> tuple[Observed | None, float, bool, Info]:
        """Take one decision; return the next observation (None at the end), the reward, done, and info.

        Every step reuses the observation's arrays: copy what you keep. The reward is 0 until the end, unless
        it is ``partial``; at the end `info` has the measured ``value``, its ``baseline``, the number of
        ``decisions``, the compiler's ``notes``, and the ``object`` file if it was asked for.

        Raises:
            AdviceError: the action is outside the domain, or masked; try another one.
            Error: the compilation failed, and the episode is over.
            PeerError: the service is absent, silent or gone.
        """
        if not self._asking:
            raise InputError(f"{self._who}: no episode is under way; call reset first")
        observation = self._take(self._exchange(self._stream.action_message(action)))
        return observation, self._reward, observation is None, self.info

    def _exchange(self, message: AgentMessage) -> CompilerMessage:
        try:
            return self._stream.exchange(message)
        except BaseException:
            self.close()
            raise

    def _take(self, message: CompilerMessage) -> Observed | None:
        self._reward = message.progress
        self._progress += message.progress
        if message.HasField("failure"):
            self._asking = message.failure.retry
            failure = message.failure.failure
            raise error_class(failure.kind)(f"{self._who}: {for_terminal(failure.error)}")
        if message.HasField("episode"):
            room = LARGEST - sum(len(each.frame) for each in self._points.values())
            self._points[message.point] = _introduced(message.episode, room)
        if place := self._points.get(message.point):
            self.point = message.point
            self.tensors, self.advice, self.domain = place.tensors, place.advice, place.domain
        self._asking = message.HasField("observation")
        if message.HasField("result"):
            self._reward, self.info = message.result.reward - self._progress, _info(message.result)
            return None
        if not self._asking or not place or not place.tensors or len(message.observation) != len(place.frame):
            self.close()
            got = f"{len(message.observation)}; use one version at both ends"
            size = len(place.frame) if place else 0
            raise PeerError(f"{self._who}: expected an observation of {size} bytes, got {got}")
        place.frame[:] = np.frombuffer(message.observation, np.uint8)
        return place.views

    def close(self) -> None:
        """End the episode, if any, and the stream. Idempotent; `reset` opens a new stream."""
        self._asking = False
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _introduced(episode: Episode, room: int) -> _PointInEpisode:
    tensors = tuple(map(_spec, episode.tensors))
    if (size := layout(tensors)[1]) > room:
        raise PeerError(f"compiler: expected observations of at most {LARGEST} bytes, got {size} more")
    frame = np.zeros(size, np.uint8)
    views: Observed = tensor_views(tensors, frame)
    for view in views.values():
        view.flags.writeable = False
    return _PointInEpisode(tensors, _spec(episode.advice), _domain(episode), frame, views)


def _spec(row: advisor_pb2.TensorSpec) -> TensorSpec:
    shape = list(row.shape)
    return TensorSpec.from_json({"name": row.name, "type": row.type, "port": row.port, "shape": shape})


def _domain(episode: Episode) -> Domain:
    if episode.HasField("choice"):
        return Choice(episode.choice.count, episode.choice.mask)
    if episode.HasField("number"):
        return Number(episode.number.low, episode.number.high)
    return Flag()


def _info(result: Result) -> Info:
    info: dict[str, float | int | tuple[str, ...] | bytes] = {
        "decisions": result.decisions,
        "notes": tuple(result.notes),
    }
    if result.HasField("value"):
        info |= {"value": result.value, "baseline": result.baseline}
    if result.object:
        info["object"] = result.object
    return info
