# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A token in a runner's spec stays in the process: no command prints it, and no file holds it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.errors import Error
from passpilot.plugin.failures import for_terminal, shown
from passpilot.runners.serving.grpc_server import GrpcServer
from passpilot.runners.spec import make_runner
from tests.cli.everything import advised, environment, prepare
from tests.command import GENEROUS, PASSPILOT
from tests.runners.serving.serving import point

SECRET: Final = "s3cret-7a,b(c)"


def found(folder: Path, commands: Iterable[Sequence[str]], timeout: str = "10") -> tuple[list[str], str]:
    """The places where the secret appears, and all that the commands print."""
    texts, places = [], []
    for command in commands:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment(folder, PASSPILOT_STATS="1", PASSPILOT_TIMEOUT=timeout),
            capture_output=True,
            timeout=GENEROUS,
            check=False,
        )
        text = (done.stdout + done.stderr).decode()
        texts.append(text)
        if SECRET[:8] in text:
            places.append(f"{command[:4]}: {text}")
    files = [path for path in folder.rglob("*") if path.is_file()]
    places += [str(path) for path in files if SECRET[:8].encode() in path.read_bytes()]
    return places, "".join(texts)


def test_no_command_shows_a_token(tmp_path: Path) -> None:
    prepare(tmp_path)
    with GrpcServer("const:1", "0", token=SECRET) as server:
        spec = f"grpc:127.0.0.1:{server.port}?token={SECRET}"
        places, said = found(tmp_path, advised(tmp_path, spec))
        assert not places
        assert server._tally._total.decisions >= 8, "the runner was asked"
    assert said.count("?token=...") >= 5, "statistics and tables name the runner"


def test_no_error_shows_a_token(tmp_path: Path) -> None:
    """Nobody listens at the port, and the last commands have nothing to read."""
    prepare(tmp_path)
    spec = f"grpc:127.0.0.1:1?token={SECRET}"
    late = {
        "opt": "--timeout=0.1",
        "cc": "--timeout=0.1",
        "attach": "--timeout=0.1",
        "mlir-opt": "--timeout=0.1",
    }
    commands = [
        [*command[:2], *filter(None, [late.get(command[1])]), *command[2:]]
        for command in advised(tmp_path, spec)
        if command[0] != str(PASSPILOT) or (command[1] in late and "--record" not in " ".join(command))
    ]
    places, said = found(tmp_path, commands, "0.1")
    assert not places
    assert "error" in said


@pytest.mark.parametrize(
    "spec",
    [
        "grpc:h:1?tls=no&token={}",
        "grpc:h:1?token={}&other=1",
        "grpc:h:1?Token={}",
        "grpc:h:1&token={}",
        "grpc:h:1?token={}%FF",
        "grpc:h:1?token={}&token={}",
        "grpc:h:0?token={}",
        "grpc:h?token={}",
        "none:h:1?token={}",
        "gRPC:h:1?token={}",
        "pipe:base?token={}",
    ],
)
def test_no_refusal_shows_a_token(spec: str) -> None:
    with pytest.raises(Error) as caught:
        make_runner(spec.format(SECRET, SECRET), point(), timeout=0.01)
    assert SECRET[:8] not in str(caught.value)


def test_what_is_shown_of_a_spec() -> None:
    assert shown("grpc:h:1?token=abc&tls=no") == "grpc:h:1?token=...&tls=no"
    assert shown("grpc:h:1?token=@file") == "grpc:h:1?token=@file"
    assert shown(shown("runner grpc:h:1?token=abc: expected")) == "runner grpc:h:1?token=...: expected"
    assert (
        for_terminal("inline=grpc:h:1?token=abc evict=const:1\x1b")
        == "inline=grpc:h:1?token=... evict=const:1\\x1b"
    )
