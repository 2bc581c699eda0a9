# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""passpilot.h with runners in other processes: a pipe's and gRPC's."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import pytest

from tests.fixtures.remote import POLICY
from tests.plugin.native.c.client import CApiError, CRunner, runner
from tests.runners.remote.remote import Remote
from tests.runners.serving.serving import GENEROUS

FEATURES: Final = {"node_count": ("int64", (1,)), "mine": ("float32", (2, 2))}
SOON: Final = 0.3
"""Seconds that a peer which never answers is waited for."""


@pytest.fixture(params=["pipe", "grpc"])
def remote(request: pytest.FixtureRequest, tmp_path: Path) -> Remote:
    """Each of the two transports."""
    (tmp_path / "policy.py").write_text(POLICY)
    return Remote(request.param, str(tmp_path / "ch"))


def client(
    address: str, *, timeout: float = GENEROUS, on_error: bool = False
) -> AbstractContextManager[CRunner]:
    """A compiler of its own whose point has the name and the advice of one that the server knows."""
    return runner(
        address,
        FEATURES,
        name="inline",
        advice="inlining_decision",
        timeout=timeout,
        default_on_error=on_error,
    )


def test_a_server_answers(remote: Remote) -> None:
    with remote.server(remote.policy("positive")) as address:
        with client(address) as made:
            assert (made.reads("node_count"), made.reads("mine")) == (True, False)
            assert [made.ask(node_count=n) for n in (3, 0, -3, 9)] == [1, 0, 0, 1]
        with client(address) as again:
            assert again.ask(node_count=1) == 1


def test_the_servers_error_is_told(remote: Remote) -> None:
    with remote.server(remote.policy("fails")) as address, client(address) as made:
        with pytest.raises(CApiError, match=r"inline advisor at decision 0: .*ValueError: a bad number"):
            made.ask(node_count=1)
        with pytest.raises(CApiError, match=r"got float 0\.5"):
            made.ask(node_count=2)
        assert made.ask(node_count=0) == 1


def test_a_server_that_wants_more_than_is_offered(remote: Remote) -> None:
    with (
        remote.served(remote.policy("custom")) as (_, address),
        pytest.raises(CApiError, match="for_test_pipe"),
    ):
        client(address).__enter__()


def test_nobody_is_there(remote: Remote, tmp_path: Path) -> None:
    address = f"pipe:{tmp_path / 'nobody'}" if remote.scheme == "pipe" else "grpc:127.0.0.1:1"
    with pytest.raises(CApiError, match="expected"):
        client(address, timeout=SOON).__enter__()
    with client(address, timeout=SOON, on_error=True) as made:
        made.default.integer = 1
        assert [made.ask() for _ in range(3)] == [1, 1, 1]
        assert made.fallbacks == 3
        assert len(made.warnings) == 1


@pytest.mark.parametrize("on_error", [False, True])
def test_a_dead_peer(remote: Remote, on_error: bool) -> None:
    with remote.served(remote.policy("dies")) as (_, address), client(address, on_error=on_error) as made:
        if on_error:
            assert [made.ask() for _ in range(3)] == [0, 0, 0]
            assert len(made.warnings) == 1
            return
        with pytest.raises(CApiError, match="inline advisor at decision 0: ") as first:
            made.ask()
        with pytest.raises(CApiError) as second:
            made.ask()
        assert str(first.value) == str(second.value)


def test_a_peer_that_never_answers(remote: Remote) -> None:
    with (
        remote.served(remote.policy("forever")) as (_, address),
        client(address, timeout=10 * SOON) as made,
        pytest.raises(CApiError, match=r"\b3 s\b"),
    ):
        made.ask()


def test_two_threads_ask_two_servers_at_once(remote: Remote, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "policy.py").write_text(POLICY)
    second = Remote(remote.scheme, str(tmp_path / "other" / "ch"))
    wrong: list[int] = []

    def ask(address: str) -> None:
        with client(address) as made:
            wrong.extend(n for n in range(-50, 50) if made.ask(node_count=n) != (n > 0))

    with (
        remote.served(remote.policy("positive")) as (_, one),
        second.served(second.policy("positive")) as (_, other),
    ):
        threads = [threading.Thread(target=ask, args=(address,)) for address in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []
