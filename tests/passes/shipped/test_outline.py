# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passpilot import emit, optimize
from passpilot.features.llvm.outline import (
    FEATURES,
    MODULE_FEATURES,
    RUNS,
    SHORTEST,
    Repeats,
    _longest_repeats,
)
from passpilot.passes.shipped.outline import OUTLINE, OUTLINER
from passpilot.plugin.errors import InputError, PassError, PolicyError, UsageError
from passpilot.plugin.module import Module
from tests import stock
from tests.corpus.build import bindir
from tests.passes.allocation.allocated import TRIPLES
from tests.passes.shipped.advice import of_seeds

if TYPE_CHECKING:
    from passpilot.runners.python import Observation

INPUT: Final = Path(__file__).parents[3] / "lit_tests" / "llc" / "Inputs" / "repeats.ll"
TARGETS: Final = ("x86-64", "aarch64", "riscv64")
ALWAYS: Final = "-enable-machine-outliner=always"


def by_llc(target: str, *flags: str) -> bytes:
    """The object file that stock llc makes of the input."""
    command = ["-O2", "-filetype=obj", "-relocation-model=pic", f"-mtriple={TRIPLES[target]}", *flags]
    return stock.run("llc", *command, INPUT, "-o", "-")


def emitted(target: str, *advisors: object) -> bytes:
    """The object file that we make of the input."""
    module = Module.read(INPUT, mtriple=TRIPLES[target])
    return emit(module, advisors=list(advisors), relocation_model="pic")  # type: ignore[arg-type]


def outlined(objects: bytes, folder: Path) -> int:
    """The number of functions that the outliner has made."""
    (folder / "outlined.o").write_bytes(objects)
    command = [bindir() / "llvm-nm", folder / "outlined.o"]
    return subprocess.check_output(command, text=True).count("OUTLINED_FUNCTION")


@pytest.mark.parametrize("target", TARGETS)
def test_a_module_is_outlined_as_told(target: str, tmp_path: Path) -> None:
    made = {run: emitted(target, OUTLINER.advisor(f"const:{RUNS.index(run)}")) for run in RUNS}
    assert made["as the target"] == by_llc(target)
    assert made["everywhere"] == by_llc(target, ALWAYS)
    assert made["nowhere"] == by_llc(target, "-enable-machine-outliner=never")
    counts = {run: outlined(objects, tmp_path) for run, objects in made.items()}
    assert counts["everywhere"] > counts["as the target"] == (0 if target == "x86-64" else 1)
    assert counts["nowhere"] == 0


@pytest.mark.parametrize(("triple", "outlines"), [("thumbv7em-none-eabi", 1), ("armv7-linux-gnueabi", 0)])
def test_the_default_of_32_bit_arm(triple: str, outlines: int, tmp_path: Path) -> None:
    flags = ("-O2", "-filetype=obj", "-relocation-model=pic", f"-mtriple={triple}", "-o", "-")
    expected = stock.run("llc", *flags, INPUT)
    assert outlined(expected, tmp_path) == outlines
    module = Module.read(INPUT, mtriple=triple)
    assert emit(module, advisors=[OUTLINER.advisor("const:0")], relocation_model="pic") == expected


@pytest.mark.parametrize("target", TARGETS)
def test_closed_functions_are_left_alone(target: str, tmp_path: Path) -> None:
    asked = []

    def decide(obs: Observation) -> bool:
        asked.append(getattr(obs.site, "name", ""))
        return asked[-1] not in ("first", "second")

    objects = emitted(target, OUTLINER.advisor("const:1"), OUTLINE.advisor(decide))
    assert asked == ["first", "second", "third", "fourth", "small", "smaller"]
    everywhere = outlined(by_llc(target, ALWAYS), tmp_path)
    assert 0 < outlined(objects, tmp_path) < everywhere


def test_no_option_stays_behind() -> None:
    emitted("x86-64", OUTLINER.advisor("const:1"))
    assert emitted("x86-64") == by_llc("x86-64")


def test_the_default_changes_nothing_also_if_it_is_asked(tmp_path: Path) -> None:
    logs = [str(tmp_path / name) for name in ("module.log", "functions.log")]
    advisors = OUTLINER.advisor("const:0", log=logs[0]), OUTLINE.advisor("const:1", log=logs[1])
    assert emitted("aarch64", *advisors) == by_llc("aarch64")
    assert [advisor.stats.decisions for advisor in advisors] == [1, 2], "the target takes from two"
    assert emitted("aarch64", OUTLINER.advisor("default"), OUTLINE.advisor("default")) == by_llc("aarch64")


def test_the_module_is_asked_about_first() -> None:
    asked: list[str] = []

    def note(obs: Observation) -> int:
        asked.append(obs.point)
        return 0

    emitted("aarch64", OUTLINE.advisor(note), OUTLINER.advisor(note))
    assert asked == ["advised-outliner", "advised-outline", "advised-outline"]


def test_features() -> None:
    seen: dict[str, dict[str, float]] = {}

    def keep(obs: Observation) -> int:
        rows = MODULE_FEATURES if obs.point == "advised-outliner" else FEATURES
        name = getattr(obs.site, "name", "module")
        seen[name] = {row.spec.name: obs[row.spec.name].item() for row in rows if row.spec.name != "mask"}
        return 1

    emitted("aarch64", OUTLINER.advisor(keep), OUTLINE.advisor(keep))
    module, first, third = seen["module"], seen["first"], seen["third"]
    assert [module[name] for name in ("functions", "local_functions", "for_size", "by_default")] == [
        6,
        1,
        2,
        2,
    ]
    assert module["repeated"] == sum(seen[name]["repeated"] for name in seen if name != "module") > 30
    assert module["longest"] == first["longest"] == 12
    assert [first[name] for name in ("blocks", "calls", "is_local", "for_size", "by_default")] == [
        1,
        0,
        0,
        0,
        0,
    ]
    assert first["repeated_work"] == first["repeated"] == first["instructions"] - 1
    assert third["repeated_work"] > third["repeated"], "it is in a loop"
    assert [third[name] for name in ("loop_depth", "call_sites", "is_local")] == [1, 1, 1]
    assert seen["small"]["by_default"] == 1


@given(st.lists(st.integers(0, 2), max_size=30))
def test_repeats_are_those_of_a_search(words: list[int]) -> None:
    def common(i: int, j: int) -> int:
        length = 0
        while max(i, j) + length < len(words) and words[i + length] == words[j + length]:
            length += 1
        return length

    expected = [
        max((common(i, j) for j in range(len(words)) if i != j), default=0) for i in range(len(words))
    ]
    assert _longest_repeats(np.array(words, np.int64)).tolist() == expected


def test_a_sequence_ends_with_its_block() -> None:
    functions = [each for each in Module.read(INPUT).functions if not each.is_declaration]
    repeats = Repeats(functions)
    for function in functions:
        covered = repeats.covered(function)
        assert len(covered) == function.instruction_count
        for place, inst in enumerate(function.instructions):
            assert not (inst.is_terminator and covered[place])
        assert covered.sum() == 0 or repeats.longest(function) >= SHORTEST


def test_the_outliner_cannot_be_asked_for_in_a_pipeline() -> None:
    with pytest.raises(
        UsageError, match=r"^pass advised-outliner at .*: a pipeline cannot run it; run it at code generation"
    ):
        optimize(Module.read(INPUT), "advised-outliner", [OUTLINER.advisor("const:1")])


def test_functions_may_be_closed_in_a_pipeline() -> None:
    module = Module.read(INPUT)
    optimize(module, "advised-outline", [OUTLINE.advisor("const:0")])
    assert all('"nooutline"' in each.attributes for each in module.functions if not each.is_declaration)


def test_functions_that_are_closed_are_not_asked_about() -> None:
    module, asked = Module.read(INPUT), list[str]()
    for name in ("first", "fourth"):
        function = module.function(name)
        assert function is not None
        function.add_attribute('"nooutline"')

    def note(obs: Observation) -> int:
        asked.append(getattr(obs.site, "name", ""))
        return 1

    before = str(module)
    optimize(module, "advised-outline", [OUTLINE.advisor(note)])
    assert asked == ["second", "third", "small", "smaller"]
    assert str(module) == before


def test_a_pass_that_fails_at_code_generation_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> NoReturn:
        raise KeyError("no luck")

    monkeypatch.setattr("passpilot.passes.shipped.outline.observe", fail)
    with pytest.raises(PassError, match=r"^pass advised-outline at module .*: KeyError: 'no luck' \("):
        emitted("x86-64", OUTLINE.advisor("const:1"))


def test_failing_policy_leaves_an_error() -> None:
    def fail(_: Observation) -> int:
        raise ValueError("no luck")

    for point in (OUTLINE, OUTLINER):
        with pytest.raises(PolicyError, match="no luck"):
            emitted("x86-64", point.advisor(fail))


def test_other_points_of_passes_are_refused() -> None:
    from passpilot.passes.shipped.size import SIZE

    with pytest.raises(
        InputError,
        match=r"expected advisors of the points evict and priority and ra-order .*, got advised-size",
    ):
        emitted("x86-64", SIZE.advisor("const:0"))


def test_random_answers_keep_the_output() -> None:
    outcome = of_seeds("outline", [1], ["csmith", "libsvm"])
    assert outcome.wrong == []
    assert outcome.decisions > 20


@pytest.mark.soak
@pytest.mark.timeout(36000)
@pytest.mark.parametrize("first", range(1, 301, 50))
def test_random_answers_keep_the_output_of_many_programs(first: int) -> None:
    assert of_seeds("outline", range(first, first + 50)).wrong == []


@pytest.mark.soak
@pytest.mark.timeout(36000)
@pytest.mark.parametrize("seed", range(1, 21))
def test_random_answers_keep_the_output_of_the_corpus(seed: int) -> None:
    from tests.corpus.programs import programs

    assert of_seeds("outline", [seed], list(programs())).wrong == []
