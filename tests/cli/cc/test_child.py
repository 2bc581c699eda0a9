# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clang as a child: its name, environment and exit code, and the signals that end it and us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from passpilot.training.corpus.recorded.child import ENDING, ended_by_signals, run_clang
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


SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP, *ENDING)


def test_the_handlers_are_put_back() -> None:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    with ended_by_signals():
        assert all(signal.getsignal(number) is not before[number] for number in SIGNALS)
        with pytest.raises(FileNotFoundError):
            run_clang("/no/such/compiler", ["clang"], {})
    assert {number: signal.getsignal(number) for number in SIGNALS} == before


ALONE: Final = """
import sys
from passpilot.training.corpus.recorded.child import ended_by_signals, run_clang
with ended_by_signals():
    run_clang("/bin/sh", ["clang", "-c", sys.argv[1]], {"PATH": "/usr/bin:/bin"})
print("went on")
"""


GRANDCHILD: Final = """
trap 'echo ended >out; exit' TERM
kill -$1 $2
while :; do sleep 0.1; done
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_the_children_and_us(number: signal.Signals, tmp_path: Path) -> None:
    """Also those of the child: clang's driver leaves its own behind."""
    (tmp_path / "grandchild").write_text(GRANDCHILD)
    command = [sys.executable, "-c", ALONE, f"sh grandchild {number} $PPID; exit 3"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (-number, b"")
    assert (tmp_path / "out").read_text() == "ended\n"


def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    script = f'trap "" HUP; exec {sys.executable} -c "$0" "kill -HUP \\$PPID; exit 3"'
    done = run("sh", "-c", script, ALONE, cwd=tmp_path)
    assert (done.code, done.out) == (0, b"went on\n")


WHILE_STARTING: Final = """
import signal, subprocess, sys, time
from passpilot.training.corpus.recorded.child import ended_by_signals, run_clang
from passpilot.plugin.isolated import run_isolated

def look(frame, event, _):
    if (event, frame.f_code.co_name) == ("return", sys.argv[2]):
        sys.setprofile(None)
        signal.raise_signal(signal.SIGTERM)

with ended_by_signals():
    sys.setprofile(look)
    eval(sys.argv[1])
"""


@pytest.mark.parametrize(
    ("start", "where"),
    [
        ("run_clang('/bin/sleep', ['sleep', '1000'], {})", "_execute_child"),
        ("run_clang('/bin/sleep', ['sleep', '1000'], {})", "__init__"),
        ("subprocess.run(['sleep', '1000'])", "_execute_child"),
        ("run_isolated('test', lambda: time.sleep(1000), 1000.0)", "_fork"),
    ],
)
def test_a_signal_while_a_child_starts_ends_it(start: str, where: str, tmp_path: Path) -> None:
    """The child runs, and only the function that has started it knows it; `run` sees that none is left."""
    done = run(sys.executable, "-c", WHILE_STARTING, start, where, cwd=tmp_path)
    assert (done.code, done.err) == (-signal.SIGTERM, "")


TO_ANOTHER_THREAD: Final = """
import signal, threading
from passpilot.training.corpus.recorded.child import ended_by_signals, run_clang

def end():
    open("runs").read()
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

threading.Thread(target=end, daemon=True).start()
with ended_by_signals():
    run_clang("/bin/sh", ["sh", "-c", "echo >runs; exec sleep 1000"], {})
"""


def test_a_signal_to_another_thread_ends_the_children_and_us(tmp_path: Path) -> None:
    """The main thread waits for the child in a system call that such a signal does not interrupt."""
    os.mkfifo(tmp_path / "runs")
    done = run(sys.executable, "-c", TO_ANOTHER_THREAD, cwd=tmp_path)
    assert (done.code, done.err) == (-signal.SIGTERM, "")
