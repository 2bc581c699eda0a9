# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No client goes through the proxy that the environment names: it would read the token."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Final

import pytest

from passpilot.features.point import find_point
from passpilot.plugin.errors import PeerError
from passpilot.runners.spec import make_runner
from passpilot.training.episode import CompilerClient
from tests.test_house import LAYERS, ROOT

TIMEOUT: Final = 0.5
"""Seconds to wait for a server that takes the connection and says nothing."""


def episode(target: str) -> None:
    with CompilerClient(target, token="a-secret", timeout=TIMEOUT) as client:
        client.reset(b"", point="inline", pipeline="default<Oz>")


def runner(target: str) -> None:
    make_runner(f"grpc:{target}?token=a-secret", find_point("inline"), timeout=TIMEOUT)


def mlbridge(target: str) -> None:
    make_runner(f"grpc:{target}?protocol=mlbridge", find_point("inline"), timeout=TIMEOUT)


@pytest.mark.parametrize("client", [episode, runner, mlbridge])
def test_clients_connect_to_their_server_itself(
    client: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as proxy:
        for name in ("no_proxy", "no_grpc_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        for name in ("grpc_proxy", "https_proxy", "http_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        with pytest.raises(PeerError):
            client(f"127.0.0.1:{server.getsockname()[1]}")
        for listener in (server, proxy):
            listener.setblocking(False)
        server.accept()[0].close()
        with pytest.raises(BlockingIOError):
            proxy.accept()


def test_all_clients_channels_are_made_in_one_place() -> None:
    """With the same options: no proxy, and no message beyond the limit."""
    files = [file for layer in LAYERS for file in (ROOT / layer).rglob("*.py")]
    makers = [file.name for file in files if "secure_channel(" in file.read_text()]
    assert makers == ["grpc_stream.py"]
