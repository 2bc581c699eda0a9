# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a lever was measured to give is what a real build with its flags has, byte by byte."""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from passpilot.cli import tune
from passpilot.plugin.errors import CompilationError, InputError, UsageError
from passpilot.training.corpus.layout import Corpus, CorpusFacts, ProgramRun
from passpilot.training.file_sizes import FileSizes, file_sizes
from passpilot.training.ladder.ladder import Ladder, LadderResult
from passpilot.training.ladder.levers import HARDENING, LEVERS, Allowed, LeverSet
from passpilot.training.ladder.picture import waterfall_picture
from passpilot.training.ladder.program_build import ProgramBuild
from passpilot.training.ladder.tables import ladder_markdown, ladder_text
from passpilot.training.tuning.build import recorded_corpus
from tests.training.ladder.project import ENVIRONMENT, make, recorded, write_project


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


NAMES = """\
#include <cstdlib>
#include <iostream>
#include <new>
#include <stdexcept>
#include <string>
static int calls;
void *operator new(std::size_t size) { ++calls; return std::malloc(size); }
void operator delete(void *at) noexcept { std::free(at); }
int main(int count, char **) {
  std::string text(static_cast<std::size_t>(99 * count), 'x');
  text += text + "and more";
  try { std::stoi(text); }
  catch (const std::invalid_argument &wrong) { std::cout << wrong.what() << '\\n'; }
  std::cout << std::string(text.begin() + 90, text.end()).size() << (calls > 3 ? " ours\\n" : " others\\n");
}
"""


@pytest.mark.parametrize("position", ["-pie", "-no-pie"])
def test_local_names_leave_what_shared_libraries_must_find(tmp_path: Path, position: str) -> None:
    """Their own `new` is that of the program, its copies of their variables are theirs, and they catch."""
    (tmp_path / "a.cpp").write_text(NAMES)
    exported = {}
    for name, line in (("stock", "-fuse-ld=lld"), ("local", lever_set("local-names").line)):
        words = ["passpilot", "c++", "-Oz", f"-f{position[1:]}", position, *shlex.split(line)]
        subprocess.run([*words, "a.cpp", "-o", name], cwd=tmp_path, env=ENVIRONMENT, check=True)
        assert subprocess.check_output([tmp_path / name]) == b"stoi\n116 ours\n"
        symbols = subprocess.check_output(
            ["llvm-nm-22", "-D", "--defined-only", name], cwd=tmp_path, text=True
        )
        exported[name] = {symbol.split()[-1] for symbol in symbols.splitlines()}
    assert exported["local"] < exported["stock"]
    assert "_Znwm" in exported["local"]
    assert not any("_M_construct" in symbol for symbol in exported["local"])


@pytest.mark.parametrize("allow", ["speed", "outlining"])
def test_a_lever_that_compresses_badly_must_be_named(build: ProgramBuild, allow: str) -> None:
    lever = next(lever for lever in LEVERS if lever.name == "outlining")
    (row,) = Ladder(build, Allowed.parse([allow]), reward="text", brief=True).run([lever]).rows
    assert row.on_top
    assert row.below
    assert row.on_top.text < row.below.text
    assert row.is_taken == (allow == "outlining")
    expected = "" if row.is_taken else r"xz grows to 1\.\d+; --allow=outlining takes it"
    assert re.fullmatch(expected, row.note)


def test_a_program_without_machine_code_has_ratios(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/a.c").write_text("int numbers[50] = {1};\n")
    words = ["clang-22", "-Oz", "-shared", "-nostdlib", "a.c", "-o", "a.so"]
    folder = recorded_corpus(["env", "-C", str(tmp_path / "project"), *words], str(tmp_path / "out"))
    corpus = Corpus.read(folder, "/")
    build = ProgramBuild(corpus, corpus.programs[0], str(tmp_path), jobs=1)
    result = Ladder(build, Allowed(), reward="text").run(LEVERS[:2])
    assert result.start.text == result.end.text == 0
    assert "0 text bytes become 0 (1.000)" in ladder_markdown(result)
    assert ladder_text(result).startswith("a.so: .text bytes\n")
    assert "0 bytes, the same" in waterfall_picture(result)


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
