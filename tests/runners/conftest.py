# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of model servers share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runners.remote import Remote

POLICY = """
import os
import signal
import sys

def positive(obs):
    return obs["node_count"] > 0

positive.features = ("node_count",)

def whole(obs):
    return len(obs) == 38 and int(sum(view[0] for view in obs.values())) == 38 * 39 // 2

def fails(obs):
    if obs["node_count"] == 1:
        raise ValueError("a bad\\nnumber")
    if obs["node_count"] == 2:
        return 0.5
    if obs["node_count"] == 3:
        return obs.site
    if obs["node_count"] == 4:
        return obs.default()
    if obs["node_count"] == 5:
        return obs["edge_count"]
    if obs["node_count"] == 6:
        sys.exit("leaving")
    if obs["node_count"] == 7:
        raise ValueError("x" * 100_000)
    return True

fails.features = ("node_count",)

class Contexts:
    features = ("inlining_default", "node_count")

    def __init__(self):
        self.names = []

    def switch_context(self, name):
        if name == "bad":
            raise ValueError("a bad context")
        self.names.append(name)

    def decide(self, obs):
        return self.names == ["", "naïve"] and obs.context == "naïve" and obs.default()

def custom(obs):
    return obs["for_test_pipe"] == 5

custom.features = ("for_test_pipe",)

def largest(obs):
    return obs["liverange_size"][0].argmax() if obs.context == "main" else obs.default()

largest.features = ("liverange_size", "mask", "evict_default")

def halves(obs):
    return obs.default() / 2

halves.features = ("priority_default",)

def forever(obs):
    print("asked", flush=True)
    while True:
        pass

def dies(obs):
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def base(tmp_path: Path) -> str:
    """The base of a pipe, beside a file of policies."""
    (tmp_path / "policy.py").write_text(POLICY)
    return str(tmp_path / "ch")


@pytest.fixture(params=["pipe", "grpc"])
def remote(request: pytest.FixtureRequest, base: str) -> Remote:
    """Each of the two transports."""
    return Remote(request.param, base)
