# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Commands`: deadlines, outputs, processor time, and the end of all commands."""

from __future__ import annotations

import hashlib
import os
import resource
import threading
import time
from pathlib import Path

import pytest

from passpilot.plugin.errors import CompilationError
from passpilot.training.timing.commands import Commands


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
    with pytest.raises(CompilationError, match="since the evaluation has ended"):
        commands.run(["true"], 1)


def test_a_command_that_is_not_there() -> None:
    with pytest.raises(CompilationError, match="expected to run it, got: No such file"):
        Commands().run(["/no/such/command"], 1)


def test_the_end_of_much_standard_error_is_kept() -> None:
    done = Commands().run(["sh", "-c", "head -c 9000 /dev/zero | tr '\\0' x >&2; echo end >&2"], 30)
    assert done.stderr == b"x" * 4092 + b"end\n"


def test_a_command_has_a_folder_an_environment_and_no_input(tmp_path: Path) -> None:
    words = ["/bin/sh", "-c", "pwd >&2; echo $A.$HOME >&2; cat >&2"]
    done = Commands().run(words, 30, directory=str(tmp_path), environment={"A": "1"})
    assert done.stderr.decode() == f"{tmp_path}\n1.\n"


def test_an_output_that_was_closed_is_not_the_end() -> None:
    done = Commands().run(["sh", "-c", "echo out; exec >&-; sleep 0.2; echo late >&2; exit 7"], 30)
    assert (done.code, done.stderr) == (7, b"late\n")
    assert done.stdout_sha256 == hashlib.sha256(b"out\n").hexdigest()


def test_a_folder_that_is_not_there_is_named() -> None:
    with pytest.raises(CompilationError, match=r"^true: expected to run it, got: No such file .* /no/such$"):
        Commands().run(["true"], 1, directory="/no/such")


def test_a_command_that_cannot_start_frees_the_processors() -> None:
    before = os.sched_getaffinity(0)
    with pytest.raises(CompilationError):
        Commands().run(["/no/such/command"], 1, processor=max(before))
    assert os.sched_getaffinity(0) == before


def test_nothing_is_left_open_or_counted_as_running() -> None:
    commands = Commands()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        commands.run(["sh", "-c", "sleep 1000 & exit 0"], 0.1)
        commands.run(["true"], 30)
    assert len(os.listdir("/proc/self/fd")) <= before
    assert not commands._running


def test_the_time_is_that_of_the_user_and_of_the_system() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = Commands().run(["dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=2000"], 60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert done.seconds == pytest.approx(taken, abs=1e-5)


def test_a_command_does_not_read_our_input(tmp_path: Path) -> None:
    (tmp_path / "ours").write_text("ours")
    kept = os.dup(0)
    try:
        with (tmp_path / "ours").open() as file:
            os.dup2(file.fileno(), 0)
        done = Commands().run(["cat"], 30)
    finally:
        os.dup2(kept, 0)
        os.close(kept)
    assert done.stdout_sha256 == hashlib.sha256(b"").hexdigest()
