# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a lever was measured to give is what a real build with its flags has, byte by byte."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from passpilot.cli import tune
from passpilot.plugin.errors import CompilationError, InputError, UsageError
from passpilot.training.corpus.layout import CorpusFacts, ProgramRun
from passpilot.training.file_sizes import FileSizes, file_sizes
from passpilot.training.ladder.ladder import Ladder, LadderResult
from passpilot.training.ladder.levers import HARDENING, LEVERS, Allowed, LeverSet
from passpilot.training.ladder.program_build import ProgramBuild
from tests.training.ladder.project import make, recorded, write_project


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> ProgramBuild:
    folder = tmp_path_factory.mktemp("levers")
    corpus = recorded(write_project(folder / "project"))
    (program,) = corpus.programs
    return ProgramBuild(corpus, program, str(folder), jobs=2)


def real(levers: LeverSet, folder: Path) -> tuple[FileSizes, bytes]:
    """The sizes of the project, built by make with the flags of the levers, and what a run prints."""
    tools = [f"{name}='passpilot {tool} {levers.line}'" for name, tool in (("CC", "cc"), ("CXX", "c++"))]
    program = make(folder, f"make -s {' '.join(tools)}")
    return file_sizes(str(program)), subprocess.check_output([program])


def lever_set(*names: str) -> LeverSet:
    """Levers by name."""
    found = LeverSet()
    for lever in LEVERS:
        found = found.with_lever(lever) if lever.name in names else found
    return found


SETS = {
    "nothing": LeverSet(),
    "free": lever_set(*(lever.name for lever in LEVERS if not lever.group)),
    "front-end": lever_set(*(lever.name for lever in LEVERS if lever.in_front_end)),
    "linker": lever_set("sections", "icf-all", "relr", "jump-tables-more", "outlining"),
    "thin": lever_set("lto-thin", "unwind-faults", "jump-tables-more", "oz"),
    "top": lever_set(*(lever.name for lever in LEVERS)),
}


@pytest.mark.parametrize("name", SETS)
def test_a_real_build_has_the_bytes_that_were_measured(build: ProgramBuild, name: str) -> None:
    levers = SETS[name]
    measured = file_sizes(build.build(levers).path)
    ran = subprocess.check_output([f"{build.scratch}/image"])
    sizes, printed = real(levers, Path(build.scratch, "project"))
    assert (measured[:3], ran) == (sizes[:3], printed)
    assert abs(measured.xz - sizes.xz) <= 16  # the identity of the build is compressed, too


def test_instructions_of_runs_are_counted_and_their_output_is_compared(build: ProgramBuild) -> None:
    path = build.build(LeverSet()).path
    assert build.instructions(path) is None
    ran = replace(build, program=replace(build.program, runs=(ProgramRun(("1", "2")),)))
    counts = [ran.instructions(path), ran.instructions(build.build(SETS["top"]).path)]
    assert all(counts)
    assert len(set(counts)) == 2
    with pytest.raises(CompilationError, match="demo: expected the output with sha256"):
        ran.instructions("/bin/true")


def test_a_killed_ladder_goes_on(build: ProgramBuild, tmp_path: Path) -> None:
    """What was measured is not built again."""
    built: list[str] = []

    def climb(until: int = 99) -> LadderResult:
        def step(_: int, lever: str) -> None:
            if len(built) == until:
                raise KeyboardInterrupt
            built.append(lever)

        return Ladder(build, Allowed(), kept=str(tmp_path / "kept"), step=step).run(LEVERS[:3])

    whole = climb()
    builds, built[:] = len(built), []
    with pytest.raises(KeyboardInterrupt):
        climb(until=3)
    again = climb()
    assert len(built) == builds
    sizes = [[row.on_top and row.on_top.allocated for row in each.rows] for each in (whole, again)]
    assert sizes[0] == sizes[1]
    assert not (tmp_path / "kept").exists()


def test_a_lever_that_changes_nothing_is_refused(build: ProgramBuild) -> None:
    """Each with its reason; the same units without their sources cannot pass the front end again."""
    known = {lever.name: lever for lever in LEVERS}
    assert not any(map(build.refusal, LEVERS))
    shared = replace(build, program=replace(build.program, arguments=("-shared",)))
    assert shared.refusal(known["hidden"]) == "for executables"
    assert not shared.refusal(known["sections"])
    bare = replace(build, corpus=replace(build.corpus, facts=CorpusFacts()))
    assert bare.refusal(known["no-pie"]).startswith("needs the sources, such as ")
    assert not bare.refusal(known["lto-full"])


def test_decisions_that_cannot_be_searched_are_a_row(build: ProgramBuild) -> None:
    def decide(_: LeverSet) -> str:
        raise InputError("tune: expected one level in demo, got O2, Oz")

    result = Ladder(build, Allowed(), decide=decide, brief=True).run(())
    assert [row.note for row in result.rows] == ["fails: tune: expected one level in demo, got O2, Oz"]
    assert result.end == result.start


@pytest.mark.parametrize(
    ("more", "searched"), [([], ["inline", "pipeline"]), (["--search=inline,options"], ["inline", "options"])]
)
def test_a_ladder_searches_no_options_again(
    monkeypatch: pytest.MonkeyPatch, more: list[str], searched: list[str]
) -> None:
    """They are levers of its own, unless they are asked for."""
    found: list[str] = []
    monkeypatch.setattr(tune, "climb", lambda **given: found.extend(given["search"]["search"]))
    tune.main(["--ladder", *more, "-o", "x", "--", "make"])
    assert found == searched


def test_what_is_allowed() -> None:
    known = {lever.name: lever for lever in LEVERS}
    assert [name for name, lever in known.items() if Allowed()(lever)] == [
        "sections",
        "icf-safe",
        "block-placement",
        "merged-tails",
    ]
    everything = Allowed.parse(["all"])
    assert {lever.group for lever in LEVERS if not everything(lever)} == {HARDENING}
    some = Allowed.parse(["unwind,lto-full", "no-pie"])
    assert some(known["unwind-shared"])
    assert some(known["no-pie"])
    assert not some(known["lto-thin"])
    with pytest.raises(UsageError, match=r"--allow: expected some of all, icf, .*, got 'pie'"):
        Allowed.parse(["pie"])
