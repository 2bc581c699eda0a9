# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which trials a search for speed takes, and when it goes back to LLVM's own decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from passpilot.plugin.errors import CompilationError, Error
from passpilot.plugin.module import Module
from passpilot.training.corpus.layout import ProgramRun
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.sizes import LinkedSizes, start_time
from passpilot.training.tuning.speed import CONFIRMING, PAIRS, SCREENING, SpeedSearch
from passpilot.training.tuning.study import Outcome
from passpilot.training.tuning.unit import LLVMS_OWN, Compiled, Unit, UnitChoice

if TYPE_CHECKING:
    from passpilot.training.timing.paired_times import RunTime
    from passpilot.training.tuning.study import Study, Trial


def timed(ratio: float, high: float | None) -> RunTime:
    """A measurement."""
    return {"seconds": 1, "ratio": ratio, "low": ratio - 0.1, "high": high, "pairs": 9}


@dataclass
class Texts(Engine):
    """Makes the tail of a choice its code; the tail ``bad`` fails."""

    units: Sequence[Unit] = ()
    wanted: list[int] = field(default_factory=list)

    def compile(self, work: Sequence[tuple[int, UnitChoice]]) -> list[Compiled | Error]:
        """See `Engine`."""
        self.wanted += [number for number, _ in work]
        return [
            CompilationError("bad") if each.tail == "bad" else Compiled(each.tail.encode(), {}, each, 1)
            for _, each in work
        ]


class Linker(LinkedSizes):
    """Writes the codes behind each other; does not link ``loose``."""

    def link(self, made: Sequence[Compiled], image: str, *_: str) -> None:
        data = b" ".join(each.code for each in made)
        if b"loose" in data:
            raise CompilationError("it does not link")
        Path(image).write_bytes(data)


def outcome(made: Sequence[Compiled], ratio: float = 1.0) -> Outcome:
    """A program and its time."""
    return Outcome(made, start_time(made)._replace(total=ratio))


class Timed(SpeedSearch):
    """A search whose measurements are known."""

    def begun(self, folder: Path, *times: RunTime | None) -> Timed:
        """Have a best program, and these times in their order."""
        self.folder = str(folder)
        self.best = outcome([Compiled(b"", {}, LLVMS_OWN, 1) for _ in self.units])
        self.times, self.asked = list(times), list[tuple[int, str, str, int]]()
        (folder / "best").write_bytes(b"old")
        return self

    def paired(self, runs: Sequence[ProgramRun], old: str, new: str, pairs: int) -> RunTime | None:
        self.asked.append((len(runs), old, new, pairs))
        return self.times.pop(0)


def search(
    folder: Path, *times: RunTime | None, unseen: int = 0
) -> tuple[Timed, list[tuple[int, float | None, float]]]:
    """A search of two units, and after each trial its compilations, its time and the best one."""
    told: list[tuple[int, float | None, float]] = []

    def step(study: Study, trial: Trial) -> None:
        told.append((trial.compiles, trial.value, study.best_value))

    units = [Unit(Module(b"define void @f() {\n  ret void\n}\n"), "default<O2>") for _ in range(2)]
    made = Timed(
        units, Texts(), start_time, callbacks=[step], linker=Linker([], ""),
        runs=[ProgramRun()], unseen=[ProgramRun()] * unseen,
    )  # fmt: skip
    return made.begun(folder, *times), told


FASTER = UnitChoice(tail="a")


def test_what_is_clearly_faster_becomes_the_best(tmp_path: Path) -> None:
    made, told = search(tmp_path, timed(0.9, 1.2), timed(0.8, 0.99), timed(0.9, None), timed(0.5, 0.6))
    assert made.attempt({0: LLVMS_OWN, 1: FASTER})
    assert made.engine.wanted == [1], "a choice that is the unit's own is not compiled"  # type: ignore[attr-defined]
    assert made.asked == [(1, "best", "trial", SCREENING), (1, "best", "trial", PAIRS)]
    assert [each.code for each in made.best.units] == [b"", b"a"]
    assert (tmp_path / "best").read_bytes() == b" a"
    assert not (tmp_path / "trial").exists()
    assert made.attempt({0: FASTER})
    assert (made.budget.spent, made.best.total) == (2, 0.8 * 0.5), "ratios are multiplied"
    assert [(compiles, ratio) for compiles, _, ratio in made.curve] == [(1, 0.8), (2, 0.8 * 0.5)]
    assert told == [(1, 0.8, 0.8), (2, 0.8 * 0.5, 0.8 * 0.5)]


@pytest.mark.parametrize(
    ("times", "count"),
    [
        ([None], 1),
        ([timed(1.0, 0.5)], 1),
        ([timed(0.9, None), None], 2),
        ([timed(0.9, None), timed(0.9, None)], 2),
        ([timed(0.9, None), timed(0.9, 1.0)], 2),
    ],
    ids=["wrong", "not faster", "wrong later", "no interval", "not clear"],
)
def test_what_is_not_clearly_faster_is_given_up(
    times: list[RunTime | None], count: int, tmp_path: Path
) -> None:
    made, told = search(tmp_path, *times)
    assert made.attempt({0: FASTER}), "it has changed something"
    assert len(made.asked) == count
    assert [each.code for each in made.best.units] == [b"", b""]
    assert (tmp_path / "best").read_bytes() == b"old"
    assert (made.best.total, made.curve) == (1.0, [])
    assert told == [(1, times[-1]["ratio"] if times[-1] else None, 1.0)]


def test_what_changes_nothing_is_not_timed(tmp_path: Path) -> None:
    made, told = search(tmp_path)
    assert not made.attempt({0: UnitChoice(tail="bad"), 1: UnitChoice(options=("x",))})
    assert (made.budget.spent, made.asked, told) == (2, [], [(2, None, 1.0)])
    assert made.attempt({0: UnitChoice(tail="loose")}), "it changes the code, but there is no program"
    assert (made.asked, told) == ([], [(2, None, 1.0), (3, None, 1.0)])


def test_a_unit_that_fails_stays_as_it_is(tmp_path: Path) -> None:
    made, _ = search(tmp_path, timed(0.9, 0.9), timed(0.9, 0.9))
    assert made.attempt({0: UnitChoice(tail="bad"), 1: FASTER})
    assert [each.code for each in made.best.units] == [b"", b"a"]


@pytest.mark.parametrize("first", [None, timed(0.9, None), timed(0.9, 1.0)])
def test_without_a_clear_gain_in_the_end_the_decisions_are_llvms(
    first: RunTime | None, tmp_path: Path
) -> None:
    made, _ = search(tmp_path, first, unseen=2)
    made.start = start = made.best
    made.best = outcome([Compiled(b"a", {}, FASTER, 1)] * 2, 0.5)
    made.confirm()
    assert (made.best, made.best.total, made.confirmed, made.confirmed_unseen) == (start, 1.0, first, None)
    assert made.asked == [(1, "start", "best", CONFIRMING)]


@pytest.mark.parametrize("unseen", [0, 2])
def test_a_gain_is_confirmed_with_all_inputs(unseen: int, tmp_path: Path) -> None:
    """The unseen inputs decide nothing."""
    made, _ = search(tmp_path, timed(0.7, 0.99), timed(1.1, 1.2), unseen=unseen)
    made.start, best = made.best, [Compiled(b"a", {}, FASTER, 1)] * 2
    made.confirm()
    assert made.asked == [], "nothing was found"
    made.best = outcome(best, 0.5)
    made.confirm()
    assert (made.best.units, made.best.total, made.confirmed) == (best, 0.7, timed(0.7, 0.99))
    assert made.confirmed_unseen == (timed(1.1, 1.2) if unseen else None)
    assert made.asked[1:] == [(2, "start", "best", CONFIRMING)] * bool(unseen)
