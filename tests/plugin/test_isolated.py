# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilations in a child process: the same results, and exceptions where LLVM ends its process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pytest

import passpilot
from passpilot import InlineAdvisor, Module, Observation, Remarks, emit, optimize, read_log
from passpilot.plugin import isolated as children
from passpilot.plugin.errors import (
    CompilationError,
    Error,
    InputError,
    PassError,
    PasspilotWarning,
    PolicyError,
    StaleViewError,
)
from passpilot.plugin.ir import ModuleIR
from passpilot.plugin.isolated import run_isolated_together
from tests.command import GENEROUS, PASSPILOT, program

TEXT: Final = program(4).encode()
NEVER: Final = """\
target triple = "x86_64-pc-linux-gnu"
declare void @llvm.aarch64.hint(i32)
define void @f() {
  call void @llvm.aarch64.hint(i32 0)
  ret void
}
"""
"""LLVM cannot select an instruction, and ends its process."""


def small(obs: Observation) -> bool:
    """Reads tensors, the default and the IR."""
    name = obs.site.callee.name  # type: ignore[attr-defined]
    return bool(obs.default() and name == "callee" and obs["callee_users"] > 1)


def test_it_compiles_as_this_process_does() -> None:
    here, there = Module.read(TEXT, name="m"), Module.read(TEXT, name="m")
    advisors = [InlineAdvisor(small) for _ in range(2)]
    optimize(here, "default<O2>", advisors[:1])
    optimize(there, "default<O2>", advisors[1:], isolated=True)
    assert there.bitcode() == here.bitcode()
    assert advisors[0].stats.decisions == advisors[1].stats.decisions == 4
    assert advisors[0].stats.accepted == advisors[1].stats.accepted == 4
    before = there.bitcode()
    assert emit(there, isolated=True) == emit(here)
    assert there.bitcode() == before


def test_counts_add_up_over_both_kinds() -> None:
    advisor = InlineAdvisor("const:1")
    for isolated in (False, True, True, False):
        optimize(Module.read(TEXT), "default<O2>", [advisor], isolated=isolated)
    assert advisor.stats.decisions == advisor.stats.accepted == 16


def test_handles_are_stale_after_it() -> None:
    module = Module.read(TEXT)
    function = module.function("callee")
    assert function is not None
    optimize(module, "globaldce", isolated=True)
    with pytest.raises(StaleViewError):
        function.instruction_count  # noqa: B018
    assert module.function("callee") is not None


def test_a_fatal_error_of_llvm_is_an_exception() -> None:
    module = Module.read(NEVER.encode())
    before = module.bitcode()
    expected = r"emit, isolated: expected it to succeed, got a fatal error of LLVM: Cannot select: .*aarch64"
    for _ in range(2):
        with pytest.raises(CompilationError, match=expected):
            emit(module, isolated=True)
    assert module.bitcode() == before


UNSTEADY: Final = """\
target triple = "x86_64-pc-linux-gnu"
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)
define i1 @f(i32 %n) {
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ 1, %again ]
  %more = icmp slt i32 %i, %n
  br i1 %more, label %again, label %done
again:
  call void null()
  br label %loop
done:
  %wide = sext i32 %n to i64
  %bytes = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %wide, i64 4)
  %lost = extractvalue { i64, i1 } %bytes, 1
  ret i1 %lost
}
"""
"""InstCombine needs more than one iteration, which is a fatal error unless the pipeline allows it."""


def test_a_pass_that_ends_the_process_is_an_exception() -> None:
    module = Module.read(UNSTEADY.encode())
    with pytest.raises(
        CompilationError, match="LLVM: Instruction Combining on f did not reach a fixpoint after 1"
    ):
        optimize(module, "instcombine", isolated=True)
    optimize(module, "instcombine<no-verify-fixpoint>", isolated=True)


def test_a_crash_is_an_exception(tmp_path: Path) -> None:
    module, advisor = Module.read(TEXT), InlineAdvisor("const:1", log=str(tmp_path / "log"))
    before = module.bitcode()
    remarks = Remarks(str(tmp_path / "remarks"))
    crash = "default<O2>,trigger-crash-module"
    with pytest.raises(
        CompilationError, match=r"optimize, isolated: expected it to finish, got its death by sig"
    ):
        optimize(module, crash, [advisor], remarks=remarks, isolated=True)
    assert module.bitcode() == before
    assert list(tmp_path.iterdir()) == []
    optimize(module, "default<O2>", [advisor], remarks=remarks, isolated=True)
    assert len(list(read_log(tmp_path / "log"))) == 4
    assert (told := (tmp_path / "remarks").read_text()).startswith("--- ")
    with pytest.raises(CompilationError, match="got its death"):
        optimize(Module.read(TEXT), crash, remarks=remarks, isolated=True)
    assert (tmp_path / "remarks").read_text() == told
    with pytest.raises(Error, match="an earlier compilation has written it"):
        optimize(module, "default<O2>", [advisor], isolated=True)


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_compilation_is_an_exception(kill: signal.Signals) -> None:
    def policy(obs: Observation) -> bool:  # noqa: ARG001
        os.kill(os.getpid(), kill)
        time.sleep(GENEROUS)
        return True

    with pytest.raises(CompilationError, match=f"got its death by signal {kill.value} "):
        optimize(Module.read(TEXT), "default<O2>", [InlineAdvisor(policy)], isolated=True)


@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.soak)])
def test_a_child_that_dies_after_any_byte_of_its_answer(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, size, whole = children._write, 0, len(children._pickled(children._Answer(value="m" * 40))) + 8

    def dies(descriptor: int, data: bytes) -> None:
        assert len(data) == whole
        kept(descriptor, data[:size])
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(children, "_write", dies)
    for size in {*range(0, whole, step), whole - 1}:  # noqa: B007  (the child reads it)
        with pytest.raises(CompilationError, match="expected it to finish, got its death by signal 9 "):
            children.run_isolated("test", lambda: "m" * 40, GENEROUS)
        (made,) = children.run_isolated_together("test", [lambda: "m" * 40], GENEROUS)
        assert isinstance(made, CompilationError)
    size = whole
    assert children.run_isolated("test", lambda: "m" * 40, GENEROUS) == "m" * 40


def test_the_deadline_ends_it() -> None:
    def policy(obs: Observation) -> bool:  # noqa: ARG001
        threading.Event().wait()
        return True

    module, advisor = Module.read(TEXT), InlineAdvisor(policy)
    with pytest.raises(
        CompilationError, match=r"expected it to end within 0\.2 s, got silence; it was ended"
    ):
        optimize(module, "default<O2>", [advisor], isolated=True, deadline=0.2)
    optimize(module, "default<O2>", isolated=True)


INTERRUPTED: Final = """
import os, signal, sys, time
import passpilot

def policy(obs):
    os.write(1, b"%d\\n" % os.getpid())
    os.kill(os.getpid(), signal.SIGINT)  # a terminal signals both
    os.kill(os.getppid(), signal.SIGINT)
    time.sleep(1000)

module = passpilot.Module.read(sys.stdin.buffer.read())
try:
    passpilot.optimize(module, "default<O2>", [passpilot.InlineAdvisor(policy)], isolated=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
passpilot.optimize(module, "default<O2>", isolated=True)
"""


def test_ctrl_c_ends_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], input=TEXT, capture_output=True, timeout=GENEROUS, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    child, told = done.stdout.decode().split()
    assert told == "interrupted"
    with pytest.raises(ProcessLookupError):
        os.kill(int(child), 0)


ORPHAN: Final = """
import os, sys, time
import passpilot

def policy(obs):
    os.write(1, b"%d\\n" % os.getpid())
    time.sleep(1000)

module = passpilot.Module.read(sys.stdin.buffer.read())
passpilot.optimize(module, "default<O2>", [passpilot.InlineAdvisor(policy)], isolated=True)
"""


def test_it_ends_with_its_parent() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", ORPHAN], stdin=pipe, stdout=pipe) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write(TEXT)
        parent.stdin.close()
        child = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
    end = time.monotonic() + GENEROUS
    try:
        while _lives(child):
            assert time.monotonic() < end, "the child has outlived its parent"
            time.sleep(0.01)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def _lives(pid: int) -> bool:
    """Whether a process runs; one that has ended may wait for somebody to read its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class LocalError(Exception):
    """An exception of the user's."""


def test_an_exception_of_a_policy_is_raised_here() -> None:
    def policy(obs: Observation) -> bool:
        raise LocalError(obs.site.callee.name)  # type: ignore[attr-defined]

    with pytest.raises(
        PolicyError, match=r"decision 0 \(caller0 -> callee\): LocalError: callee \(.*:\d+\)"
    ) as caught:
        optimize(Module.read(TEXT), "default<O2>", [InlineAdvisor(policy)], isolated=True)
    assert isinstance(caught.value.__cause__, LocalError)
    assert "in policy\n" in caught.value.__notes__[0]


def test_an_exception_that_cannot_be_copied_is_told() -> None:
    class HiddenError(Exception):
        pass

    class OwnError(Error):
        pass

    def policy(obs: Observation) -> bool:  # noqa: ARG001
        raise HiddenError("hidden")

    def own(obs: Observation) -> bool:  # noqa: ARG001
        raise OwnError("own")

    with pytest.raises(PolicyError, match="HiddenError: hidden") as caught:
        optimize(Module.read(TEXT), "default<O2>", [InlineAdvisor(policy)], isolated=True)
    assert caught.value.__cause__ is None
    with pytest.raises(Error, match="own"):
        optimize(Module.read(TEXT), "default<O2>", [InlineAdvisor(own)], isolated=True)


def test_sys_exit_in_a_policy_ends_no_process() -> None:
    def policy(obs: Observation) -> bool:  # noqa: ARG001
        sys.exit(7)

    with pytest.raises(PolicyError, match="SystemExit: 7"):
        optimize(Module.read(TEXT), "default<O2>", [InlineAdvisor(policy)], isolated=True)


@pytest.mark.usefixtures("restored_registries")
def test_errors_of_llvm_and_of_passes_are_the_same() -> None:
    @passpilot.llvm.module_pass("isolated-breaks")
    @dataclass(frozen=True)
    class Breaks:
        def run(self, module: ModuleIR) -> bool:
            raise LocalError(module.source_file)

    wrong: tuple[tuple[str, type[Error]], ...] = (
        ("no-such-pass", InputError),
        ("isolated-breaks", PassError),
    )
    for pipeline, kind in wrong:
        told = []
        for isolated in (False, True):
            with pytest.raises(kind) as caught:
                optimize(Module.read(TEXT, name="m"), pipeline, isolated=isolated)
            told.append((type(caught.value), str(caught.value)))
        assert told[0] == told[1]


def test_warnings_are_told_here() -> None:
    with pytest.warns(PasspilotWarning, match="was never asked") as caught:
        optimize(Module.read(TEXT), "globaldce", [InlineAdvisor("const:1")], isolated=True)
    assert [each.filename for each in caught] == [__file__]


def test_a_runner_in_another_process_is_refused(tmp_path: Path) -> None:
    served = (PASSPILOT, "serve", "const:1", "--pipe", tmp_path / "p")
    with subprocess.Popen(served) as server:
        try:
            module, advisor = Module.read(TEXT), InlineAdvisor(f"pipe:{tmp_path / 'p'}", timeout=GENEROUS)
            with pytest.raises(InputError, match=r"inline advisor: the runner pipe:\S+ asks another process"):
                optimize(module, "default<O2>", [advisor], isolated=True)
            optimize(module, "default<O2>", [advisor])
            advisor.close()
        finally:
            server.terminate()


def test_several_threads_isolate() -> None:
    expected = Module.read(TEXT)
    optimize(expected, "default<O2>", [InlineAdvisor(small)])
    made: list[bytes] = []

    def work() -> None:
        for _ in range(3):
            module = Module.read(TEXT)
            optimize(module, "default<O2>", [InlineAdvisor(small)], isolated=True)
            made.append(module.bitcode())

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [expected.bitcode()] * 9


def test_the_module_and_the_advisors_are_in_use_meanwhile() -> None:
    inside, outside = os.pipe(), os.pipe()

    def policy(obs: Observation) -> bool:  # noqa: ARG001
        os.write(inside[1], b"x")
        os.read(outside[0], 1)
        return True

    module, advisor = Module.read(TEXT), InlineAdvisor(policy)
    thread = threading.Thread(
        target=optimize, args=(module, "default<O2>", [advisor]), kwargs={"isolated": True}
    )
    thread.start()
    os.read(inside[0], 1)
    uses: tuple[Callable[[], object], ...] = (
        lambda: optimize(module, "globaldce"),
        module.bitcode,
        lambda: optimize(Module.read(TEXT), "default<O2>", [advisor]),
        lambda: optimize(module, "globaldce", isolated=True),
    )
    try:
        for use in uses:
            with pytest.raises(InputError, match=r"expected it to be free|another compilation is using it"):
                use()
    finally:
        os.write(outside[1], b"x" * 4)
        thread.join()
    for end in (*inside, *outside):
        os.close(end)
    assert advisor.stats.decisions == 4


OUTPUT: Final = """
import ctypes, sys
import passpilot

c = ctypes.CDLL(None)

def policy(obs):
    c.puts(b"c, within")
    print("python, within")
    return True

module = passpilot.Module.read(sys.stdin.buffer.read())
c.puts(b"c, before")
print("python, before")
passpilot.optimize(module, "default<O2>", [passpilot.InlineAdvisor(policy)], isolated=True)
c.puts(b"c, after")
print("python, after")
"""


def test_output_appears_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OUTPUT],
        input=program(1).encode(),
        capture_output=True,
        timeout=GENEROUS,
        check=True,
    )
    lines = done.stdout.decode().splitlines()
    assert sorted(lines) == sorted(f"{who}, {when}" for who in ("c", "python") for when in TIMES)
    assert [line.partition(", ")[2] for line in lines[:4]] == [when for when in TIMES[:2] for _ in range(2)]


TIMES: Final = ("before", "within", "after")


@pytest.mark.parametrize(("isolated", "deadline"), [(False, 1.0), (True, 0.0), (True, float("nan"))])
def test_a_wrong_deadline(isolated: bool, deadline: float) -> None:
    for run in (emit, lambda module, **options: optimize(module, "dce", **options)):
        with pytest.raises(InputError, match=r"(optimize|emit): (a deadline has no effect|expected)"):
            run(Module.read(TEXT), isolated=isolated, deadline=deadline)


def test_no_descriptor_is_left() -> None:
    optimize(Module.read(TEXT), "globaldce", isolated=True)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        optimize(Module.read(TEXT), "globaldce", isolated=True)
        with pytest.raises(CompilationError), warnings.catch_warnings():
            optimize(Module.read(TEXT), "trigger-crash-module", isolated=True)
    assert len(os.listdir("/proc/self/fd")) == before


def its_process(number: int) -> tuple[int, int]:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 5:
        raise InputError("no 5")
    if number == 7:
        os._exit(9)
    return number, os.getpid()


def test_calls_share_a_process_until_one_ends_it() -> None:
    done: list[int] = []
    runs = [partial(its_process, number) for number in range(40)]
    made = run_isolated_together("test", runs, GENEROUS, 1, lambda number, _made: done.append(number), 8)
    assert done == list(range(40))
    errors = {number: str(each) for number, each in enumerate(made) if isinstance(each, Error)}
    assert errors.keys() == {3, 5, 7}
    assert "Killed" in errors[3]
    assert "its end with exit code 9" in errors[7]
    answers = dict(each for each in made if not isinstance(each, Error))
    assert list(answers) == [number for number in range(40) if number not in errors]
    assert answers[0] == answers[2] != answers[4] == answers[6]  # the error in 5 ends no process
    assert len(set(answers.values())) < 20
    alone = [each for each in run_isolated_together("test", runs[8:14], 60, 2) if not isinstance(each, Error)]
    assert len({pid for _, pid in alone}) == 6


def hangs(number: int) -> int:
    if number == 2:
        time.sleep(600)
    return number


def test_a_call_that_hangs_costs_itself() -> None:
    runs = [partial(hangs, number) for number in range(12)]
    made = run_isolated_together("test", runs, 3.0, 1, together=6)
    assert "within 3 s" in str(made[2])
    assert [each for each in made if isinstance(each, int)] == [number for number in range(12) if number != 2]


def naps(number: int) -> int:
    time.sleep(0.2)
    return number


def test_each_call_of_a_shared_process_has_the_whole_deadline() -> None:
    runs = [partial(naps, number) for number in range(24)]
    made = run_isolated_together("test", runs, 2.0, 1, together=12)
    assert made == list(range(24))
