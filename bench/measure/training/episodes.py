# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares episodes over gRPC with the same compilation and a policy in the process, in turns; medians.

-Oz, every decision "yes", the agent on the same machine. The overhead per decision is the difference of whole
compilations divided by the number of decisions, for a module full of calls, without a reward. Episodes per
second are measured on a translation unit of a real program, including the code generation for the reward.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

import passpilot
from bench.lib import Bar, command, in_turns, medians, seconds, settle, show_rows
from bench.lib.corpus import built
from bench.lib.peers import first_line, process
from passpilot.training.episode import CompilerClient
from tests.command import PASSPILOT, program

ROUNDS: Final = 20
CALLS: Final = 500
PIPELINE: Final = "default<Oz>"


def yes(_: object) -> bool:
    return True


def in_process(code: bytes) -> int:
    """Compile once; the number of decisions."""
    with passpilot.InlineAdvisor(yes) as advisor:
        passpilot.optimize(passpilot.Module.read(code), PIPELINE, [advisor])
        return advisor.stats.decisions


def episode(client: CompilerClient, code: bytes, reward: str = "none") -> None:
    observation = client.reset(code, point="inline", pipeline=PIPELINE, reward=reward)
    while observation is not None:
        observation, *_ = client.step(1)


def overhead(target: str, code: bytes) -> float:
    """Print the overhead per decision over a policy in the process, and return it."""
    decisions = in_process(code)
    with CompilerClient(target) as client:
        episode(client, code)
        runs: dict[str, Callable[[], object]] = {
            "in process": partial(in_process, code),
            "episode": partial(episode, client, code),
        }
        times = in_turns({name: partial(seconds, run) for name, run in runs.items()}, ROUNDS)
    more = [b - a for a, b in zip(times["in process"], times["episode"], strict=True)]
    figures = {**medians(times), "overhead": statistics.median(more)}
    figures = {name: value / decisions * 1e6 for name, value in figures.items()}
    show_rows(f"a compilation, by each of {decisions} decisions", ("", "µs"), figures.items())
    return figures["overhead"]


def print_rates(target: str, code: bytes) -> None:
    def agent(_: int = 0) -> None:
        with CompilerClient(target) as client:
            for _ in range(ROUNDS):
                episode(client, code, "native-size")

    agent()  # starts a worker, and measures the baseline
    alone = ROUNDS / seconds(agent)
    with ThreadPoolExecutor(2) as pool:
        both = 2 * ROUNDS / seconds(lambda: list(pool.map(agent, range(2))))
    print(f"{in_process(code)} decisions: {alone:.1f} episodes/s by one agent, {both:.1f} by two")


@command
def main() -> None:
    code = built(["lua"])[0].unit("src/ltablib.c", "Oz").read_bytes()
    with process(str(PASSPILOT), "serve-compiler", "--grpc=127.0.0.1:0", "--no-token") as service:
        target = f"127.0.0.1:{int(first_line(service))}"
        more = overhead(target, program(CALLS).encode())
        print_rates(target, code)
    settle(Bar("an episode over gRPC, µs more per decision", more, 800, "a policy in the process"))
