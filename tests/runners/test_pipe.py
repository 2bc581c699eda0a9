# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: ARG001
"""The pipe between a client and `passpilot serve` in a process of its own."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

from passpilot.features.custom import feature, unregister
from passpilot.features.point import find_point
from passpilot.plugin.errors import ModelError, PeerError, RunnerSpecError, SpecMismatchError
from passpilot.runners.base import allocate
from passpilot.runners.pipe import PipeRunner
from passpilot.runners.spec import LONGEST_TIMEOUT, make_runner
from tests.runners.serving import (
    GENEROUS,
    client,
    interrupt_once_asked,
    names_at,
    point,
    resident_kilobytes,
    served,
    spec,
)


def test_questions_and_answers(base: str) -> None:
    with served(spec(base, "positive"), base), client(base) as runner:
        assert [each.name for each in runner.inputs] == ["node_count"]
        assert runner.server == spec(base, "positive")
        for value in (1, 0, -1, 2**63 - 1):
            runner.tensors["node_count"][...] = value
            assert runner.evaluate() == (value > 0)
            assert runner.tensors["node_count"] == value


def test_every_tensor_arrives_in_its_place(base: str) -> None:
    with served(spec(base, "whole"), base), client(base) as runner:
        for number, view in enumerate(runner.tensors.values()):
            view[...] = number + 1
        assert runner.evaluate() == 1


def test_contexts_and_the_default_travel(base: str) -> None:
    with served(spec(base, "Contexts"), base), client(base) as runner:
        runner.switch_context("")
        runner.switch_context("naïve")
        assert runner.evaluate() == 0
        runner.tensors["inlining_default"][...] = 1
        assert runner.evaluate() == 1
        with pytest.raises(ModelError, match=r"ValueError: a bad context \(.*policy.py:\d+\)"):
            runner.switch_context("bad")
        assert runner.evaluate() == 0


def test_evictions_travel(base: str) -> None:
    with served(spec(base, "largest"), base, "--point", "evict"):
        with pytest.raises(SpecMismatchError, match="a client of the decision point evict, got"):
            client(base)
        with allocate(PipeRunner(base, find_point("evict"), GENEROUS)) as runner:
            assert [str(each) for each in runner.inputs] == ["float32[1,33]", "int64[1,33]", "int64[1]"]
            runner.tensors["mask"][0, [3, 32]] = 1
            runner.tensors["evict_default"][...] = 32
            assert runner.evaluate() == 32
            runner.switch_context("main")
            runner.tensors["liverange_size"][0, 3] = 1
            answer = runner.evaluate()
            assert (type(answer), answer) == (int, 3)
            runner.tensors["liverange_size"][0, 4] = 2
            with pytest.raises(ModelError, match=r"'mask' allows \(3, 32\), got int64 np.int64\(4\)"):
                runner.evaluate()
            runner.tensors["mask"][0, 4] = 1
            assert runner.evaluate() == 4


def test_priorities_travel_exactly(base: str) -> None:
    with (
        served(spec(base, "halves"), base, "--point=priority"),
        allocate(PipeRunner(base, find_point("priority"), GENEROUS)) as runner,
    ):
        for value in (2.0**32 - 1, 3221225985.0, 0.2):
            runner.tensors["priority_default"][...] = value
            assert runner.evaluate() == value / 2
        runner.tensors["priority_default"][...] = 2.0**34
        with pytest.raises(ModelError, match="expected a number of 0 to 4294967295, got float 8589934592"):
            runner.evaluate()


def test_every_client_gets_a_runner_of_its_own(base: str) -> None:
    with served(spec(base, "Contexts"), base):
        for _ in range(3):
            with client(base) as runner:
                runner.switch_context("")
                runner.switch_context("naïve")
                runner.tensors["inlining_default"][...] = 1
                assert runner.evaluate() == 1


def test_custom_feature_of_the_compilers_side(base: str) -> None:
    with served(spec(base, "custom"), base):
        with pytest.raises(SpecMismatchError, match="for_test_pipe"):
            client(base)

        @feature("float32[1]", name="for_test_pipe")
        def here(site: object) -> float:
            return 5

        try:
            runner = allocate(PipeRunner(base, find_point("inline"), GENEROUS))
        finally:
            unregister("for_test_pipe")
        with runner:
            runner.tensors["for_test_pipe"][...] = 5
            assert runner.evaluate() == 1


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (1, r"ValueError: a bad number \(.*policy.py:\d+\)$"),
        (2, r"advice: expected a bool or an integer 0 or 1, got float 0.5"),
        (3, r"PolicyError: obs.site: expected a policy inside the compiler.*policy.py:\d+\)$"),
        (4, r"PolicyError: obs.default\(\): .*'inlining_default'\) \(.*policy.py:\d+\)$"),
        (5, r"PolicyError: obs\['edge_count'\]: .*policy.py:\d+\)$"),
        (6, r"SystemExit: leaving \(.*policy.py:\d+\)$"),
        (7, r"ValueError: x{60000,}$"),
    ],
)
def test_errors_of_the_policy_come_back_and_the_session_goes_on(
    base: str, value: int, complaint: str
) -> None:
    with served(spec(base, "fails"), base), client(base) as runner:
        for _ in range(3):
            runner.tensors["node_count"][...] = value
            with pytest.raises(ModelError, match=complaint) as caught:
                runner.evaluate()
            assert str(caught.value).startswith(f"pipe:{base} (python:")
            runner.tensors["node_count"][...] = 0
            assert runner.evaluate() == 1


def test_closed_runner(base: str) -> None:
    with served("const:1", base):
        runner = client(base)
        runner.close()
        runner.close()
        for _ in range(2):
            with pytest.raises(PeerError, match="one that was closed"):
                runner.evaluate()
        with pytest.raises(PeerError, match="one that was closed"):
            runner.switch_context("x")


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


def test_random_is_the_same_over_the_pipe(base: str) -> None:
    with served("random:7", base), client(base) as there, allocate(make_runner("random:7", point())) as here:
        answers = []
        for context in ("", "a.c", "", "naïve"):
            for runner in (there, here):
                runner.switch_context(context)
            answers += [(there.evaluate(), here.evaluate()) for _ in range(50)]
    assert all(a == b for a, b in answers)
    assert 0 < sum(int(str(a)) for a, _ in answers) < 200


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


def test_interruption_ends_the_session(base: str) -> None:
    """What the server still answers would belong to a question that was given up."""
    with served(spec(base, "forever"), base) as server, client(base) as runner:
        interrupt_once_asked(server, runner)
        with pytest.raises(PeerError, match="one that an interruption ended"):
            runner.evaluate()


def test_deadline_is_that_of_each_question(base: str) -> None:
    """Many questions may take longer together."""
    with served("const:1", base), client(base, timeout=GENEROUS) as runner:
        runner._watch._timeout = 1
        end = time.monotonic() + 1.6
        while time.monotonic() < end:
            assert runner.evaluate() == 1


@pytest.mark.parametrize("serdes", ["bitstream", "json"])
def test_the_longest_deadline(base: str, serdes: str) -> None:
    with served("const:1", base, f"--timeout={LONGEST_TIMEOUT}"):
        with make_runner(f"pipe:{base}?serdes={serdes}", point(), timeout=LONGEST_TIMEOUT) as runner:
            assert allocate(runner).evaluate() == 1
        with pytest.raises(RunnerSpecError, match=r"expected a timeout of .* at most a million, got 2000000"):
            make_runner(f"pipe:{base}", point(), timeout=2 * LONGEST_TIMEOUT)


def test_large_frames(base: str) -> None:
    """Larger than what a FIFO holds, so that neither end can write at once."""
    (Path(base).parent / "large.py").write_text(
        "def decide(obs):\n    view = obs['large_for_pipe']\n    return int(view.sum()) == view.size\n"
        "decide.features = ('large_for_pipe', 'node_count')\n"
    )

    @feature("int32[100,1001]", name="large_for_pipe")
    def large(site: object) -> None:
        pass

    try:
        offered = find_point("inline")
    finally:
        unregister("large_for_pipe")
    large_spec = f"python:{Path(base).parent / 'large.py'}:decide"
    with served(large_spec, base), allocate(PipeRunner(base, offered, GENEROUS)) as runner:
        for _ in range(20):
            runner.tensors["large_for_pipe"][...] = 1
            assert runner.evaluate() == 1
            runner.tensors["large_for_pipe"][-1, -1] = 0
            assert runner.evaluate() == 0
        runner.switch_context("x")


def test_neither_end_grows(base: str) -> None:
    with served(spec(base, "positive"), base) as server, client(base) as runner:

        def ask(count: int) -> list[int]:
            for _ in range(count):
                runner.evaluate()
            return [resident_kilobytes(), resident_kilobytes(server.pid)]

        ask(5_000)
        sizes = [ask(15_000) for _ in range(5)]
    for end in zip(*sizes, strict=True):
        # What is allocated once shows in one batch, a leak in each.
        assert min(new - old for old, new in pairwise(end)) < 100
