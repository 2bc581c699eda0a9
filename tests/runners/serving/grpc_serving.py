# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Model servers over gRPC, in this process and in others, for the tests of `grpc:`."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from passpilot.features.point import Point
from passpilot.runners.base import Runner
from passpilot.runners.remote import grpc_messages, wire
from passpilot.runners.serving.grpc_server import GrpcServer
from passpilot.runners.spec import RunnerLike
from tests.runners.serving.serving import GENEROUS, SERVE, process, reached

if TYPE_CHECKING:
    import grpc


@contextlib.contextmanager
def served(spec: str, *flags: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`passpilot serve --grpc 0` as a child, and the target of its clients."""
    with process(sys.executable, "-c", SERVE, spec, "--grpc", "0", *flags) as child:
        assert child.stdout is not None
        yield child, f"127.0.0.1:{int(child.stdout.readline())}"


@contextlib.contextmanager
def server(
    runner: RunnerLike, point: str = "inline", timeout: float = GENEROUS, frame: int = wire.LARGEST
) -> Iterator[GrpcServer]:
    """A server in this process; must end without open sessions."""
    with GrpcServer(runner, "0", point=point, timeout=timeout, frame=frame) as made:
        yield made
        assert made.close()
    assert made.sessions == 0


def target_of(server: GrpcServer) -> str:
    """The target for its clients."""
    return f"127.0.0.1:{server.port}"


def client(target: str, keys: str = "", *, offered: Point | None = None, timeout: float = GENEROUS) -> Runner:
    """A client with buffers."""
    return reached(f"grpc:{target}{keys}", offered, timeout)


def advise(channel: grpc.Channel) -> grpc.StreamStreamMultiCallable[bytes, bytes]:
    """The service's method, for a client that sends arbitrary bytes."""
    return channel.stream_stream(f"/{grpc_messages.SERVICE}/{grpc_messages.METHOD}")
