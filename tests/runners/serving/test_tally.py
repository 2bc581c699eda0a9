# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The counts of a server and of `--stats`, and their grammar."""

from __future__ import annotations

import contextlib
import re
from types import SimpleNamespace
from typing import cast

import grpc
import pytest

from passpilot.runners.plurals import count_line, counted
from passpilot.runners.serving.guard import Share
from passpilot.runners.serving.sessions import Tally


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 errors"), (1, "1 error"), (2, "2 errors"), (-1, "-1 errors")]
)
def test_a_noun_is_plural_unless_there_is_one(number: int, text: str) -> None:
    assert counted(number, "error") == text


@pytest.mark.parametrize(
    ("label", "one"),
    [
        ("decisions", "decision"),
        ("evictions", "eviction"),
        ("sessions", "session"),
        ("fallbacks to the default", "fallback to the default"),
        ("accepted", "accepted"),
        ("passes", "passes"),
    ],
)
def test_a_line_of_statistics(label: str, one: str) -> None:
    assert count_line(1, label) == f"         1 {one}"
    assert count_line(0, label) == f"         0 {label}"
    assert count_line(11, label) == f"        11 {label}"


def test_sessions_are_added_up() -> None:
    said: list[str] = []
    tally = Tally(said.append, verbose=True)
    assert str(tally) == "0 sessions, 0 decisions, 0 errors"
    with tally.session("a") as first:
        first.decisions += 1
        with tally.session("b") as second:
            second.decisions += 2
            second.errors += 1
        assert str(tally) == "2 sessions, 2 decisions, 1 error"
    with contextlib.suppress(ValueError), tally.session("c") as third:
        third.errors += 4
        raise ValueError
    assert str(tally) == "3 sessions, 3 decisions, 5 errors"
    assert [re.sub(r" in \d+\.\d s$", "", each) for each in said] == [
        "session 1: a",
        "session 2: b",
        "session 2: 2 decisions, 1 error",
        "session 1: 1 decision, 0 errors",
        "session 3: c",
        "session 3: 0 decisions, 4 errors",
    ]


def test_only_a_verbose_server_tells_of_each_session() -> None:
    said: list[str] = []
    tally = Tally(said.append)
    with tally.session("a"):
        pass
    assert (said, str(tally)) == ([], "1 session, 0 decisions, 0 errors")


def peer(text: str) -> grpc.ServicerContext:
    """A client at this address."""
    return cast("grpc.ServicerContext", SimpleNamespace(peer=lambda: text))


def test_an_address_has_its_share_whatever_its_ports_are() -> None:
    share = Share(2)
    with share.place(peer("ipv4:10.0.0.1:5")) as first, share.place(peer("ipv4:10.0.0.1:6")) as second:
        with share.place(peer("ipv4:10.0.0.1:7")) as third, share.place(peer("ipv4:10.0.0.2:5")) as other:
            assert (first, second, third, other) == (True, True, False, True)
        with share.place(peer("ipv4:10.0.0.1:8")) as fourth:
            assert not fourth
    with contextlib.suppress(KeyError), share.place(peer("ipv4:10.0.0.1:9")) as fifth:
        assert fifth
        raise KeyError
    assert not share._of, "nothing is kept about clients that left"
