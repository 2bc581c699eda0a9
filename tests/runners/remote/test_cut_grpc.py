# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A connection over TCP that ends after any byte of a whole compilation: an error, or the whole result."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from passpilot.plugin.errors import PeerError
from passpilot.runners.serving.grpc_server import GrpcServer
from tests.runners.remote.cutter import cutter
from tests.runners.remote.test_cut import POLICY, compiled
from tests.runners.serving.serving import GENEROUS

TOGETHER = 8
"""Connections at a time: those that end within the handshake wait for their deadline."""


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("step", [211, pytest.param(1, marks=pytest.mark.soak)])
def test_a_connection_that_ends_after_any_byte(step: int, tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(POLICY)
    with GrpcServer(f"python:{tmp_path / 'policy.py'}:yes", "0", timeout=GENEROUS) as server:
        target = f"127.0.0.1:{server.port}"
        with cutter(target) as whole:
            expected = compiled(f"grpc:{whole.target}")
            sizes = dict(whole.passed)
        assert min(sizes.values()) > 100

        def outcome(way: str, size: int) -> bytes | str:
            with cutter(target) as cut:
                cut.cut_after(way, size)
                try:
                    return compiled(f"grpc:{cut.target}", timeout=1)
                except PeerError as error:
                    return str(error)

        places = [(way, size) for way in sizes for size in range(0, sizes[way], step)]
        with ThreadPoolExecutor(TOGETHER) as pool:
            outcomes = list(pool.map(outcome, *zip(*places, strict=True)))
        told = {each for each in outcomes if isinstance(each, str)}
        assert all(re.search(r"grpc:127.0.0.1:[0-9]+.*: expected .*, got .*", text) for text in told), told
        assert set(outcomes) - told <= {expected}
        assert outcomes.count(expected) < len(outcomes) / 2
        assert compiled(f"grpc:{target}") == expected
