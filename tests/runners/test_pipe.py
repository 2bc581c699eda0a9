# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pipe between a client and `passpilot serve` in a child process."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import PeerError, RunnerSpecError
from passpilot.runners.base import allocate
from passpilot.runners.pipe import PipeRunner
from passpilot.runners.spec import LONGEST_TIMEOUT, make_runner
from tests.runners.serving.serving import (
    GENEROUS,
    client,
    names_at,
    point,
    served,
)


def test_runner_that_is_forgotten_gives_the_server_back(base: str) -> None:
    with served("const:1", base):
        runner = client(base)
        assert runner.evaluate() == 1
        del runner
        with client(base) as runner:
            assert runner.evaluate() == 1


def test_second_client_waits_for_the_first(base: str) -> None:
    with served("const:1", base), ThreadPoolExecutor(1) as pool:
        with client(base) as first:
            second = pool.submit(client, base)
            with pytest.raises(PeerError, match="got one that is serving another client; start"):
                client(base, timeout=0.1)
            assert first.evaluate() == 1
            assert not second.done()
        with second.result(GENEROUS) as runner:
            assert runner.evaluate() == 1


def test_many_clients_at_once_are_served_one_by_one(base: str) -> None:
    def ask(_: int) -> int:
        with client(base) as runner:
            return sum(int(runner.evaluate()) for _ in range(50))

    with served("const:1", base), ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(24))) == [50] * 24


@pytest.mark.parametrize("left_over", [False, True])
def test_absent_server(base: str, left_over: bool) -> None:
    if left_over:
        os.mkfifo(f"{base}.in")
        os.mkfifo(f"{base}.out")
    with pytest.raises(
        PeerError, match="the FIFOs of one that is gone; start" if left_over else "got none; start"
    ):
        make_runner(f"pipe:{base}", point(), timeout=0.05)
    assert len(names_at(base)) == 2 * left_over


def test_client_may_come_before_its_server(base: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client, base)
        with served("const:1", base), waiting.result(GENEROUS) as runner:
            assert runner.evaluate() == 1


def test_base_that_is_no_fifo(base: str) -> None:
    Path(f"{base}.in").write_text("x")
    with pytest.raises(PeerError, match=r"expected FIFOs that can be opened, got: not a FIFO \(.*ch\.in\)"):
        client(base)
    with pytest.raises(RunnerSpecError, match="expected pipe:BASE"):
        make_runner("pipe:", point())


def test_server_after_one_that_was_killed(base: str) -> None:
    with served("const:0", base) as server, client(base) as runner:
        assert runner.evaluate() == 0
        server.kill()
    with served("const:0", base) as server:
        with client(base) as runner:
            assert runner.evaluate() == 0
        server.kill()
        server.wait()
    with served("const:1", base), client(base) as runner:
        assert runner.evaluate() == 1


def test_deadline_is_that_of_each_question(base: str) -> None:
    """The watch sees the begin and end of every question; `test_watch.py` tests the deadline."""
    with served("const:1", base), client(base) as runner:
        before = runner._watch.steps
        assert [runner.evaluate() for _ in range(3)] == [1, 1, 1]
        assert (before % 2, runner._watch.steps) == (0, before + 6)


@pytest.mark.parametrize("serdes", ["bitstream", "json"])
def test_the_longest_deadline(base: str, serdes: str) -> None:
    with served("const:1", base, f"--timeout={LONGEST_TIMEOUT}"):
        with make_runner(f"pipe:{base}?serdes={serdes}", point(), timeout=LONGEST_TIMEOUT) as runner:
            assert allocate(runner).evaluate() == 1
        with pytest.raises(RunnerSpecError, match=r"expected a timeout of .* at most a million, got 2000000"):
            make_runner(f"pipe:{base}", point(), timeout=2 * LONGEST_TIMEOUT)


def test_large_frames(base: str) -> None:
    """A frame larger than a FIFO's capacity, so that no end can write it in one piece."""
    (Path(base).parent / "large.py").write_text(
        "def decide(obs):\n    view = obs['large_for_pipe']\n    return int(view.sum()) == view.size\n"
        "decide.features = ('large_for_pipe', 'node_count')\n"
    )
    offered = point(TensorSpec("large_for_pipe", "int32", (100, 1001)))
    large_spec = f"python:{Path(base).parent / 'large.py'}:decide"
    with served(large_spec, base), allocate(PipeRunner(base, offered, GENEROUS)) as runner:
        for _ in range(20):
            runner.tensors["large_for_pipe"][...] = 1
            assert runner.evaluate() == 1
            runner.tensors["large_for_pipe"][-1, -1] = 0
            assert runner.evaluate() == 0
        runner.switch_context("x")
