# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Engine`: what is kept for what, and what is compiled again."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pytest

from passpilot.features.custom import feature, unregister
from passpilot.plugin.compile import llvm_options
from passpilot.plugin.errors import CompilationError, Error, PasspilotWarning
from passpilot.plugin.module import Module
from passpilot.training.machines.local import Machines
from passpilot.training.studies.compile_cache import CompileCache
from passpilot.training.tuning.decision_file import CallKey
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.recipes import Below
from passpilot.training.tuning.unit import LLVMS_OWN, Asked, Compiled, Unit, UnitChoice

CALL: Final = CallKey("f\udcff", "g", 2)
ASKED: Final = {
    CALL: Asked(inlined=True, default=False, cost=-35),
    CallKey("f", "g", 1): Asked(inlined=True, default=True, cost=4),
}


@dataclass
class Worker(Machines):
    """Notes what is wanted, and fails for the pipeline ``bad``."""

    jobs: int = 2
    units: Sequence[Unit] = ()
    wanted: list[tuple[int, UnitChoice]] = field(default_factory=list)

    def run(
        self,
        who: str,  # noqa: ARG002
        calls: Sequence[Any],
        deadline: float,  # noqa: ARG002
        done: Callable[[int, Any], object] = lambda _number, _result: None,
        together: int = 1,  # noqa: ARG002
    ) -> list[Any]:
        """See `Machines`."""
        made: list[Compiled | Error] = []
        for call in calls:
            unit, choice = call.args
            number = next(at for at, each in enumerate(self.units) if each is unit)
            self.wanted.append((number, choice))
            settled = replace(choice, inline={**choice.inline, CALL: True}, policy=None)
            good = Compiled(f"object {number}".encode(), ASKED, settled, 3.0, {"mca": {"f": 1.5}})
            made.append(CompilationError("bad") if choice.tail == "bad" else good)
        for index, each in reversed(list(enumerate(made))):
            done(index, each)
        return made


def files(folder: Path) -> list[Path]:
    """What a cache keeps."""
    return [path for path in folder.rglob("*") if path.is_file()]


def unit_of(code: str = "") -> Unit:
    """A unit."""
    return Unit(Module(f"define void @f() {{\n{code}  ret void\n}}\n".encode()), "default<Oz>")


def engine(folder: Path, *units: Unit) -> tuple[Engine, Worker]:
    """An engine, and what compiles for it."""
    worker = Worker(units=units or [unit_of()])
    return Engine(worker.units, worker, cache=CompileCache(str(folder))), worker


def test_what_is_kept_comes_back_whole(tmp_path: Path) -> None:
    choice = UnitChoice({CallKey("a", "b", 1): False}, "tail", ("x", "y=1"), {"f": ("optsize",)}, Below(3))
    (first,), worker = engine(tmp_path)[0].compile([(0, choice)]), engine(tmp_path)
    again, inner = worker
    (second,) = again.compile([(0, choice)])
    assert isinstance(first, Compiled)
    assert second == first
    assert isinstance(second, Compiled)
    assert list(second.asked) == list(first.asked)
    assert inner.wanted == []
    assert again.saved == 1.5, "by two at a time"


VARIANTS: Final = [
    UnitChoice({CALL: True}), UnitChoice({CALL: False}), UnitChoice({CALL._replace(number=3): True}),
    UnitChoice(tail="x"), UnitChoice(options=("x",)), UnitChoice(options=("y",)),
    UnitChoice(functions={"f": ("optsize",)}), UnitChoice(functions={"f": ("speed",)}),
    UnitChoice(policy=Below(1)), UnitChoice(policy=Below(2)),
]  # fmt: skip


def test_another_choice_is_compiled_again(tmp_path: Path) -> None:
    kept, worker = engine(tmp_path)
    work = [(0, LLVMS_OWN), *((0, each) for each in VARIANTS)]
    kept.compile(work)
    assert len(files(tmp_path)) == len(worker.wanted) == len(work)
    kept.compile(work)
    assert len(worker.wanted) == len(work)


@pytest.mark.parametrize(
    "other",
    [
        lambda: unit_of("  %x = alloca i32\n"),
        lambda: replace(unit_of(), pipeline="default<O2>"),
        lambda: replace(unit_of(), relocation_model="static"),
        lambda: replace(unit_of(), sections=True),
        lambda: replace(unit_of(), rewards=("mca",)),
        lambda: replace(unit_of(), as_clang=True),
    ],
    ids=["module", "pipeline", "relocation", "sections", "rewards", "clang"],
)
def test_another_unit_is_compiled_again(other: Callable[[], Unit], tmp_path: Path) -> None:
    kept, worker = engine(tmp_path, unit_of(), other(), unit_of())
    for number in (0, 1, 2):
        kept.compile([(number, LLVMS_OWN)])
    assert [number for number, _ in worker.wanted] == [0, 1], "the same unit is the same by another number"


def test_only_what_is_missing_is_compiled(tmp_path: Path) -> None:
    kept, worker = engine(tmp_path, unit_of(), unit_of("  %x = alloca i8\n"))
    kept.compile([(0, LLVMS_OWN)])
    work = [(1, LLVMS_OWN), (0, LLVMS_OWN), (1, UnitChoice(tail="bad")), (1, UnitChoice(tail="x"))]
    made = kept.compile(work)
    assert [each.code if isinstance(each, Compiled) else str(each) for each in made] == [
        b"object 1", b"object 0", "bad", b"object 1"
    ]  # fmt: skip
    assert len(worker.wanted) == 4
    kept.compile([(1, UnitChoice(tail="bad"))])
    assert len(worker.wanted) == 5, "an error is not kept"
    assert kept.jobs == 2


@pytest.mark.parametrize("content", [b"", b"none", b"\x78\x9c\x03\x00\x00\x00\x00\x01"])
def test_a_damaged_file_is_compiled_again(content: bytes, tmp_path: Path) -> None:
    kept, worker = engine(tmp_path)
    kept.compile([(0, LLVMS_OWN)])
    (file,) = files(tmp_path)
    file.write_bytes(content)
    (made,) = kept.compile([(0, LLVMS_OWN)])
    assert isinstance(made, Compiled)
    assert len(worker.wanted) == 2
    assert kept.saved == 0


def test_without_room_for_files_the_search_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    kept, worker = engine(tmp_path / "file" / "none")
    with pytest.warns(PasspilotWarning, match="none: expected a folder for the cache of compilations"):
        kept.compile([(0, LLVMS_OWN)])
    (made,) = kept.compile([(0, LLVMS_OWN)])  # it is said once
    assert isinstance(made, Compiled)
    assert len(worker.wanted) == 2


def test_a_policy_of_which_no_text_says_enough_is_not_kept(tmp_path: Path) -> None:
    kept, worker = engine(tmp_path)
    for _ in range(2):
        kept.compile([(0, UnitChoice(policy=lambda _: True))])
    assert len(worker.wanted) == 2
    assert files(tmp_path) == []


def test_options_of_llvm_make_other_results(tmp_path: Path) -> None:
    kept, worker = engine(tmp_path)
    kept.compile([(0, LLVMS_OWN)])
    llvm_options(["-inline-threshold=7"])
    try:
        kept.compile([(0, LLVMS_OWN)])
        assert len(worker.wanted) == 2
    finally:
        llvm_options([], forget=["-inline-threshold"])


def test_with_features_of_the_user_nothing_is_kept(tmp_path: Path) -> None:
    kept, worker = engine(tmp_path)

    @feature("int64[1]")
    def of_this_test(_: object) -> int:
        return 1

    try:
        kept.compile([(0, LLVMS_OWN)])
    finally:
        unregister("of_this_test")
    assert len(worker.wanted) == 1
    assert files(tmp_path) == []


def test_an_engine_without_a_folder_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    worker = Worker(units=[unit_of()])
    plain = Engine(worker.units, worker)
    assert (plain.saved, plain.compile([])) == (0, [])
    for _ in range(2):
        plain.compile([(0, LLVMS_OWN)])
    assert len(worker.wanted) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_unit_survives_its_way_to_a_worker() -> None:
    unit = replace(unit_of(), relocation_model="static", sections=True, rewards=("instructions",))
    copy = pickle.loads(pickle.dumps(unit))
    assert copy.module.bitcode() == unit.module.bitcode()
    assert replace(copy, module=unit.module) == unit
