# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The result of an evaluation: what is written, what is resumed, the means, and what is no result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from passpilot.plugin.errors import InputError
from passpilot.training.corpus.layout import Corpus, CorpusProgram, CorpusUnit
from passpilot.training.evaluation.competitors import (
    BASELINES,
    OUTLINER,
    CompileWay,
    baseline,
    check_names,
)
from passpilot.training.evaluation.evaluate import programs_of
from passpilot.training.evaluation.results import check_result, ratio_of, read_result
from tests.training.evaluation.results import competitor, evaluation, program


def test_ratios_need_both_sides() -> None:
    row = program(
        "p",
        Oz=competitor(100, 10, 2.0, run=4.0),
        mine=competitor(50, 30, 1.0, run=1.0),
        none=competitor(),
        empty=competitor(0),
    )
    metrics = ("allocated", "objects", "compile", "run")
    assert [ratio_of(row, metric, "mine", "Oz") for metric in metrics] == [0.5, 3.0, 0.5, 0.25]
    for metric in metrics:
        assert ratio_of(row, metric, "none", "Oz") is None
        assert ratio_of(row, metric, "Oz", "none") is None
        assert ratio_of(row, metric, "absent", "Oz") is None
    assert ratio_of(row, "allocated", "empty", "Oz") is None
    assert ratio_of(row, "allocated", "Oz", "empty") is None


def test_a_summary_has_what_was_measured() -> None:
    made = evaluation(
        program("a", Oz=competitor(100, 10), O2=competitor(200), mine=competitor(50, 20)),
        program("b", Oz=competitor(100), O2=competitor(800), mine=competitor()),
    )
    found = made.summary("Oz")
    assert set(found) == {"allocated", "objects"}
    assert set(found["allocated"]) == {"O2", "mine"}
    assert found["allocated"]["O2"]["ratio"] == pytest.approx(4.0)
    assert (found["allocated"]["O2"]["programs"], found["allocated"]["mine"]["programs"]) == (2, 1)
    assert list(found["objects"]) == ["mine"]
    assert set(made.summary("O2")["allocated"]) == {"Oz", "mine"}


@pytest.mark.parametrize("complete", [False, True])
def test_a_result_is_written_whole(tmp_path: Path, *, complete: bool) -> None:
    made = evaluation(program("a", Oz=competitor(100), O2=competitor(200), mine=competitor(50)))
    made.write(str(tmp_path / "r.json"), complete=complete)
    assert (tmp_path / "r.json").read_bytes().endswith(b"}\n")
    raw = read_result(str(tmp_path / "r.json"))
    assert raw["complete"] is complete
    assert (raw["format"], raw["corpus"], raw["baselines"]) == ("passpilot eval 2", "/a_corpus", ["Oz", "O2"])
    assert raw["contenders"] == made.contenders
    assert raw["programs"] == made.programs
    assert raw["summary"] == {base: made.summary(base) for base in ("Oz", "O2")}


def test_programs_with_errors_are_done_again(tmp_path: Path) -> None:
    path = str(tmp_path / "r.json")
    good = program("good", Oz=competitor(1), mine=competitor(2))
    bad = [
        program("first", Oz=competitor(1, errors=("x",)), mine=competitor(2)),
        program("last", Oz=competitor(1), mine=competitor(2, errors=("x",))),
    ]
    evaluation(*bad, good).write(path, complete=True)
    again = evaluation()
    again.take_up(path)
    assert again.programs == [good]


@pytest.mark.parametrize("key", ["corpus", "compiler", "contenders"])
def test_another_evaluation_is_not_resumed(key: str, tmp_path: Path) -> None:
    path = str(tmp_path / "r.json")
    evaluation(policies=("other",) if key == "contenders" else ("mine",)).write(path, complete=True)
    made = evaluation()
    if key != "contenders":
        made.facts = {**made.facts, key: "another"}
    with pytest.raises(InputError) as caught:
        made.take_up(path)
    assert str(caught.value) == (
        f"eval: {path}: expected a result of the same evaluation to resume, got another {key}; "
        "choose another file, or leave out --resume"
    )


GOOD = {"format": "passpilot eval 2", "contenders": [], "baselines": [], "programs": []}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "expected a result of `passpilot eval`, got other JSON"),
        ({**GOOD, "format": "passpilot eval 1"}, "expected a result of `passpilot eval`, got other JSON"),
        ({**GOOD, "contenders": {}}, "contenders: expected an array, got dict"),
        ({**GOOD, "baselines": None}, "baselines: expected an array, got NoneType"),
        ({**GOOD, "programs": "x"}, "programs: expected an array, got str"),
        ({**GOOD, "programs": [1]}, "programs: expected objects with a name and results, got 1"),
        (
            {**GOOD, "programs": [{"name": "p"}]},
            "programs: expected objects with a name and results, got {'name': 'p'}",
        ),
        (
            {**GOOD, "programs": [{"results": {}}]},
            "programs: expected objects with a name and results, got {'results': {}}",
        ),
        (
            {**GOOD, "programs": [{"name": "p", "results": {}}, {"name": "q", "results": []}]},
            "programs: expected objects with a name and results, got {'name': 'q', 'results': []}",
        ),
        ({**GOOD, "contenders": ["x"]}, "contenders: expected objects with a name, got 'x'"),
        ({**GOOD, "contenders": [{"name": 1}]}, "contenders: expected objects with a name, got {'name': 1}"),
        (
            {**GOOD, "contenders": [{"name": "x"}, {"kind": "policy"}]},
            "contenders: expected objects with a name, got {'kind': 'policy'}",
        ),
    ],
)
def test_what_is_no_result(value: object, said: str) -> None:
    with pytest.raises(InputError) as caught:
        check_result("r", value)
    assert str(caught.value) == f"r: {said}"


def test_a_long_value_is_cut_in_the_error() -> None:
    with pytest.raises(InputError) as caught:
        check_result("r", {**GOOD, "programs": ["x" * 1000]})
    assert len(str(caught.value)) < 150


def test_a_result_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    expected = f"{path}: expected a result of `passpilot eval`, got"
    with pytest.raises(InputError) as caught:
        read_result(str(path))
    assert str(caught.value) == f"{expected}: No such file or directory"
    for text in ("{", "[" * 100_000):
        path.write_text(text)
        with pytest.raises(InputError) as caught:
            read_result(str(path))
        assert str(caught.value).startswith(f"{expected} other text: ")
    path.write_text(json.dumps({**GOOD, "programs": 1}))
    with pytest.raises(InputError, match="programs: expected an array, got int"):
        read_result(str(path))


def test_baselines_by_name() -> None:
    found = {}
    for name in ("-Oz", "Os", "-O1", "-O2", "-O3", "-Oz+outline", "O2+outline"):
        made = baseline(name)
        assert made
        assert (made.kind, made.points) == ("baseline", ())
        (found[made.name],) = made.ways("program")
    assert found == {
        "-Oz": CompileWay("Oz"),
        "-Os": CompileWay("Os"),
        "-O1": CompileWay("O1"),
        "-O2": CompileWay("O2"),
        "-O3": CompileWay("O3"),
        "-Oz+outline": CompileWay("Oz", OUTLINER),
        "-O2+outline": CompileWay("O2", OUTLINER),
    }
    assert all(baseline(name) for name in BASELINES)
    for name in ("-O0", "-Oz+", "-Oz+inline", "", "--Oz", "-Og"):
        assert baseline(name) is None, name


def test_names_must_differ() -> None:
    one, two = baseline("-Oz"), baseline("-Os")
    assert one
    assert two
    check_names([one, two])
    with pytest.raises(InputError, match="expected different policies, got '-Oz' twice"):
        check_names([one, two, one])


def test_the_programs_of_a_corpus(tmp_path: Path) -> None:
    units = {name: CorpusUnit(name, tmp_path, ()) for name in ("a.c", "b.cc", "c.cpp", "d.cxx", "e.C", "f.o")}
    made = [CorpusProgram(name, "c", "cc", ("a.c",)) for name in ("p", "q", "r")]
    corpus = Corpus(tmp_path, units, made)
    assert programs_of(corpus, []) == made
    assert programs_of(corpus, ["r", "p", "r"]) == [made[2], made[0]]
    with pytest.raises(InputError, match="eval: expected programs among p, q, r, got 'x'"):
        programs_of(corpus, ["p", "x", "y"])
    alone = programs_of(Corpus(tmp_path, units), [])
    assert [each.name for each in alone] == list(units)
    assert [each.language for each in alone] == ["c", "c++", "c++", "c++", "c++", "c"]
    assert {(each.objects, each.libraries) for each in alone} == {((), ((name,),)) for name in units}
    with pytest.raises(InputError, match=r"eval: expected modules in the corpus .*, got none"):
        programs_of(Corpus(tmp_path, {}), [])
