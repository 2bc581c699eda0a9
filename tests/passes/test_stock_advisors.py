# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Advisors in a compiler that is not ours: who is closed, what becomes of logs, which error is raised."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import passpilot
from passpilot.features.catalogue import emit_points
from passpilot.features.log.reader import read_log
from passpilot.passes.advisor import Advisor, OnError
from passpilot.passes.asking import ASKED
from passpilot.passes.stock import advisors as loaded
from passpilot.passes.stock.compilation import CompilationAdvisors
from passpilot.plugin.embedded import Teller
from passpilot.plugin.errors import InputError, LogError, PolicyError, UsageError
from passpilot.runners.python import Observation
from tests.passes.decision_point.example import NAME, declared

pytestmark = pytest.mark.usefixtures("restored_registries")

ROW = {"size": 3, "share": 0.5}


class Closing:
    """A policy that notes when it is closed."""

    def __init__(self, closed: list[str], name: str = "closed", fails: bool = False) -> None:
        self._closed, self._name, self._fails = closed, name, fails

    def decide(self, _: Observation) -> int:
        if self._fails:
            raise ValueError("no luck")
        return 2

    def close(self) -> None:
        self._closed.append(self._name)


def test_a_point_has_one_advisor_and_the_second_is_closed() -> None:
    point, closed, advisors = declared(), list[str](), CompilationAdvisors()
    advisors.advise(point.advisor(Closing(closed, "first")))
    told = f"^-passpilot-advise: expected one advisor of the point {NAME}, got two$"
    with pytest.raises(UsageError, match=told):
        advisors.advise(point.advisor(Closing(closed, "second")))
    assert closed == ["second"]
    with advisors.asked():
        assert point.ask(ROW) == 2
    assert point.ask(ROW) == 1, "outside, the default decides"
    advisors.end(good=True, stats=False)
    assert closed == ["second", "first"]


def test_the_default_needs_no_advisor() -> None:
    point, advisors = declared(), CompilationAdvisors()
    for _ in range(2):
        advisors.advise(point.advisor("default"))
    with advisors.asked():
        assert NAME not in ASKED.get()
    advisors.end(good=True, stats=True)


@pytest.mark.parametrize("good", [True, False])
def test_the_end_of_a_compilation(good: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    point, closed, log = declared(), list[str](), tmp_path / "a.log"
    advisors = CompilationAdvisors()
    advisors.advise(point.advisor(Closing(closed), log=str(log)))
    with advisors.asked():
        point.ask(ROW)
    advisors.raise_failure()
    assert not log.exists()
    advisors.end(good=good, stats=True)
    assert closed == ["closed"]
    assert log.exists() is good
    told = capsys.readouterr().err
    assert ("1 decision\n" in told) is good
    assert bool(told) is good
    advisors.end(good=good, stats=True)
    assert (closed, capsys.readouterr().err) == (["closed"], ""), "it ends once"


def test_counts_are_printed_only_if_they_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    point, advisors = declared(), CompilationAdvisors()
    advisors.advise(point.advisor("const:1"))
    with advisors.asked():
        point.ask(ROW)
    advisors.end(good=True, stats=False)
    assert capsys.readouterr() == ("", "")


def test_a_failure_is_raised_whenever_it_is_asked_for_but_not_at_the_end() -> None:
    point, closed, advisors = declared(), list[str](), CompilationAdvisors()
    advisors.advise(point.advisor(Closing(closed, fails=True)))
    with pytest.raises(PolicyError, match="no luck"), advisors.asked():
        point.ask(ROW)
    errors = []
    for _ in range(2):
        with pytest.raises(
            PolicyError, match=rf"^{NAME} advisor at decision 0: ValueError: no luck"
        ) as caught:
            advisors.raise_failure()
        errors.append(caught.value)
    assert errors[0] is errors[1]
    advisors.end(good=False, stats=True)
    assert closed == ["closed"]


def test_a_log_that_is_lost_is_an_error_after_all_are_closed(tmp_path: Path) -> None:
    point, closed, folder = declared(), list[str](), tmp_path / "logs"
    folder.mkdir()
    advisors = CompilationAdvisors()
    advisors.advise(point.advisor(Closing(closed), log=str(folder / "a.log")))
    with advisors.asked():
        point.ask(ROW)
    shutil.rmtree(folder)
    with pytest.raises(InputError, match=r"a\.log: expected a file to write, got: No such file"):
        advisors.end(good=True, stats=False)
    assert closed == ["closed"]


Told = list[tuple[str, str]]
Start = Callable[..., int]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[object, ...]]]:
    """The arguments with which advisors were made."""
    kept: list[tuple[object, ...]] = []

    def make(
        point: str, runner: str, log: str | None, on_error: OnError, timeout: float, limit: float
    ) -> Advisor:
        kept.append((point, runner, log, on_error, timeout, limit))
        return passpilot.advisor(point, Closing(CLOSED), log=log, on_error=on_error, timeout=timeout)

    monkeypatch.setattr(loaded, "_MAKE", make, raising=False)
    CLOSED.clear()
    yield kept
    assert not loaded._STARTED


CLOSED: list[str] = []
QUIET = Teller(lambda *_: None, 0)


def start(log: str = "", on_error: bytes = b"fail") -> int:
    runner = b"python:\xff.py"
    return loaded._start(QUIET, b"inline", runner, log.encode(), on_error, 7.5, 2.0)


def finish(address: int, good: bool) -> Told:
    """What is told at the end of a compilation."""
    told: Told = []
    teller = Teller(lambda _, kind, text, *_more: told.append((kind.decode(), text.decode())), 0)
    loaded._finish(teller, address, good)
    loaded._drop(QUIET, address)
    return told


@pytest.mark.parametrize("good", [True, False])
def test_a_loaded_advisor_writes_its_log_if_all_is_good(
    good: bool, tmp_path: Path, made: list[tuple[object, ...]]
) -> None:
    log = tmp_path / "a.log"
    address = start(str(log), b"default")
    assert made == [("inline", "python:\udcff.py", str(log), "default", 7.5, 2.0)]
    assert (finish(address, good), CLOSED) == ([], ["closed"])
    assert log.exists() is good
    if good:
        assert list(read_log(log)) == []


@pytest.mark.parametrize(("on_error", "policy"), [(b"fail", "fail"), (b"", "fail"), (b"default", "default")])
def test_how_a_loaded_advisor_is_made(on_error: bytes, policy: str, made: list[tuple[object, ...]]) -> None:
    finish(start(on_error=on_error), True)
    assert [row[2:4] for row in made] == [(None, policy)]


@pytest.mark.usefixtures("made")
def test_a_loaded_advisor_that_cannot_start_is_closed(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="expected a file to write"):
        start(str(tmp_path / "none" / "a.log"))
    assert CLOSED == ["closed"]


@pytest.mark.usefixtures("made")
def test_two_loaded_advisors_end_one_by_one(tmp_path: Path) -> None:
    first, second = start(str(tmp_path / "1")), start(str(tmp_path / "2"))
    assert first != second
    finish(first, True)
    assert [path.name for path in tmp_path.iterdir()] == ["1"]
    finish(second, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2"]


def test_what_an_emitting_point_is() -> None:
    points = {name: name in emit_points() for name in ("advised-outline", "advised-size")}
    assert points == {"advised-outline": True, "advised-size": False}
