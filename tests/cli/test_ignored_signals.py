# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands that are started with SIGINT and SIGHUP ignored, as by `nohup` and by `command &` in a script."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.command import PASSPILOT, files_in, passpilot, program
from tests.passes.mlir.passes import TEXT
from tests.runners.remote.remote import Remote
from tests.runners.serving.serving import ended, reached
from tests.training.serving import INLINE, served

IGNORED: Final = (signal.SIGINT, signal.SIGHUP)

POLICY: Final = """\
import os
import signal


def decide(obs):
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGHUP)
    return True


def priority(obs):
    decide(obs)
    return 1.0
"""

PASS: Final = """\
import os
import signal
from dataclasses import dataclass
from passpilot import mlir

@mlir.pass_("signals", anchor="builtin.module")
@dataclass(frozen=True)
class Signals:
    def run(self, module):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGHUP)
"""

SHOWN: Final = "#!/bin/sh\ngrep SigIgn /proc/self/status\n"


@pytest.fixture(autouse=True)
def ignored() -> Iterator[None]:
    """Ignore the signals in this process, and so in those that it starts."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in IGNORED}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def ignores_both(status: bytes) -> bool:
    """Whether a line of /proc/PID/status says so."""
    match = re.search(rb"SigIgn:\s*([0-9a-f]+)", status)
    assert match is not None, status
    return all(int(match[1], 16) >> (number - 1) & 1 for number in IGNORED)


@pytest.mark.parametrize("remarks", [(), ("-pass-remarks-output=r",)], ids=["plain", "remarks"])
def test_opt_goes_on(tmp_path: Path, remarks: tuple[str, ...]) -> None:
    (tmp_path / "in.ll").write_text(program())
    (tmp_path / "p.py").write_text(POLICY)
    flags = ("opt", "in.ll", "-O2", "--inline=python:p.py:decide", *remarks, "-o", "out.bc")
    done = passpilot(*flags, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert files_in(tmp_path) == ["in.ll", "out.bc", "p.py", *["r"] * len(remarks)]


def test_llc_goes_on(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(program())
    (tmp_path / "p.py").write_text(POLICY)
    flags = ("--priority=python:p.py:priority", "-pass-remarks-output=r", "-o", "out.s")
    done = passpilot("llc", "in.ll", *flags, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert files_in(tmp_path) == ["in.ll", "out.s", "p.py", "r"]


def test_mlir_opt_goes_on(tmp_path: Path) -> None:
    (tmp_path / "in.mlir").write_text(TEXT)
    (tmp_path / "p.py").write_text(PASS)
    flags = ("in.mlir", "--load=p.py", "--pass-pipeline=builtin.module(signals)", "-o", "out.mlir")
    done = passpilot("mlir-opt", *flags, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert (tmp_path / "out.mlir").exists()


def test_a_server_goes_on_until_sigterm(remote: Remote) -> None:
    Path(remote.base).with_name("policy.py").write_text(POLICY)
    with remote.served(remote.policy("decide")) as (child, address):
        with reached(address) as runner:
            assert [runner.evaluate(), runner.evaluate()] == [1, 1]
        child.send_signal(signal.SIGTERM)
        assert ended(child) == (0, "")


def test_the_compiler_service_goes_on_until_sigterm(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        for number in IGNORED:
            service.process.send_signal(number)
        with service.client() as client:
            question = client.reset(program().encode(), **INLINE)
            assert question is not None
        service.process.send_signal(signal.SIGTERM)
        assert service.ended()[0] == 0


@pytest.mark.parametrize("command", ["attach", "cc"])
def test_the_compiler_ignores_them_too(tmp_path: Path, command: str) -> None:
    program = tmp_path / "clang-22"
    program.write_text(SHOWN)
    program.chmod(0o700)
    flags = ("attach", "--inline=const:1", "--", program) if command == "attach" else ("cc",)
    done = subprocess.run(
        [PASSPILOT, *flags],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        check=True,
    )
    assert ignores_both(done.stdout)


@pytest.mark.parametrize("disposition", [signal.SIG_IGN, signal.SIG_DFL])
def test_so_does_the_process_of_passes_for_mlir_opt(tmp_path: Path, disposition: signal.Handlers) -> None:
    """But for ignored ones, SIGINT ends it as it ends the tool."""
    signal.signal(signal.SIGINT, disposition)
    tell = tmp_path / "tell.py"
    tell.write_text("import signal\nprint(signal.getsignal(signal.SIGINT).name, flush=True)\n")
    ours, its = socket.socketpair()
    with ours, its:
        command = (sys.executable, "-m", "passpilot.passes.mlir.stock.worker", str(its.fileno()), str(tell))
        with subprocess.Popen(command, pass_fds=(its.fileno(),), stdout=subprocess.PIPE, text=True) as child:
            its.close()
            assert child.stdout is not None
            assert child.stdout.readline() == f"{disposition.name}\n"
            ours.close()
            assert child.wait() == 0
