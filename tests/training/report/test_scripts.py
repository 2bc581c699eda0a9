# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page's scripts that need no browser, under Node.js."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from passpilot.training.report.document import PARTS, SCRIPTS, script_text


def node(expression: str) -> Any:
    """The value of a JavaScript expression in which the names of all scripts but the last are known."""
    assert SCRIPTS[-1] == "main.js", "it makes the elements of the page"
    scripts = "\n".join((PARTS / name).read_text() for name in SCRIPTS[:-1])
    code = f'"use strict";\n{scripts}\nconsole.log(JSON.stringify({expression}));'
    done = subprocess.run(["node", "-"], input=code, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_all_scripts_are_one_valid_script() -> None:
    assert set(SCRIPTS) == {str(path.relative_to(PARTS)) for path in PARTS.rglob("*.js")}
    done = subprocess.run(
        ["node", "--check", "-"], input=script_text(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


NUMBERS = {
    "change(0.94)": "6.0 % smaller",
    "change(1.004)": "0.40 % larger",
    "change(1)": "0.00 %",
    "change(null)": "–",
    "signed(-1234)": "−1,234",
    "signed(0)": "0",
    "share(0, 0)": "–",
    "figure(0.000012)": "1.20e-5",
    "figure(-3.14159)": "−3.142",
    "figure(-15)": "−15",
    "seconds(0.0213)": "21.3 ms",
    "seconds(300)": "5.0 min",
    "things(1, 'call') + things(2, 'call')": "1 call2 calls",
    "middle('abcdefghij', 5)": "abc…j",
}

NAMES = {
    "luaV_execute": "luaV_execute",
    "re2::Prog::Optimize()": "Prog::Optimize",
    "void std::vector<int, std::allocator<int> >::push_back(int const&)": "vector<…>::push_back",
    "(anonymous namespace)::walk(Node*)": "walk",
    "a::B::operator()(int) const": "B::operator()",
    "a::B::operator<(a::B const&) const": "B::operator<",
    "bool a::operator==<int>(int)": "a::operator==<…>",
    "</script><script>": "</script><script>",
    "std::ostream& operator<< <char>(std::ostream&, char)": "operator<< <…>",
}


def test_numbers_as_people_read_them() -> None:
    assert node(f"[{', '.join(NUMBERS)}]") == list(NUMBERS.values())


def test_short_names_of_functions() -> None:
    assert node(f"{json.dumps(list(NAMES))}.map(brief)") == list(NAMES.values())


def test_ticks_are_round_and_inside() -> None:
    assert node("vendor.scaleLinear([0, 97], [0, 1]).ticks(5)") == [0, 20, 40, 60, 80]
    assert node("vendor.scaleLinear([-5.2, 7.9], [0, 1]).ticks(3)") == [-5, 0, 5]


QUERY = """((text) => {
  const rows = [["alpha", 3], ["Beta", 30], ["gamma", null]];
  const name = { key: "callee", kind: "text", value: (row) => rows[row][0], text: (row) => rows[row][0] };
  const cost = { key: "cost_estimate", kind: "number", value: (row) => rows[row][1], text: () => "" };
  const query = compileQuery(text, [name, cost], { odd: (row) => row === 1 });
  return query.error || [0, 1, 2].filter(query.test);
})"""


FILTERS: dict[str, object] = {
    "": [0, 1, 2],
    "b": [1],
    "callee:A": [0, 1, 2],
    "callee=beta": [1],
    "callee!=beta": [0, 2],
    "-callee:beta": [0, 2],
    "cost_estimate<30": [0],
    "cost_estimate>=3 -alpha": [1],
    "is:odd": [1],
    "-is:odd": [0, 2],
    '"et"': [1],
    "is:toString": "is: takes odd; got “tostring”",
    "cost_estimat<3": "there is no column “cost_estimat”; did you mean “cost_estimate”?",
    "cost_estimate<x": "“cost_estimate” is compared with a number: cost_estimate<50",
    "callee<3": "“callee” is a text: use callee:word or callee=word",
}


def test_the_filter() -> None:
    assert node(f"{json.dumps(list(FILTERS))}.map({QUERY})") == list(FILTERS.values())


def test_a_treemap_fills_its_box_without_overlaps() -> None:
    sizes = [6000, 1125, 822, 558, 500, 400, 100, 99, 3, 1]
    placed = node(f"treemapCells({sizes[::-1]}, (size) => size, 400, 300)")
    assert [each["item"] for each in placed] == sizes, "the largest comes first"
    for each in placed:
        assert each["width"] * each["height"] == pytest.approx(each["item"] * 120000 / sum(sizes))
        assert -1e-6 <= each["x"] <= 400 - each["width"] + 1e-6
        assert -1e-6 <= each["y"] <= 300 - each["height"] + 1e-6
    middles = [(each["x"] + each["width"] / 2, each["y"] + each["height"] / 2) for each in placed]
    for x, y in middles:
        holders = [
            each
            for each in placed
            if each["x"] < x < each["x"] + each["width"] and each["y"] < y < each["y"] + each["height"]
        ]
        assert len(holders) == 1
    assert node("treemapCells([], (size) => size, 10, 10)") == []


def test_a_graph_is_laid_out_from_callers_to_callees() -> None:
    # 0 calls 1 and 2, both call 3; 3 calls 0 again, 4 calls itself, 0 calls 3 past a layer
    laid = node("layOut(5, [[0, 1], [0, 2], [1, 3], [2, 3], [3, 0], [4, 4], [0, 3]])")
    x = [place["x"] for place in laid["places"]]
    assert x[0] < x[1] == x[2] < x[3]
    boxes = {(place["x"], round(place["y"])) for place in laid["places"]}
    assert len(boxes) == 5
    assert laid["routes"][5] == [], "a call of itself is drawn as a loop"
    assert len(laid["routes"][6]) == 4, "an edge over a layer passes through a place of its own"
    assert laid["routes"][4][0] == [x[3], laid["places"][3]["y"]], "an edge back leaves on the left"
    assert node("layOut(0, [])")["places"] == []


RUNS = """(() => {
  const strings = ["", "f", "g", "h", "inline", "no"];
  const raw = (callees, advice) => {
    const size = callees.length;
    const columns = [{ key: "caller", kind: "text", values: 1, size },
      { key: "callee", kind: "text", values: callees },
      { key: "default", kind: "word", values: 5, size }, { key: "advice", kind: "word", values: advice }];
    const words = { whose: "LLVM", idle: "no", done: "inlined" };
    return { name: "r", point: "inline", site: "call", ...words, total: size, size, columns };
  };
  const first = new Run(raw([2, 2, 3], [4, 5, 4]), strings, (name) => name);
  const second = new Run(raw([2, 2, 2], [4, 4, 4]), strings, (name) => name);
  return WHAT;
})()"""


def test_two_runs_are_joined_by_place_and_number() -> None:
    joined = node(RUNS.replace("WHAT", "joinRuns(first, second)"))
    assert joined == {"common": 2, "onlyFirst": 1, "onlySecond": 1, "different": [[1, 1]]}


def test_effects_in_words() -> None:
    assert node(RUNS.replace("WHAT", "[0, 1].map((row) => first.effect(row))")) == [
        "inlined anyway",
        "as LLVM",
    ]


def test_the_call_graph_and_a_part_of_it() -> None:
    graph = node(RUNS.replace("WHAT", "callGraph(first, [0, 1, 2]).edges"))
    assert graph == [
        {"from": "f", "to": "g", "inlined": 1, "refused": 1, "unlike": 1},
        {"from": "f", "to": "h", "inlined": 1, "refused": 0, "unlike": 1},
    ]
    part = node(RUNS.replace("WHAT", 'neighbourhood(callGraph(first, [0, 1, 2]), "h", 1, 9, "all").names'))
    assert part == ["h", "f"]
    refused = node(
        RUNS.replace("WHAT", 'neighbourhood(callGraph(first, [0, 1, 2]), "", 1, 9, "refused").names')
    )
    assert refused == ["f", "g"]


def test_a_thousand_functions_are_laid_out_at_once() -> None:
    """The layout is not worse than quadratic: 400 functions and 900 calls take a moment."""
    edges = [[number % 400, (number * 7 + 3) % 400] for number in range(900)]
    laid = node(f"layOut(400, {edges}).places.length")
    assert laid == 400
