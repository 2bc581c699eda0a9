# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares episodes over gRPC with the same compilation and a policy in the process, in turns; medians.

-Oz, every decision "yes", the agent on the same machine. The overhead per decision is the difference of whole
compilations divided by the number of decisions, for a module full of calls, without a reward. Episodes per
second are measured on a translation unit of a real program, including the code generation for the reward.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import passpilot
from bench.lib.bars import Bar, settle
from passpilot.training.episode import CompilerClient
from tests.command import program
from tests.corpus.build import build
from tests.corpus.programs import programs

ROUNDS = 20
CALLS = 500
PIPELINE = "default<Oz>"


def yes(_: object) -> bool:
    """The policy."""
    return True


def in_process(code: bytes) -> int:
    """Compile once; the number of decisions."""
    with passpilot.InlineAdvisor(yes) as advisor:
        passpilot.optimize(passpilot.Module.read(code), PIPELINE, [advisor])
        return advisor.stats.decisions


def episode(client: CompilerClient, code: bytes, reward: str = "none") -> None:
    """Run one episode."""
    observation = client.reset(code, point="inline", pipeline=PIPELINE, reward=reward)
    while observation is not None:
        observation, *_ = client.step(1)


def seconds(function: Callable[..., object], *arguments: object) -> float:
    """The time of one call."""
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def measure_overhead(target: str, code: bytes) -> float:
    """Print the overhead per decision over a policy in the process, and return it."""
    decisions = in_process(code)
    with CompilerClient(target) as client:
        episode(client, code)
        rounds = [(seconds(in_process, code), seconds(episode, client, code)) for _ in range(ROUNDS)]
    plain, remote = (statistics.median(column) / decisions * 1e6 for column in zip(*rounds, strict=True))
    more = statistics.median(b - a for a, b in rounds) / decisions * 1e6
    print(f"{decisions} decisions, whole compilation by decision: python: in process {plain:.0f} us", end="")
    print(f"   episode {remote:.0f} us   overhead {more:.0f} us")
    return more


def measure_episodes(target: str, code: bytes) -> None:
    """Print the number of episodes per second."""

    def agent(_: int) -> None:
        with CompilerClient(target) as client:
            for _ in range(ROUNDS):
                episode(client, code, "native-size")

    agent(0)  # starts a worker, and measures the baseline
    alone = ROUNDS / seconds(agent, 0)
    with ThreadPoolExecutor(2) as pool:
        both = 2 * ROUNDS / seconds(lambda: list(pool.map(agent, range(2))))
    print(
        f"{in_process(code)} decisions, native-size: {alone:.1f} episodes/s by one agent, {both:.1f} by two"
    )


def main() -> None:
    """Start the service, measure, stop it."""
    build(["lua"])
    code = programs()["lua"].unit("src/ltablib.c", "Oz").read_bytes()
    command = [
        str(Path(sys.executable).with_name("passpilot")),
        "serve-compiler",
        "--grpc=127.0.0.1:0",
        "--no-token",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        try:
            target = f"127.0.0.1:{int(service.stdout.readline())}"
            overhead = measure_overhead(target, program(CALLS).encode())
            measure_episodes(target, code)
        finally:
            service.terminate()
    settle(
        Bar("an episode over gRPC, µs more per decision", overhead, 800, "a policy in the process"),
    )


if __name__ == "__main__":
    main()
