# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ctrl-C and other ends in mid-compilation: prompt, no output, nothing left behind."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import IO, Any, Final

import pytest

from passpilot.plugin.process_end import (
    finishing,
    guard_imports,
    heeded,
    is_interrupt,
    is_vulnerable,
    prompt_interrupt,
)
from tests.command import PASSPILOT, Done, files_in, finished, program, started


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in.ll").write_text(program())
    return tmp_path


def stream(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def interrupt(child: subprocess.Popen[bytes], number: signal.Signals = signal.SIGINT) -> Done:
    """Signal the process alone and see how it ends."""
    child.send_signal(number)
    return finished(child, time.monotonic())


def check(folder: Path, done: Done, left: list[str]) -> None:
    assert done.code == 130, done
    assert done.err.splitlines()[-1] == "passpilot: interrupted"
    assert "Traceback" not in done.err
    assert files_in(folder) == left


def long_program(count: int) -> str:
    """So many functions with a loop."""
    body = "\n".join(
        f"define void @f{i}(ptr %p, i64 %n) {{\nentry:\n  br label %loop\nloop:\n"
        "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n"
        "  %q = getelementptr i32, ptr %p, i64 %i\n  %v = load i32, ptr %q\n  %w = mul i32 %v, %v\n"
        "  store i32 %w, ptr %q\n  %next = add i64 %i, 1\n  %more = icmp ult i64 %next, %n\n"
        "  br i1 %more, label %loop, label %done\ndone:\n  ret void\n}"
        for i in range(count)
    )
    return f'target triple = "x86_64-pc-linux-gnu"\n{body}\n'


@pytest.mark.parametrize("advice", [(), ("--inline=const:1", "--log=l")], ids=["stock", "advised"])
def test_in_a_pass(folder: Path, advice: tuple[str, ...]) -> None:
    """What a pass prints fills the pipe, and nobody reads on before the signal: LLVM cannot finish."""
    (folder / "in.ll").write_text(long_program(2000))
    flags = ("opt", "in.ll", "-O3", "-print-after=callsite-splitting", *advice)
    with started(PASSPILOT, *flags, "-o", "out.bc", cwd=folder) as child:
        assert b"IR Dump" in stream(child.stderr).readline()
        done = interrupt(child)
    check(folder, done, ["in.ll"])
    assert "@f1999(" not in done.err


POLICIES = """\
import signal
import sys
import time


def sleeps(obs):
    print("here", flush=True)
    time.sleep(1000)


def works(obs):
    print("here", flush=True)
    while True:
        pass


def swallows(obs):
    print("here", flush=True)
    try:
        time.sleep(1000)
    except Exception:
        return True


def misses(obs):
    # The signal does not end the sleep, as if it came just before the sleep began.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    print("here", flush=True)
    time.sleep(1000)


def serves(obs):
    print("here", file=sys.stderr, flush=True)
    time.sleep(1000)


serves.features = ("callee_users",)
"""


@pytest.mark.parametrize("name", ["sleeps", "works", "swallows", "misses"])
@pytest.mark.parametrize("on_error", ["fail", "default"])
def test_in_a_policy(folder: Path, name: str, on_error: str) -> None:
    (folder / "p.py").write_text(POLICIES)
    flags = ("opt", "in.ll", "-O2", f"--inline=python:p.py:{name}", f"--on-error={on_error}", "--log=l")
    with started(PASSPILOT, *flags, "-o", "out.bc", cwd=folder) as child:
        assert stream(child.stdout).readline() == b"here\n"
        check(folder, interrupt(child), ["in.ll", "p.py"])


def test_in_a_policy_of_the_allocator(folder: Path) -> None:
    (folder / "p.py").write_text(POLICIES.replace("obs):", "obs, where=None):"))
    flags = ("llc", "in.ll", "-O2", "--schedule=python:p.py:misses", "--log=l", "-o", "out.s")
    with started(PASSPILOT, *flags, cwd=folder) as child:
        assert stream(child.stdout).readline() == b"here\n"
        check(folder, interrupt(child), ["in.ll", "p.py"])


def test_while_a_server_thinks(folder: Path) -> None:
    """The server outlives its client, and leaves nothing when it is stopped itself."""
    (folder / "p.py").write_text(POLICIES)
    flags = ("opt", "in.ll", "-O2", "--inline=pipe:ch", "--timeout=1000", "--log=l", "-o", "out.bc")
    with (
        started(PASSPILOT, "serve", "python:p.py:serves", "--pipe", "ch", cwd=folder) as server,
        started(PASSPILOT, *flags, cwd=folder) as child,
    ):
        assert b"here\n" in iter(stream(server.stderr).readline, b"")  # behind what serve says of itself
        done = interrupt(child)
        assert server.poll() is None
        assert interrupt(server, signal.SIGTERM).code == 0
    check(folder, done, ["in.ll", "p.py"])


def test_while_waiting_for_a_server(folder: Path) -> None:
    (folder / "p.py").write_text("print('loaded', flush=True)\n")
    flags = ("opt", "in.ll", "-O2", "--load=p.py", "--inline=pipe:ch", "--timeout=1000", "-o", "out.bc")
    with started(PASSPILOT, *flags, cwd=folder) as child:
        assert stream(child.stdout).readline() == b"loaded\n"
        check(folder, interrupt(child), ["in.ll", "p.py"])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_other_ends(folder: Path, number: signal.Signals) -> None:
    """No part of an output or a log stays behind, not even of a process that was killed."""
    (folder / "p.py").write_text(POLICIES)
    flags = ("opt", "in.ll", "-O2", "--inline=python:p.py:sleeps", "--log=l", "-o", "out.bc")
    with started(PASSPILOT, *flags, cwd=folder) as child:
        assert stream(child.stdout).readline() == b"here\n"
        assert interrupt(child, number).code == -number
    assert files_in(folder) == ["in.ll", "p.py"]


def test_an_idle_server(folder: Path) -> None:
    (folder / "p.py").write_text("import sys\nprint('loaded', file=sys.stderr, flush=True)\n")
    with started(PASSPILOT, "serve", "const:1", "--load=p.py", "--pipe", "ch", cwd=folder) as server:
        assert stream(server.stderr).readline() == b"loaded\n"
        assert interrupt(server).code in (0, 130)
    assert files_in(folder) == ["in.ll", "p.py"]


IMPORTS: Final = """
import signal
import sys
from passpilot.plugin.process_end import guard_imports

def see(frame, event, argument):
    if frame.f_code.co_filename.endswith("enum.py"):
        sys.setprofile(None)
        signal.raise_signal(signal.SIGINT)

guard_imports()
sys.setprofile(see)
try:
    from passpilot.plugin import _core
    print("imported", flush=True)
    signal.pause()
except KeyboardInterrupt:
    print("\\n", sys.getprofile(), _core.__name__)  # a line of its own, wherever the first one ended
"""
"""Interrupts itself where the core makes its first enumeration."""


def test_ctrl_c_waits_for_the_start_of_an_extension_module(tmp_path: Path) -> None:
    with started(sys.executable, "-c", IMPORTS, cwd=tmp_path) as child:
        done = finished(child, time.monotonic())
    assert (done.code, done.out.split()[-2:]) == (0, [b"None", b"passpilot.plugin._core"]), done


def test_ctrl_c_is_not_dropped_in_importlib() -> None:
    """The frames are those of an import, the last one of the callback that frees the module's lock."""
    seen: dict[str, bool] = {}

    def see(frame: FrameType, _event: str, _argument: object) -> None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            seen[frame.f_code.co_name] = is_vulnerable(frame)

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        importlib.import_module("__hello__")
    finally:
        sys.setprofile(before)
        sys.modules.pop("__hello__", None)
    assert seen["cb"]
    assert all(seen.values())
    assert not is_vulnerable(sys._getframe())


def test_after_the_block_all_is_as_before() -> None:
    threads, descriptors = threading.active_count(), len(os.listdir("/proc/self/fd"))
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer)
    try:
        with pytest.raises(KeyError), prompt_interrupt():
            raise KeyError("mine")
        assert signal.set_wakeup_fd(before) == writer
    finally:
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)
    assert (threading.active_count(), len(os.listdir("/proc/self/fd"))) == (threads, descriptors)


SIGNALS: Final = """
import os, signal, sys, time
from passpilot.plugin import process_end
process_end.GRACE = 0.05
number = getattr(signal, sys.argv[1])
signal.signal(number, lambda *_: None)
with process_end.prompt_interrupt():
    os.kill(os.getpid(), number)
    time.sleep(0.5 if sys.argv[1] == "SIGUSR1" else 60)
print("end")
"""


@pytest.mark.parametrize(("name", "code"), [("SIGUSR1", 0), ("SIGINT", 130)])
def test_only_ctrl_c_ends_a_process_that_does_not_react(name: str, code: int, tmp_path: Path) -> None:
    with started(sys.executable, "-c", SIGNALS, name, cwd=tmp_path) as child:
        done = finished(child, time.monotonic())
    told = "passpilot: interrupted\n" if code else ""
    assert (done.code, done.out, done.err) == (code, b"" if code else b"end\n", told)


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL, lambda *_: None])
def test_what_others_do_with_ctrl_c_is_left_alone(handler: Any) -> None:
    before = signal.signal(signal.SIGINT, handler)
    try:
        guard_imports()
        assert signal.getsignal(signal.SIGINT) is handler
        expected = () if handler is signal.SIG_IGN else (signal.SIGINT,)
        assert heeded(signal.SIGINT) == expected
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_users_interrupt_is_not_taken_for_ctrl_c() -> None:
    """A handler of the user's own, or Python's, may have raised it; ours raises it in our code."""

    def handler(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        handler()
    before = signal.getsignal(signal.SIGINT)
    try:
        for known, expected in ((handler, True), (signal.default_int_handler, True), (None, False)):
            signal.signal(signal.SIGINT, known or signal.default_int_handler)
            if known is None:
                guard_imports()
            assert is_interrupt(caught.value) is expected
    finally:
        signal.signal(signal.SIGINT, before)
    assert not is_interrupt(ValueError())


FINISHING: Final = """
import os, signal, subprocess, sys, time
from passpilot.plugin.process_end import finishing
interrupts = int(sys.argv[1])
with finishing("the result"):
    child = subprocess.Popen(["sleep", "0.5"])
    for _ in range(interrupts):
        os.killpg(0, signal.SIGINT)
        time.sleep(0.1)
    print("child", child.wait(), flush=True)
print("end", signal.getsignal(signal.SIGINT) is signal.default_int_handler, flush=True)
"""


@pytest.mark.parametrize("interrupts", [0, 1, 2])
def test_one_ctrl_c_does_not_end_what_finishes(interrupts: int, tmp_path: Path) -> None:
    with started(sys.executable, "-c", FINISHING, str(interrupts), cwd=tmp_path) as child:
        done = finished(child, time.monotonic())
    told = "passpilot: Ctrl-C again loses the result\n"
    if interrupts < 2:
        assert (done.code, done.out, done.err) == (0, b"child 0\nend True\n", told * interrupts)
    else:
        assert (done.code, done.out) == (-signal.SIGINT, b"")
        assert done.err.startswith(told)
        assert done.err.endswith("KeyboardInterrupt\n")


def test_an_ignored_ctrl_c_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with finishing("nothing"):
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
