# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`run_isolated`: what comes back from a child process, and what cannot."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from passpilot.plugin import isolated as children
from passpilot.plugin.errors import CompilationError, Error, InputError, PipelineError
from passpilot.plugin.isolated import run_isolated, run_isolated_together
from tests.command import GENEROUS, program


def call(run: Callable[[], object]) -> object:
    return run_isolated("test", run, GENEROUS)


class Thorny:
    """It can be pickled, but not unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return int, ("no number",)


def test_a_result_that_cannot_be_copied() -> None:
    told = r"^expected a result that can be pickled, got .*lambda"
    with pytest.raises(CompilationError, match=told):
        call(lambda: lambda: 1)
    with pytest.raises(CompilationError, match=r"^test, isolated: expected an answer, got ValueError: inv"):
        call(Thorny)


class OwnError(PipelineError):
    """Needs two arguments, so that pickle cannot make it again."""

    def __init__(self, text: str, more: str) -> None:
        super().__init__(text + more)


class StrangeError(Exception):
    def __init__(self, text: str, more: str) -> None:
        super().__init__(text + more)


@pytest.mark.parametrize(("kind", "made"), [(OwnError, PipelineError), (StrangeError, CompilationError)])
def test_an_error_that_cannot_be_copied_keeps_its_text_and_its_cause(
    kind: Callable[[str, str], Exception], made: type[Error]
) -> None:
    def fail() -> NoReturn:
        try:
            raise KeyError("the reason")
        except KeyError as error:
            raise kind("a", "b") from error

    with pytest.raises(Error, match="ab") as caught:
        call(fail)
    assert type(caught.value) is made
    assert isinstance(caught.value.__cause__, KeyError)
    (note,) = caught.value.__notes__
    assert note.startswith("in the child process:\nTraceback")
    assert note.endswith("KeyError: 'the reason'")


def test_an_error_without_a_cause_has_no_note() -> None:
    def fail() -> NoReturn:
        raise InputError("no luck")

    with pytest.raises(InputError, match=r"^no luck$") as caught:
        call(fail)
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize("fails", [False, True])
def test_what_the_child_tells_is_learnt_also_after_an_error(fails: bool) -> None:
    seen: list[int] = []
    learnt: list[object] = []

    def run() -> int:
        seen.append(7)
        if fails:
            raise InputError("no luck")
        return 3

    try:
        made = run_isolated("test", run, GENEROUS, tell=lambda: seen, learn=learnt.append)
    except InputError:
        made = None
    assert (made, learnt, seen) == (None if fails else 3, [[7]], [])


def test_warnings_keep_their_class_and_place() -> None:
    def run() -> None:
        warnings.warn_explicit("late", FutureWarning, "user.py", 12)
        warnings.warn_explicit("odd", UserWarning, "other.py", 3)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(run)
    told = [(str(each.message), each.category, each.filename, each.lineno) for each in caught]
    assert told == [("late", FutureWarning, "user.py", 12), ("odd", UserWarning, "other.py", 3)]


def test_a_system_without_room_for_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> int:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(children, "_fork", full)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(CompilationError, match=r"^test, isolated: expected a new process, got: Resource"):
        call(lambda: 1)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.fixture
def nobody_waits() -> Iterator[None]:
    """The system reaps children at once, so that nobody learns how one died."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGCHLD, before)


@pytest.mark.usefixtures("nobody_waits")
def test_a_death_that_nobody_can_ask_about() -> None:
    with pytest.raises(CompilationError, match=r"expected it to finish, got an end without an answer$"):
        call(lambda: os._exit(3))
    assert call(lambda: 5) == 5


def test_results_are_in_order_and_so_many_at_a_time(tmp_path: Path) -> None:
    def work(number: int) -> int:
        (tmp_path / str(number)).touch()
        alive = len(list(tmp_path.iterdir()))
        (tmp_path / str(number)).unlink()
        return alive * 100 + number

    made = run_isolated_together("test", [partial(work, number) for number in range(6)], GENEROUS, 1)
    assert made == [100 + number for number in range(6)]
    assert run_isolated_together("test", [], GENEROUS) == []


def test_an_exception_of_another_class_ends_all() -> None:
    def fail() -> NoReturn:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run_isolated_together("test", [lambda: 1, fail], GENEROUS, 1)


def test_remarks_of_a_child_go_behind_what_was_printed(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w+b") as out:
        script = "import os, passpilot; os.write(1, b'before\\n'); passpilot.optimize("
        call = "passpilot.Module.read('in.ll'), 'inline', isolated=True, remarks=passpilot.Remarks('-'))"
        (tmp_path / "in.ll").write_text(program())
        subprocess.run([sys.executable, "-c", script + call], cwd=tmp_path, stdout=out, check=True)
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines[0] == "before"
    assert "--- !Passed" in lines
