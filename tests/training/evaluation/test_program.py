# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`ProgramEvaluation` and `UnitCompiler`: objects of several ways, links, decisions, and their errors."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from passpilot.cli.evaluate import competitor
from passpilot.plugin.errors import CompilationError, Error, InputError
from passpilot.plugin.toolchain import installed
from passpilot.training.corpus.layout import Corpus, CorpusProgram, CorpusUnit, ProgramRun
from passpilot.training.evaluation import program as program_module
from passpilot.training.evaluation.competitors import Competitor, CompileWay
from passpilot.training.evaluation.program import EvaluationPlan, ProgramEvaluation
from passpilot.training.evaluation.results import ProgramResult
from passpilot.training.evaluation.unit_compiler import Toolchain, UnitCompiler
from passpilot.training.rewards import allocated_bytes
from passpilot.training.studies.compile_cache import CompileCache
from passpilot.training.timing.commands import Commands
from tests.training.evaluation.small import corpus as write_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return Corpus.read(write_corpus(tmp_path_factory.mktemp("small")))


@pytest.fixture
def compiler(tmp_path: Path) -> UnitCompiler:
    toolchain = replace(Toolchain.find(), version="clang 22")
    (tmp_path / "scratch").mkdir()
    cache = CompileCache(str(tmp_path / "cache"))
    scratch = str(tmp_path / "scratch")
    return UnitCompiler(Commands(), toolchain, installed("libpasspilot.so"), 60, cache, scratch)


@pytest.fixture
def unit(corpus: Corpus) -> CorpusUnit:
    return corpus.units["count/work.c"]


ASKS = {"PASSPILOT_INLINE": "const:0"}


def test_the_smallest_object_of_several_ways_is_taken(
    compiler: UnitCompiler, unit: CorpusUnit, tmp_path: Path
) -> None:
    ways = [CompileWay(flags=("-mllvm", f"-align-all-blocks={align}")) for align in (5, 1, 3)]
    each = [compiler.compile(unit, [way], str(tmp_path / f"{at}"), {}) for at, way in enumerate(ways)]
    assert each[1].size < min(each[0].size, each[2].size)
    made = compiler.compile(unit, ways, str(tmp_path / "o"), {})
    assert (made.path, made.size) == (str(tmp_path / "o.1.o"), each[1].size)
    assert made.size == allocated_bytes(Path(made.path).read_bytes())
    assert made.seconds == pytest.approx(sum(one.seconds for one in each), abs=0.001)
    assert [one.is_cached for one in (*each, made)] == [False, False, False, True]
    first = compiler.compile(unit, [ways[1], ways[1]], str(tmp_path / "p"), {})
    assert first.path == str(tmp_path / "p.0.o")


def test_other_ways_than_the_first_may_fail(compiler: UnitCompiler, unit: CorpusUnit, tmp_path: Path) -> None:
    good, bad = CompileWay(), CompileWay(flags=("-fno-such-flag",))
    made = compiler.compile(unit, [good, bad], str(tmp_path / "o"), {})
    assert made.path == str(tmp_path / "o.0.o")
    with pytest.raises(CompilationError, match=r"^count/work.c: expected an object, got error: unknown"):
        compiler.compile(unit, [bad, good], str(tmp_path / "o"), {})


def test_only_the_first_way_writes_logs(compiler: UnitCompiler, unit: CorpusUnit, tmp_path: Path) -> None:
    ways = [CompileWay(environment={"PASSPILOT_INLINE": f"const:{answer}"}, plugin=True) for answer in (1, 0)]
    log = tmp_path / "inline.log"
    compiler.compile(unit, ways, str(tmp_path / "o"), {"inline": str(log)})
    assert program_module.decision_counts(str(log)) == (3, 3)
    compiler.compile(unit, ways[::-1], str(tmp_path / "o"), {"inline": str(log)})
    assert program_module.decision_counts(str(log)) == (3, 0)


def test_a_policy_is_not_cached_and_a_baseline_is(
    compiler: UnitCompiler, unit: CorpusUnit, tmp_path: Path
) -> None:
    for way, cached in ((CompileWay(environment=ASKS, plugin=True), False), (CompileWay(), True)):
        found = [compiler.compile(unit, [way], str(tmp_path / "o"), {}).is_cached for _ in range(2)]
        assert found == [False, cached]
    compiler.prepare([(unit, CompileWay("O2"))], 1)
    assert not compiler.compile(unit, [CompileWay("O2")], str(tmp_path / "o"), {}).is_cached


def test_variables_of_ours_reach_no_compilation(
    compiler: UnitCompiler, unit: CorpusUnit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = CompileWay(plugin=True)
    before = compiler.compile(unit, [plain], str(tmp_path / "a"), {}).size
    monkeypatch.setenv("PASSPILOT_INLINE", "const:0")
    assert compiler.compile(unit, [plain], str(tmp_path / "b"), {}).size == before
    asked = compiler.compile(unit, [CompileWay(environment=ASKS, plugin=True)], str(tmp_path / "c"), {})
    assert asked.size != before


def test_sections_are_asked_for_once(compiler: UnitCompiler, unit: CorpusUnit) -> None:
    way = CompileWay(flags=("-v",))
    for given in ((), ("-ffunction-sections",), ("-ffunction-sections", "-fdata-sections")):
        words = compiler._words(replace(unit, arguments=("-cc1", "-Oz", *given)), way)
        assert words.count("-ffunction-sections") == words.count("-fdata-sections") == 1
        assert words[-1] == "-v"


def test_a_unit_at_another_level(compiler: UnitCompiler, unit: CorpusUnit, tmp_path: Path) -> None:
    scratch = Path(compiler.scratch)
    fast = CompileWay("O2")
    compiler.prepare([(unit, CompileWay("Oz")), (replace(unit, arguments=()), fast)], 1)
    assert not list(scratch.iterdir())
    compiler.prepare([(unit, fast), (unit, fast), (unit, CompileWay("O3"))], 1)
    compiler.prepare([(unit, fast)], 1)
    assert len(list(scratch.glob("*.bc"))) == 2
    made = compiler.compile(unit, [fast], str(tmp_path / "o"), {})
    assert made.size > compiler.compile(unit, [CompileWay()], str(tmp_path / "p"), {}).size
    compiler.forget()
    assert not list(scratch.iterdir())
    compiler.prepare([(unit, fast)], 1)
    assert not list(scratch.iterdir()), "its object is in the cache"
    assert compiler.compile(unit, [fast], str(tmp_path / "q"), {}).size == made.size
    compiler.prepare([(unit, replace(fast, plugin=True))], 1)
    assert len(list(scratch.iterdir())) == 1, "what a policy makes is not"


def test_units_that_cannot_be_compiled(compiler: UnitCompiler, unit: CorpusUnit, tmp_path: Path) -> None:
    output = str(tmp_path / "o")
    with pytest.raises(
        InputError, match=r"count/work.c: expected its arguments in count/work.c.cmd, got none"
    ):
        compiler.compile(replace(unit, arguments=()), [CompileWay()], output, {})
    gone = replace(unit, bitcode=tmp_path / "none.bc")
    with pytest.raises(InputError, match=r"count/work.c: expected to read .*none.bc, got: No such file"):
        compiler.compile(gone, [CompileWay()], output, {})
    compiler.prepare([(gone, CompileWay("O2"))], 1)
    with pytest.raises(Error, match=r"^count/work.c: .*none.bc"):
        compiler.compile(gone, [CompileWay("O2", plugin=True)], output, {})
    compiler.deadline = 0.0
    with pytest.raises(CompilationError, match=r"count/work.c: expected an object within 0 s, got none"):
        compiler.compile(unit, [CompileWay(flags=("-v",))], output, {})


def plan_of(*competitors: str | Competitor, **changes: object) -> EvaluationPlan:
    made = [competitor(each) if isinstance(each, str) else each for each in competitors]
    plan = EvaluationPlan(made, 2, 0, True, True, 60, 60)
    return replace(plan, **changes)  # type: ignore[arg-type]


@pytest.fixture
def evaluated(corpus: Corpus, compiler: UnitCompiler) -> Callable[..., ProgramResult]:
    """Evaluates a program; `change` changes it before."""

    def evaluate(plan: EvaluationPlan, name: str = "count", **change: object) -> ProgramResult:
        program = replace(
            next(each for each in corpus.programs if each.name == name),
            **change,  # type: ignore[arg-type]
        )
        steps = list[int]()
        made = ProgramEvaluation(plan, compiler, program, corpus.units, lambda: steps.append(1)).run()
        if not any(each["errors"] for each in made["results"].values()):
            assert len(steps) == ProgramEvaluation.steps(plan, program)
        assert not list(Path(compiler.scratch).iterdir())
        return made

    return evaluate


def test_a_program_has_all_its_numbers(evaluated: Callable[..., ProgramResult]) -> None:
    made = evaluated(plan_of("-Oz", "const:0", "const:1"))
    assert (made["name"], made["language"], made["units"], made["warnings"]) == ("count", "c", 2, [])
    plain, never, always = made["results"].values()
    assert (plain["decisions"], plain["agreed"]) == (None, None)
    assert (never["decisions"], always["decisions"]) == (3, 3)
    assert (never["agreed"] or 0) + (always["agreed"] or 0) == 3
    assert all(each["output"] == "right" and each["compile_seconds"] for each in made["results"].values())
    functions = made["functions"]
    place = functions["names"].index("work")
    assert functions["sizes"]["const:0"][place] < functions["sizes"]["const:1"][place]
    assert set(functions["rest"].values()) == {0}


def test_programs_are_not_run_and_not_logged_if_so_asked(evaluated: Callable[..., ProgramResult]) -> None:
    made = evaluated(plan_of("-Oz", "const:0", runs=False, logs=False, rounds=3))
    for each in made["results"].values():
        assert (each["output"], each["run"], each["decisions"]) == ("unknown", None, None)
        assert each["allocated"]
    assert evaluated(plan_of("-Oz"), runs=())["results"]["-Oz"]["output"] == "unknown"


def test_the_largest_functions_have_names(
    evaluated: Callable[..., ProgramResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of("-Oz", "const:0", runs=False, logs=False)
    whole = evaluated(plan)["functions"]
    most = [max(sizes) for sizes in zip(*whole["sizes"].values(), strict=True)]
    assert most == sorted(most, reverse=True)
    monkeypatch.setattr(program_module, "MOST_FUNCTIONS", 2)
    made = evaluated(plan)["functions"]
    assert made["names"] == whole["names"][:2]
    for side, sizes in whole["sizes"].items():
        assert made["sizes"][side] == sizes[:2]
        assert made["rest"][side] == sum(sizes[2:]) > 0


def test_what_the_link_gets(evaluated: Callable[..., ProgramResult], tmp_path: Path) -> None:
    """Foreign inputs and arguments, in the folder of the link; stripping would hide functions."""
    (tmp_path / "more.s").write_text(
        '.globl more\nmore: .zero 64, 0x90\n.section .note.GNU-stack,"",@progbits\n'
    )
    strip = ("-s", "-Wl,-s", "-Wl,--strip-all", "-Wl,--strip-debug", "-Wl,-S")
    plan = plan_of("-Oz")
    plain = evaluated(plan, runs=())
    made = evaluated(
        plan, runs=(), foreign=("more.s",), arguments=("-Wl,-u,more", *strip), directory=str(tmp_path)
    )
    linked = [each["results"]["-Oz"]["text"] or 0 for each in (plain, made)]
    assert 64 <= linked[1] - linked[0] < 96
    assert "work" in made["functions"]["names"]
    assert "unused" not in made["functions"]["names"]


def test_the_link_is_by_the_compiler_of_the_program(
    evaluated: Callable[..., ProgramResult], compiler: UnitCompiler
) -> None:
    plan, linkers = plan_of("-Oz"), {"c": "/no/c", "c++": "/no/c++"}
    for name in ("count", "shout"):
        evaluated(plan, name)  # the objects are in the cache then
    compiler.toolchain = replace(compiler.toolchain, linkers=linkers)
    for name, language in (("count", "c"), ("shout", "c++")):
        (error,) = evaluated(plan, name)["results"]["-Oz"]["errors"]
        assert error.startswith(f"{linkers[language]}: expected to run it, got: ")


def test_a_program_without_objects_is_not_linked(evaluated: Callable[..., ProgramResult]) -> None:
    made = evaluated(plan_of("-Oz"), objects=(), runs=())
    result = made["results"]["-Oz"]
    assert (result["allocated"], result["output"], result["errors"]) == (None, "unknown", [])
    assert result["objects"]


def without(unit: CorpusUnit) -> CorpusUnit:
    return replace(unit, arguments=())


def test_units_that_fail_are_one_line(corpus: Corpus, compiler: UnitCompiler) -> None:
    """All competitors fail alike: the first one says so, and how many units there are."""
    third = {"count/more.c": replace(corpus.units["count/work.c"], name="count/more.c")}
    units = {name: without(each) for name, each in {**corpus.units, **third}.items()}
    said = "count/main.c: expected its arguments in count/main.c.cmd, got none"
    plan = plan_of("-Oz", "-O2", "const:0")
    for libraries, more in (
        ((), ""),
        ((("count/work.c",),), " (and 1 more unit)"),
        ((("count/work.c", "count/more.c"),), " (and 2 more units)"),
    ):
        program = replace(corpus.programs[0], libraries=libraries)
        results = ProgramEvaluation(plan, compiler, program, units, lambda: None).run()["results"]
        assert [each["errors"] for each in results.values()] == [[f"{said}{more} (with all)"], [], []]
        assert results["-Oz"]["objects"] is None
    alone = ProgramEvaluation(plan_of("-Oz"), compiler, corpus.programs[0], units, lambda: None).run()
    assert alone["results"]["-Oz"]["errors"] == [f"{said} (and 1 more unit)"]


def test_an_error_of_one_competitor_is_its_own(evaluated: Callable[..., ProgramResult]) -> None:
    wrong = Competitor("wrong", "policy", lambda _: [CompileWay(flags=("-fno-such-flag",))])
    made = evaluated(plan_of("-Oz", wrong, "-O2"))["results"]
    assert [len(each["errors"]) for each in made.values()] == [0, 1, 0]
    assert made["wrong"]["errors"][0].endswith("'-fno-such-flag' (and 1 more unit)")
    assert [each["output"] for each in made.values()] == ["right", "unknown", "right"]


def test_files_that_are_missing_are_the_competitors_error(evaluated: Callable[..., ProgramResult]) -> None:
    def ways(program: str) -> Sequence[CompileWay]:
        raise InputError(f"no file\nof {program}")

    made = evaluated(plan_of("-Oz", Competitor("mine", "policy", ways, ("inline",))))["results"]
    assert made["mine"]["errors"] == ["no file of count"]
    assert made["-Oz"]["output"] == "right"


def test_a_policy_that_is_never_asked_is_named(evaluated: Callable[..., ProgramResult]) -> None:
    made = evaluated(plan_of("-Oz", "const:0"), objects=("count/main.c",), libraries=(), runs=())
    assert made["warnings"] == ["const:0: was never asked"]
    assert (made["results"]["const:0"]["decisions"], made["results"]["const:0"]["agreed"]) == (0, 0)


def test_a_policy_that_is_not_repeatable_is_named(
    evaluated: Callable[..., ProgramResult], tmp_path: Path
) -> None:
    (tmp_path / "policy.py").write_text(
        "import os, tempfile\n\n\ndef decide(obs):\n    return 'PASSPILOT_LOG' in os.environ\n"
    )
    made = evaluated(plan_of("-Oz", f"python:{tmp_path}/policy.py:decide"))
    (warning,) = made["warnings"]
    assert warning == (
        f"python:{tmp_path}/policy.py:decide: count/work.c: two compilations made different objects, "
        "so the policy is not repeatable"
    )


def test_a_policy_that_fails_with_a_log_keeps_its_sizes(
    evaluated: Callable[..., ProgramResult], tmp_path: Path
) -> None:
    (tmp_path / "policy.py").write_text(
        "import os\n\n\ndef decide(obs):\n    if 'PASSPILOT_LOG' in os.environ:\n"
        "        raise ValueError('no log')\n    return True\n"
    )
    made = evaluated(plan_of(f"python:{tmp_path}/policy.py:decide"))
    (result,) = made["results"].values()
    (error,) = result["errors"]
    assert error.startswith("with a decision log: count/work.c: ")
    assert result["allocated"]
    assert result["decisions"] is None


def test_a_full_disk_is_an_error_of_the_first(corpus: Corpus, compiler: UnitCompiler) -> None:
    os.rmdir(compiler.scratch)
    plan = plan_of("-Oz", "-O2")
    made = ProgramEvaluation(plan, compiler, corpus.programs[0], corpus.units, lambda: None).run()
    errors = [each["errors"] for each in made["results"].values()]
    assert errors == [["expected room for temporary files, got: No such file or directory"], []]


def test_steps_are_compilations_links_and_runs() -> None:
    alone = CorpusProgram("p", "c", "cc", (), (("a", "b", "c"),))
    linked = replace(alone, objects=("d",))
    runs = replace(linked, runs=(ProgramRun(), ProgramRun()))
    plan = plan_of("-Oz", "const:0", rounds=4)
    assert ProgramEvaluation.steps(plan, alone) == 3 * 3
    assert ProgramEvaluation.steps(plan, linked) == 3 * 4 + 2
    assert ProgramEvaluation.steps(plan, runs) == 3 * 4 + 2 * (1 + 5)
    assert ProgramEvaluation.steps(replace(plan, runs=False), runs) == 3 * 4 + 2
    assert ProgramEvaluation.steps(replace(plan, logs=False), linked) == 2 * 4 + 2
