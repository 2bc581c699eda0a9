# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares `grpc:` with one unary call per decision, and with `pipe:`, in turns; a null model, 38 features.

The unary side is the fastest form of a generated client, without protobuf objects at either end: it sends the
same bytes to a server that only answers. `grpc:` asks a Python policy behind `passpilot serve`. Targets:
streaming at least twice as fast, and at most 300 us per decision, by the least median of a round: a machine
with other work adds milliseconds to many questions.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import chain, pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.bars import Bar, settle
from passpilot.features.point import find_point
from passpilot.runners.base import Runner, allocate
from passpilot.runners.spec import make_runner

import grpc  # isort: skip  (after passpilot, which sets its verbosity)

ROUNDS = 30
QUESTIONS = 100
FRAME = 38 * 8
SERVE = "import sys; from passpilot.cli.serve import main; sys.exit(main(sys.argv[1:]))"
UNARY = """
import grpc
from concurrent.futures import ThreadPoolExecutor
handler = grpc.unary_unary_rpc_method_handler(lambda request, context: b"\\x11" + bytes(8))
server = grpc.server(ThreadPoolExecutor(4))
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench", {"Ask": handler}),))
print(server.add_insecure_port("127.0.0.1:0"), flush=True)
server.start()
server.wait_for_termination()
"""


def times(ask: Callable[[], object]) -> list[float]:
    """Ask many questions; the microseconds of every one."""
    clock = time.perf_counter
    marks = [clock()]
    for _ in range(QUESTIONS):
        ask()
        marks.append(clock())
    return [(after - before) * 1e6 for before, after in pairwise(marks)]


def started(*arguments: str) -> tuple[subprocess.Popen[str], str]:
    """Start a server; the process, and the first line that it prints."""
    child = subprocess.Popen([sys.executable, "-c", *arguments], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    return child, child.stdout.readline().strip()


def runner(spec: str) -> Runner:
    """Make a runner and allocate its buffers."""
    made = allocate(make_runner(spec, find_point("inline"), timeout=60))
    assert made.frame.nbytes == FRAME
    return made


def measure(sides: dict[str, Callable[[], object]]) -> dict[str, list[list[float]]]:
    """Measure all sides, in turns; the microseconds of every round."""
    measured: dict[str, list[list[float]]] = {name: [] for name in sides}
    for ask in sides.values():
        times(ask)
    for _ in range(ROUNDS):
        for name, ask in sides.items():
            measured[name].append(times(ask))
    return measured


def main() -> None:
    """Print the medians and the ninth deciles; the ratio is that of the least medians of a round."""
    with tempfile.TemporaryDirectory() as folder:
        policy = Path(folder, "policy.py")
        policy.write_text("def decide(obs):\n    return True\n")
        spec, base = f"python:{policy}:decide", f"{folder}/ch"
        unary, unary_port = started(UNARY)
        streaming, port = started(SERVE, spec, "--grpc", "0")
        piped = subprocess.Popen([sys.executable, "-c", SERVE, spec, "--pipe", base, "--once"])
        channel = grpc.insecure_channel(f"127.0.0.1:{unary_port}")
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/bench/Ask")
        frame = bytes(FRAME)
        with runner(f"grpc:127.0.0.1:{port}") as stream, runner(f"pipe:{base}") as pipe:
            measured = measure(
                {"unary": lambda: call(frame), "grpc:": stream.evaluate, "pipe:": pipe.evaluate}
            )
        channel.close()
        for server in (unary, streaming, piped):
            server.terminate()
            server.wait()
    least = {name: min(map(statistics.median, rounds)) for name, rounds in measured.items()}
    for name, rounds in measured.items():
        each = list(chain(*rounds))
        median, p90 = statistics.median(each), statistics.quantiles(each, n=10)[-1]
        print(f"{name:6} median {median:6.1f} us   p90 {p90:6.1f} us   least median {least[name]:6.1f} us")
    faster = least["unary"] / least["grpc:"]
    settle(
        "grpc",
        Bar("`grpc:`, times as fast", faster, 2, "unary calls", least=True),
        Bar("`grpc:`, µs per decision", least["grpc:"], 300),
    )


if __name__ == "__main__":
    main()
