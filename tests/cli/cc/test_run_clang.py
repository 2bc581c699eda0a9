# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`run_clang`: the child's name, environment and exit code, and what is left of it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from passpilot.cli.cc.record import run_clang
from tests.command import run


def ran(script: str, **environment: str) -> int:
    return run_clang("/bin/sh", ["clang", "-c", script], environment)


@pytest.mark.parametrize("code", [0, 1, 127, 255])
def test_the_exit_code_is_that_of_the_child(code: int) -> None:
    assert ran(f"exit {code}") == code


@pytest.mark.parametrize("name", ["TERM", "KILL", "SEGV"])
def test_a_signal_is_128_and_its_number(name: str) -> None:
    assert ran(f"kill -{name} $$") == 128 + signal.Signals[f"SIG{name}"]


def test_the_child_has_the_name_and_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "x")
    ran(f'echo "$0 $MINE ${{OURS-none}}" >{tmp_path}/out', MINE="given")
    assert (tmp_path / "out").read_text() == "clang given none\n"


def test_the_child_has_our_open_files() -> None:
    """The job server of make is a pipe of which the environment has the number."""
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    with os.fdopen(reader, "rb") as file:
        ran(f"echo here >&{writer}" if writer < 10 else f"echo here >/proc/self/fd/{writer}")
        os.close(writer)
        assert file.read() == b"here\n"


def test_the_handler_of_sigterm_is_put_back() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        ran("exit 3")
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
        with pytest.raises(FileNotFoundError):
            run_clang("/no/such/compiler", ["clang"], {})
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


ALONE = """
import sys
from passpilot.cli.cc.record import run_clang
print(run_clang("/bin/sh", ["clang", "-c", "kill -TERM $PPID; exec sleep 600"], {"PATH": sys.argv[1]}))
"""


def test_sigterm_ends_the_child_and_not_us(tmp_path: Path) -> None:
    done = run(sys.executable, "-c", ALONE, os.environ["PATH"], cwd=tmp_path)
    assert (done.code, int(done.out)) == (0, 128 + signal.SIGTERM)
