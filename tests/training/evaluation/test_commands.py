# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Commands`: deadlines, outputs, processor time, and the end of all commands."""

from __future__ import annotations

import hashlib
import os
import threading
import time

import pytest

from passpilot.plugin.errors import CompilationError
from passpilot.training.evaluation.commands import Commands


def test_a_command_with_its_output_and_code() -> None:
    done = Commands().run(["sh", "-c", "printf hello; echo wrong >&2; exit 3"], 30)
    assert (done.code, done.stderr, done.is_late) == (3, b"wrong\n", False)
    assert done.stdout_sha256 == hashlib.sha256(b"hello").hexdigest()


def test_much_output_is_hashed_and_not_kept() -> None:
    done = Commands().run(["head", "-c", "30000000", "/dev/zero"], 60)
    assert done.stdout_sha256 == hashlib.sha256(bytes(30_000_000)).hexdigest()


def test_a_command_that_hangs_is_killed_with_its_children() -> None:
    began = time.monotonic()
    done = Commands().run(["sh", "-c", "echo $$; sleep 1000 & wait"], 0.3)
    assert done.is_late
    assert done.code < 0
    assert time.monotonic() - began < 30


def test_a_child_that_keeps_the_pipe_open_does_not_keep_us() -> None:
    began = time.monotonic()
    done = Commands().run(["sh", "-c", "echo out; sleep 1000 & exit 0"], 60)
    assert (done.code, done.is_late) == (0, False)
    assert done.stdout_sha256 == hashlib.sha256(b"out\n").hexdigest()
    assert time.monotonic() - began < 30


def test_time_is_processor_time() -> None:
    assert Commands().run(["sleep", "0.5"], 30).seconds < 0.3
    assert (
        Commands().run(["sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"], 60).seconds > 0.01
    )


def test_a_command_runs_on_the_processor_that_is_asked_for() -> None:
    processor = max(os.sched_getaffinity(0))
    before = os.sched_getaffinity(0)
    done = Commands().run(["sh", "-c", "taskset -pc $$ >&2"], 30, processor=processor)
    assert done.stderr.decode().strip().endswith(f": {processor}")
    assert os.sched_getaffinity(0) == before


def test_stop_ends_what_runs_and_what_would() -> None:
    commands = Commands()
    codes = []
    thread = threading.Thread(target=lambda: codes.append(commands.run(["sleep", "1000"], 60).code))
    thread.start()
    while not commands._running:
        time.sleep(0.01)
    commands.stop()
    thread.join(30)
    assert codes == [-9]
    with pytest.raises(CompilationError, match="the end of the evaluation"):
        commands.run(["true"], 1)


def test_a_command_that_is_not_there() -> None:
    with pytest.raises(CompilationError, match="expected to run it, got: No such file"):
        Commands().run(["/no/such/command"], 1)
