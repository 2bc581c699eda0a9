# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares `grpc:` with one unary call per decision, and with `pipe:`, in turns; a null model, 38 features.

The unary side is the fastest form of a generated client, without protobuf objects at either end: it sends the
same bytes to a server that only answers. `grpc:` asks a Python policy behind `passpilot serve`. Targets:
streaming at least twice as fast, and at most 300 µs per decision, by the least median of a round: a machine
with other work adds milliseconds to many questions.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from bench.lib import Bar, command, in_turns, microseconds, settle, show
from bench.lib.peers import first_line, null_policy, piped, process, streamed
from passpilot.features.point import find_point
from passpilot.runners.base import allocate
from passpilot.runners.spec import make_runner

import grpc  # isort: skip  (after passpilot, which sets its verbosity)
from collections.abc import Callable

from passpilot.runners.base import Runner

ROUNDS: Final = 30
QUESTIONS: Final = 100
FRAME: Final = 38 * 8
UNARY: Final = """
import grpc
from concurrent.futures import ThreadPoolExecutor
handler = grpc.unary_unary_rpc_method_handler(lambda request, context: b"\\x11" + bytes(8))
server = grpc.server(ThreadPoolExecutor(4))
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench", {"Ask": handler}),))
print(server.add_insecure_port("127.0.0.1:0"), flush=True)
server.start()
server.wait_for_termination()
"""


def runner(spec: str) -> Runner:
    found = allocate(make_runner(spec, find_point("inline"), timeout=60))
    assert found.frame.nbytes == FRAME
    return found


@command
def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        policy = null_policy(folder, find_point("inline"))
        with (
            process(sys.executable, "-c", UNARY) as unary,
            streamed(policy) as (target, _),
            piped(policy, folder / "ch", "--once"),
            grpc.insecure_channel(f"127.0.0.1:{first_line(unary).strip()}") as channel,
            runner(f"grpc:{target}") as stream,
            runner(f"pipe:{folder / 'ch'}") as pipe,
        ):
            call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/bench/Ask")
            sides: dict[str, Callable[[], object]] = {
                "unary": partial(call, bytes(FRAME)),
                "grpc:": stream.evaluate,
                "pipe:": pipe.evaluate,
            }
            runs = {side: partial(microseconds, ask, QUESTIONS) for side, ask in sides.items()}
            in_turns(runs, 1)
            times = in_turns(runs, ROUNDS)
    least = {side: min(map(statistics.median, rounds)) for side, rounds in times.items()}
    rows = {}
    for side, rounds in times.items():
        every = list(chain(*rounds))
        p90 = statistics.quantiles(every, n=10)[-1]
        rows[side] = {"median": statistics.median(every), "p90": p90, "least median": least[side]}
    show("µs per decision", "", rows)
    settle(
        Bar("`grpc:`, times as fast", least["unary"] / least["grpc:"], 2, "unary calls", least=True),
        Bar("`grpc:`, µs per decision", least["grpc:"], 300),
    )
