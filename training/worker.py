# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The process that compiles episodes, one after the other; `passpilot.training.pool` starts it.

It exchanges the messages of `passpilot.training.messages` over a socket.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NoReturn

from passpilot.features.catalogue import HOOKED
from passpilot.features.domain import Choice, Domain, Flag, Number
from passpilot.features.spec import by_name
from passpilot.passes.advisor import advisor
from passpilot.passes.point_search import search_point
from passpilot.plugin.compile import llvm_options
from passpilot.plugin.errors import AdviceError, Error
from passpilot.plugin.load import load_file
from passpilot.runners.base import Runner, own_features
from passpilot.training import compiler_pb2, limits
from passpilot.training.messages import LENGTH, failure, points_of
from passpilot.training.native_size.progress import SizeProgress, progress_of
from passpilot.training.task import Task

if TYPE_CHECKING:
    from passpilot.features.point import Point
    from passpilot.runners.remote.advisor_pb2 import TensorSpec

_PARENT_DEATH: Final = 1
"""PR_SET_PDEATHSIG of prctl(2)."""


class AgentChannel:
    """The worker's end of the socket."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._file = end.makefile("rb")
        self._read = self._file.read
        self.abandoned = False
        """Whether the agent has abandoned the present episode."""

    def receive(self) -> compiler_pb2.AgentMessage:
        """The next message; when the service has gone, end the process."""
        head = self._read(LENGTH.size)
        if len(head) < LENGTH.size:
            self._gone()
        (size,) = LENGTH.unpack(head)
        data = self._read(size)
        if len(data) < size:  # a part of a message may read as another message
            self._gone()
        return compiler_pb2.AgentMessage.FromString(data)

    def close(self) -> None:
        """Close the socket, where the process lives on."""
        self._file.close()
        self._end.close()

    def _gone(self) -> NoReturn:
        os._exit(0)  # there is nothing to clean up

    def send(self, message: compiler_pb2.CompilerMessage) -> None:
        data = message.SerializeToString()
        self._end.sendall(LENGTH.pack(len(data)) + data)


class _Abandoned(Exception):  # noqa: N818  (not an error)
    """The agent has abandoned this episode."""


class AgentRunner(Runner):
    """Asks the agent at the other end of `channel`; all points of an episode share the channel.

    If `function` is set, the compiler's default answers for all other functions. `progress` tells with every
    question what the answer to the one before was worth.
    """

    def __init__(
        self,
        point: Point,
        features: Sequence[str],
        function: str,
        channel: AgentChannel,
        progress: SizeProgress | None = None,
    ) -> None:
        mask = [point.domain.mask] if isinstance(point.domain, Choice) else []
        self.inputs = point.select(dict.fromkeys([*features, *mask])) if features else own_features(point)
        self.output = point.advice
        self.__name__ = "agent"  # its name in warnings
        self.point = point.name
        self.decisions = 0
        self._domain = point.domain
        self._function = function
        self._context = ""
        row = HOOKED.get(point.name)
        self._by_context = row is None or row.site != "call"
        self._channel, self._progress = channel, progress
        self._first: compiler_pb2.Episode | None = _episode(point, self)

    def switch_context(self, name: str) -> None:
        self._context = name

    def evaluate(self) -> object:
        if self._function and self._place() != self._function:
            assert self.host is not None, "it runs in the compiler"
            return self.host.default()
        channel = self._channel
        if channel.abandoned:  # at another point; the compilation goes on to its end
            raise _Abandoned
        message = compiler_pb2.CompilerMessage(
            observation=self.frame.tobytes(),
            episode=self.introduction(),
            point=self.point,
            progress=self._progress.seen(self.host.site) if self._progress and self.host else 0.0,
        )
        while True:
            channel.send(message)
            received = channel.receive()
            if not received.HasField("action"):
                channel.abandoned = True
                raise _Abandoned
            try:
                advice = self._domain.accept(_value(received.action), self.tensors)
            except AdviceError as error:
                message = failure(error, retry=True)
                continue
            self.decisions += 1
            return advice

    def _place(self) -> object:
        if self._by_context:
            return self._context
        return self.host.site.caller.name  # type: ignore[union-attr]

    def introduction(self) -> compiler_pb2.Episode | None:
        """The `Episode` for the first message; None for later ones."""
        first, self._first = self._first, None
        return first


def _value(action: compiler_pb2.Action) -> object:
    kind = action.WhichOneof("value")
    return getattr(action, kind) if kind else None


def _episode(point: Point, runner: Runner) -> compiler_pb2.Episode:
    episode = compiler_pb2.Episode()
    for spec in by_name(runner.inputs).values():
        _describe(spec.to_json(), episode.tensors.add())
    _describe(point.advice.to_json(), episode.advice)
    _describe_domain(point.domain, episode)
    return episode


def _describe(row: dict[str, str | int | list[int]], out: TensorSpec) -> None:
    out.MergeFrom(type(out)(**row))  # type: ignore[arg-type]


def _describe_domain(domain: Domain, out: compiler_pb2.Episode) -> None:
    if isinstance(domain, Flag):
        out.flag.SetInParent()
    elif isinstance(domain, Choice):
        out.choice.count, out.choice.mask = domain.count, domain.mask
    elif isinstance(domain, Number):
        out.number.low, out.number.high = domain.low, domain.high


def _compiled(start: compiler_pb2.Start, channel: AgentChannel, task: Task) -> compiler_pb2.CompilerMessage:
    """Compile an episode, asking the agent; return the last message."""
    channel.abandoned = False
    with warnings.catch_warnings(record=True) as caught, contextlib.ExitStack() as advising:
        warnings.simplefilter("always")
        progress = progress_of(start)
        runners = [
            AgentRunner(search_point(point), features, start.function, channel, progress)
            for point, features in points_of(start)
        ]
        advisors = [advising.enter_context(advisor(runner.point, runner)) for runner in runners]
        try:
            value, emitted = task.compiled(advisors, progress.begin if progress else lambda _module: None)
        except Exception:
            if channel.abandoned:
                return compiler_pb2.CompilerMessage()
            raise
    notes = [str(warning.message) for warning in caught]
    decisions = sum(runner.decisions for runner in runners)
    if start.function and not decisions:
        notes.append(f"function {start.function}: the compiler asked nothing about it")
    code = emitted.code if emitted is not None and task.with_object else b""
    result = compiler_pb2.Result(value=value, decisions=decisions, notes=notes, object=code)
    first = runners[0]
    return compiler_pb2.CompilerMessage(result=result, episode=first.introduction(), point=first.point)


def _answer(
    start: compiler_pb2.Start, channel: AgentChannel, *, allow_files: bool, targets: Sequence[str]
) -> compiler_pb2.CompilerMessage:
    try:
        if not allow_files:
            limits.check_passes(start)
        task = Task.of(start, () if allow_files else targets or (limits.own_target(),))
        if start.point:
            return _compiled(start, channel, task)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the episode reports them
            return compiler_pb2.CompilerMessage(result={"value": task.run()})
    except Exception as error:  # noqa: BLE001  (sent to the agent)
        return failure(error)


def main(argv: Sequence[str]) -> None:
    """Serve the socket whose descriptor is the first argument.

    The second argument is 1 if modules and pipelines may read and write files, else 0. The third one has the
    targets that modules may have, and the fourth one is the number of LLVM's options that follow. The other
    arguments are files to load.
    """
    ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the service
    channel, allow_files = AgentChannel(socket.socket(fileno=int(argv[0]))), argv[1] == "1"
    end = 4 + int(argv[3])
    targets = tuple(filter(None, argv[2].split(",")))
    serve(channel, argv[end:], allow_files=allow_files, targets=targets, options=argv[4:end])


def serve(
    channel: AgentChannel,
    load: Sequence[str],
    *,
    allow_files: bool,
    targets: Sequence[str] = (),
    options: Sequence[str] = (),
) -> None:
    """Set LLVM's options, load files and compile episodes; returns only if one of them is wrong."""
    try:
        if options:
            llvm_options(options)
        if not allow_files:
            limits.refuse_assembly_files()
        for file in load:
            load_file(file)
    except Error as error:
        channel.send(failure(error))
        return
    channel.send(compiler_pb2.CompilerMessage())
    while True:
        message = channel.receive()
        answer = compiler_pb2.CompilerMessage()
        if message.HasField("start"):
            answer = _answer(message.start, channel, allow_files=allow_files, targets=targets)
        channel.send(answer)


if __name__ == "__main__":
    main(sys.argv[1:])
