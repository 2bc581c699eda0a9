# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`emit` and `Module.copy`: who takes part in a code generation, and what it leaves of the module."""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import get_args

import pytest

from passpilot.passes.advisor import Advisor
from passpilot.passes.emit import emit
from passpilot.passes.optimize import optimize
from passpilot.plugin import _core
from passpilot.plugin.compile import FileType, Remarks
from passpilot.plugin.errors import CompilationError, InputError, LogError
from passpilot.plugin.module import Module
from tests import stock
from tests.cli.test_llc import NEUTRAL
from tests.cli.test_llc_interrupt import LOOP

F_SETSIG = 10
"""Linux's; Python has no name for it."""
TEXT = 'target triple = "x86_64-pc-linux-gnu"\n' + NEUTRAL


@dataclass
class Watcher(Advisor):
    """An advisor that LLVM need not ask; it notes what is done with it."""

    point: str
    notes: list[str] = field(default_factory=list)
    starts: BaseException | None = None
    finishes: BaseException | None = None

    def start(self) -> _core.Advisor | None:
        self.notes.append(f"start {self.point}")
        if self.starts is not None:
            raise self.starts
        return None

    def finish(self, error: BaseException | None) -> None:
        self.notes.append(f"finish {self.point} {error!r}")
        if self.finishes is not None:
            raise self.finishes

    def check_target(self, triple: str) -> None:
        pass

    def close(self) -> None:
        self.notes.append(f"close {self.point}")


def pair() -> tuple[Watcher, Watcher, list[str]]:
    notes: list[str] = []
    return Watcher("evict", notes), Watcher("priority", notes), notes


def test_advisors_are_started_and_finished_around_it() -> None:
    evict, priority, notes = pair()
    code = emit(Module.read(TEXT.encode()), advisors=[evict, priority])
    assert code == emit(Module.read(TEXT.encode()))
    assert notes == ["start evict", "start priority", "finish priority None", "finish evict None"]


def test_advisors_learn_of_an_error_of_the_compilation() -> None:
    evict, priority, notes = pair()
    bad = TEXT.replace("x86_64-pc-linux-gnu", "nonsense")
    with pytest.raises(InputError, match="nonsense") as caught:
        emit(Module.read(bad.encode()), advisors=[priority, evict])
    told = repr(caught.value)
    assert notes == ["start priority", "start evict", f"finish evict {told}", f"finish priority {told}"]


def test_advisors_learn_of_an_advisor_that_cannot_start() -> None:
    evict, priority, notes = pair()
    priority.starts = LogError("cannot")
    with pytest.raises(LogError, match="cannot"):
        emit(Module.read(TEXT.encode()), advisors=[evict, priority])
    assert notes == ["start evict", "start priority", "finish evict LogError('cannot')"]


def test_advisors_learn_of_an_advisor_that_failed() -> None:
    evict, priority, notes = pair()
    priority.finishes = LogError("lost")
    with pytest.raises(LogError, match="lost"):
        emit(Module.read(TEXT.encode()), advisors=[evict, priority])
    assert notes[2:] == ["finish priority None", "finish evict LogError('lost')"]


ASKED = "evict and priority and ra-order and ra-action and ra-colour and ra-split and schedule"


@pytest.mark.parametrize(
    ("points", "told"),
    [
        (
            ["inline"],
            f"emit: expected advisors of the points {ASKED}, got inline; give it to optimize",
        ),
        (["mine"], f"emit: expected advisors of the points {ASKED}, got mine"),
        (["evict", "evict"], "emit: expected one advisor of the point evict, got 2"),
        (["priority", "evict", "priority"], "emit: expected one advisor of the point priority, got 2"),
    ],
)
def test_points_of_emit(points: list[str], told: str) -> None:
    notes: list[str] = []
    with pytest.raises(InputError) as caught:
        emit(Module.read(TEXT.encode()), advisors=[Watcher(point, notes) for point in points])
    assert str(caught.value) == told
    assert notes == []


@pytest.mark.parametrize("point", ["evict", "priority"])
def test_points_of_optimize(point: str) -> None:
    with pytest.raises(InputError) as caught:
        optimize(Module.read(TEXT.encode()), "default<O1>", [Watcher(point)])
    assert str(caught.value) == (
        f"optimize: expected advisors of the point inline, got {point}; give it to emit"
    )


def test_optimize_then_emit_is_opt_then_llc(tmp_path: Path) -> None:
    source = stock.clang(stock.MANY_CALLS, tmp_path / "in.bc", "-g")
    stock.run("opt", "-passes=default<O2>", source, "-o", tmp_path / "opt.bc")
    for level in range(4):
        for filetype in get_args(FileType)[:2]:
            flags = [f"-O{level}", f"-filetype={filetype}", "-o", "-"]
            module = Module.read(source)
            optimize(module, "default<O2>")
            expected = stock.run("llc", tmp_path / "opt.bc", *flags)
            assert emit(module, filetype, opt_level=level) == expected


def test_the_layout_is_the_targets() -> None:
    """A module that was read for another target is compiled as llc would, which never believes a layout."""
    text = f'target datalayout = "E-p:16:16-i64:32"\n{TEXT}'
    assert emit(Module.read(text.encode())) == emit(Module.read(TEXT.encode()))


def test_a_module_without_a_target_is_for_the_host() -> None:
    assert emit(Module.read(NEUTRAL.encode()))[:4] == b"\x7fELF"


def test_nothing_is_emitted() -> None:
    assert emit(Module.read(TEXT.encode()), "null") == b""


def test_remarks(tmp_path: Path) -> None:
    source = stock.clang(stock.MANY_CALLS, tmp_path / "in.bc")
    place = tmp_path / "remarks"
    emit(Module.read(source), remarks=Remarks(str(place), "asm-printer"))
    assert place.read_text().startswith("--- !Analysis\nPass:            asm-printer")
    with pytest.raises(InputError, match=r"-pass-remarks-output: .*nonsense"):
        emit(Module.read(source), remarks=Remarks(str(tmp_path / "r"), format="nonsense"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.bc", "in.c", "remarks"]


def test_a_broken_module_is_refused() -> None:
    broken = "define i32 @f() {\n  %b = add i32 %a, 1\n  %a = add i32 1, 1\n  ret i32 %b\n}\n"
    with pytest.raises(InputError, match="expected a module that verifies, got: Instruction does not dom"):
        emit(Module.read(broken.encode(), verify=False))


def test_an_error_does_not_outlive_its_compilation() -> None:
    asm = 'call void asm "nonsense", ""()\n  ret i32 %t'
    bad = Module.read(TEXT.replace("ret i32 %t", asm).encode(), name="bad")
    expected = "bad: <inline asm>:1:2: invalid instruction mnemonic 'nonsense'"
    for _ in range(2):
        with pytest.raises(CompilationError) as caught:
            emit(bad.copy())
        assert str(caught.value) == expected.replace("bad", bad.name)
    with pytest.raises(CompilationError):
        emit(bad)
    optimize(bad, "globaldce")
    bad.verify()


def test_a_copy_is_another_module(tmp_path: Path) -> None:
    source = stock.clang(stock.MANY_CALLS, tmp_path / "in.bc", "-g")
    module = Module.read(source)
    before = module.bitcode()
    copy = module.copy()
    assert (copy.name, copy.triple, copy.data_layout) == (module.name, module.triple, module.data_layout)
    assert copy.bitcode() == before
    optimize(copy, "default<O2>")
    code = emit(copy, "obj")
    assert module.bitcode() == before
    optimize(module, "default<O2>")
    assert emit(module, "obj") == code


def test_a_copy_of_a_broken_module() -> None:
    broken = b"define i32 @f() {\n  %b = add i32 %a, 1\n  %a = add i32 1, 1\n  ret i32 %b\n}\n"
    assert "@f()" in str(Module.read(broken, verify=False).copy())


class StopError(Exception):
    """What the signal's handler raises."""


@contextmanager
def stopped_by_its_remarks(place: Path) -> Iterator[None]:
    """Raise `StopError` in the main thread when a compilation writes the first remarks, which go to `place`.

    The kernel sends the signal from within the write. The pipe has room for all remarks.
    """

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise StopError

    os.mkfifo(place)
    reader = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 1 << 20)
    fcntl.fcntl(reader, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(reader, F_SETSIG, signal.SIGUSR1)
    before = signal.signal(signal.SIGUSR1, stop)
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    gc.disable()  # another test's callback of the collector must not get the exception
    try:
        yield
    finally:
        gc.enable()
        os.close(reader)
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("linkage", ["", "internal", "linkonce_odr hidden", "weak dso_local"])
def test_a_stopped_module_is_whole(tmp_path: Path, level: int, linkage: str) -> None:
    """Whatever the handler of a signal raises ends the compilation; all functions keep their linkage."""
    functions = "\n".join(LOOP.format(i=i).replace("define", f"define {linkage}") for i in range(200))
    used = ", ".join(f"ptr @f{i}" for i in range(200))
    table = f'@llvm.used = appending global [200 x ptr] [{used}], section "llvm.metadata"'
    alias = "@alias = alias void (ptr, i64), ptr @f7"
    module = Module.read(f'target triple = "x86_64-linux-gnu"\n{table}\n{alias}\n{functions}\n'.encode())
    heads = [line for line in str(module).splitlines() if line.startswith("define")]
    place = tmp_path / "remarks"
    with stopped_by_its_remarks(place), pytest.raises(StopError):
        emit(module, opt_level=level, remarks=Remarks(str(place), "asm-printer"))
    module.verify()
    after = [line for line in str(module).splitlines() if line.startswith("define")]
    assert [line.partition(" #")[0] for line in after] == [line.partition(" #")[0] for line in heads]
    assert emit(module, opt_level=0)[:4] == b"\x7fELF"


def test_two_threads_generate_code_on_their_own(tmp_path: Path) -> None:
    source = stock.clang(stock.MANY_CALLS, tmp_path / "in.bc")
    expected = {level: emit(Module.read(source), opt_level=level) for level in (0, 3)}
    together = threading.Barrier(2)
    made: dict[int, list[bytes]] = {0: [], 3: []}

    def work(level: int) -> None:
        together.wait()
        made[level] = [emit(Module.read(source), opt_level=level) for _ in range(10)]

    threads = [threading.Thread(target=work, args=(level,)) for level in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(set(codes) == {expected[level]} for level, codes in made.items())


def test_the_interpreter_may_end_meanwhile() -> None:
    """A thread in a compilation stops when the interpreter does."""
    script = (
        "import threading, passpilot\n"
        f"text = {LOOP!r}\n"
        "body = chr(10).join(text.format(i=i) for i in range(8000))\n"
        "module = passpilot.Module.read(body.encode(), mtriple='x86_64-linux-gnu')\n"
        "begun = threading.Event()\n"
        "def work():\n    begun.set()\n    passpilot.emit(module)\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "begun.wait()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0
