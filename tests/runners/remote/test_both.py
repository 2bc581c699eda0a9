# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: ARG001
"""Client and model server behave alike over a pipe and over gRPC."""

from __future__ import annotations

from itertools import pairwise

import pytest

from passpilot.features.custom import feature, unregister
from passpilot.features.point import find_point
from passpilot.plugin.errors import ModelError, PeerError, SpecMismatchError
from passpilot.runners.base import allocate
from passpilot.runners.grpc import GrpcRunner
from passpilot.runners.pipe import PipeRunner
from passpilot.runners.spec import make_runner
from tests.runners.remote.remote import Remote
from tests.runners.serving.serving import interrupt_once_asked, point, reached, resident_kilobytes


def test_questions_and_answers(remote: Remote) -> None:
    with remote.server(remote.policy("positive")) as address, reached(address) as runner:
        assert [each.name for each in runner.inputs] == ["node_count"]
        assert isinstance(runner, PipeRunner | GrpcRunner)
        assert runner.server == remote.policy("positive")
        for value in (1, 0, -1, 2**63 - 1):
            runner.tensors["node_count"][...] = value
            assert runner.evaluate() == (value > 0)
            assert runner.tensors["node_count"] == value


def test_every_tensor_arrives_in_its_place(remote: Remote) -> None:
    with remote.server(remote.policy("whole")) as address, reached(address) as runner:
        for number, view in enumerate(runner.tensors.values()):
            view[...] = number + 1
        assert runner.evaluate() == 1


def test_contexts_and_the_default_travel_to_a_runner_for_each_client(remote: Remote) -> None:
    with remote.server(remote.policy("Contexts")) as address:
        for _ in range(3):
            with reached(address) as runner:
                runner.switch_context("")
                runner.switch_context("naïve")
                assert runner.evaluate() == 0
                runner.tensors["inlining_default"][...] = 1
                assert runner.evaluate() == 1
                with pytest.raises(ModelError, match=r"ValueError: a bad context \(.*policy.py:\d+\)"):
                    runner.switch_context("bad")
                assert runner.evaluate() == 0


def test_evictions_travel(remote: Remote) -> None:
    with remote.server(remote.policy("largest"), "evict") as address:
        with pytest.raises(SpecMismatchError, match="a client of the decision point evict, got"):
            reached(address)
        with reached(address, find_point("evict")) as runner:
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


def test_priorities_travel_exactly(remote: Remote) -> None:
    with (
        remote.server(remote.policy("halves"), "priority") as address,
        reached(address, find_point("priority")) as runner,
    ):
        for value in (2.0**32 - 1, 3221225985.0, 0.2):
            runner.tensors["priority_default"][...] = value
            assert runner.evaluate() == value / 2
        for value, got in ((2.0**34, "8589934592"), (float("nan"), "nan")):
            runner.tensors["priority_default"][...] = value
            with pytest.raises(ModelError, match=f"expected a number of 0 to 4294967295, got float {got}"):
                runner.evaluate()


def test_custom_feature_of_the_compilers_side(remote: Remote) -> None:
    with remote.server(remote.policy("custom")) as address:
        with pytest.raises(SpecMismatchError, match="for_test_pipe"):
            reached(address)

        @feature("float32[1]", name="for_test_pipe")
        def here(site: object) -> float:
            return 5

        try:
            offered = find_point("inline")
        finally:
            unregister("for_test_pipe")
        with reached(address, offered) as runner:
            runner.tensors["for_test_pipe"][...] = 5
            assert runner.evaluate() == 1


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (1, r"ValueError: a bad number \(.*policy.py:\d+\)$"),
        (2, r"advice: expected a bool or an integer 0 or 1, got float 0.5"),
        (
            3,
            r"PolicyError: obs.site: expected a decision function inside .*grpc: \(.*policy.py:\d+\)$",
        ),
        (4, r"PolicyError: obs.default\(\): .*'inlining_default'\) \(.*policy.py:\d+\)$"),
        (5, r"PolicyError: obs\['edge_count'\]: .*policy.py:\d+\)$"),
        (6, r"SystemExit: leaving \(.*policy.py:\d+\)$"),
        (7, r"ValueError: x{60000,}$"),
    ],
)
def test_errors_of_the_policy_come_back_and_the_session_goes_on(
    remote: Remote, value: int, complaint: str
) -> None:
    with remote.server(remote.policy("fails")) as address, reached(address) as runner:
        for _ in range(3):
            runner.tensors["node_count"][...] = value
            with pytest.raises(ModelError, match=complaint) as caught:
                runner.evaluate()
            assert str(caught.value).startswith(f"{address} (python:")
            runner.tensors["node_count"][...] = 0
            assert runner.evaluate() == 1


def test_random_is_the_same_at_both_ends(remote: Remote) -> None:
    with (
        remote.server("random:7") as address,
        reached(address) as there,
        allocate(make_runner("random:7", point())) as here,
    ):
        answers = []
        for context in ("", "a.c", "", "naïve"):
            for runner in (there, here):
                runner.switch_context(context)
            answers += [(there.evaluate(), here.evaluate()) for _ in range(50)]
    assert all(a == b for a, b in answers)
    assert 0 < sum(int(str(a)) for a, _ in answers) < 200


def test_closed_runner(remote: Remote) -> None:
    with remote.server("const:1") as address:
        runner = reached(address)
        assert runner.evaluate() == 1
        runner.close()
        runner.close()
        for _ in range(2):
            with pytest.raises(PeerError, match="the session is closed"):
                runner.evaluate()
        with pytest.raises(PeerError, match="the session is closed"):
            runner.switch_context("x")


def test_interruption_ends_the_session(remote: Remote) -> None:
    """A late answer would belong to the abandoned question."""
    with remote.served(remote.policy("forever")) as (child, address), reached(address) as runner:
        interrupt_once_asked(child, runner)
        with pytest.raises(PeerError, match="an interruption has ended the session"):
            runner.evaluate()


def test_killed_server_while_it_answers(remote: Remote) -> None:
    told = {
        "pipe": "expected an answer of 16 bytes, got nothing, and the peer is gone",
        "grpc": "expected an answer, got UNAVAILABLE: .*; see the server's own",
    }
    with remote.served(remote.policy("dies")) as (_, address), reached(address) as runner:
        for _ in range(3):
            with pytest.raises(PeerError, match=told[remote.scheme]):
                runner.evaluate()


def test_killed_server_between_questions(remote: Remote) -> None:
    told = {"pipe": "the peer is gone", "grpc": "got UNAVAILABLE"}[remote.scheme]
    with remote.served("const:1") as (child, address), reached(address) as runner:
        assert runner.evaluate() == 1
        child.kill()
        child.wait()
        for _ in range(3):
            with pytest.raises(PeerError, match=told):
                runner.evaluate()
        with pytest.raises(PeerError, match=told):
            runner.switch_context("x")


def test_neither_end_grows(remote: Remote) -> None:
    batch, most = {"pipe": (15_000, 100), "grpc": (1_000, 50)}[remote.scheme]
    with remote.served(remote.policy("positive")) as (child, address), reached(address) as runner:

        def ask() -> list[int]:
            for _ in range(batch):
                runner.evaluate()
            return [resident_kilobytes(), resident_kilobytes(child.pid)]

        ask()
        sizes = [ask() for _ in range(5)]
    for end in zip(*sizes, strict=True):
        # A single allocation shows in one batch, a leak in all.
        assert min(new - old for old, new in pairwise(end)) < most
