# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Report`: what of logs and results reaches the page, and that the page is safe and complete."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from passpilot.passes.llvm_advisors import EvictAdvisor
from passpilot.plugin.errors import Error
from passpilot.training.report.inputs import Report
from passpilot.training.report.names import demangled
from passpilot.training.tuning.decision_file import CallKey, UnitDecisions, write_decisions
from tests.command import passpilot as command
from tests.passes.allocation.pressure import allocated, compiled
from tests.training.report.samples import HOSTILE, evaluation, search, write_log
from tests.training.tuning.units import modules

MANY = 1_000_000


def data_of(page: bytes) -> Any:
    """The data in a page."""
    found = re.search(rb'<script type="application/octet-stream" id="data">([A-Za-z0-9+/=]+)</script>', page)
    assert found
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


def reported(*files: Path, limit: int = MANY) -> Any:
    """The data of the page about these files."""
    report = Report(limit)
    for file in files:
        report.add(str(file))
    return data_of(report.to_html())


def column(run: Any, key: str) -> list[Any]:
    """The values of a column of a run."""
    (found,) = (each for each in run["columns"] if each["key"] == key)
    values = found["values"]
    return values if isinstance(values, list) else [values] * found["size"]


def test_a_page_is_complete_and_nothing_in_it_is_html(tmp_path: Path) -> None:
    report = Report(MANY)
    report.add(str(write_log(tmp_path / f"{HOSTILE.replace('/', '')}.log", 50)))
    report.add_result("r", evaluation(2))
    page = report.to_html(f"{HOSTILE} & more")
    text = page.decode()
    assert "alert(1)" not in text.replace("&lt;script&gt;alert(1)&lt;", "")
    assert text.count("<script") == text.count("</script>") == 2
    assert not re.search(r"""(?:src|href|url)\s*[=(]\s*["']?https?:""", text)
    assert HOSTILE in data_of(page)["strings"]


def test_the_policy_allows_the_pages_own_script_and_style_only(tmp_path: Path) -> None:
    report = Report(MANY)
    report.add(str(write_log(tmp_path / "a.log", 5)))
    text = report.to_html().decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert policy[1].endswith("; base-uri 'none'")
    assert policy[1].count(";") == 3
    for tag, body in re.findall(r"<(script|style)>(.*?)</\1>", text, re.DOTALL):
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]


def test_the_same_inputs_make_the_same_bytes(tmp_path: Path) -> None:
    log = write_log(tmp_path / "a.log", 40)
    pages = []
    for _ in range(2):
        report = Report(MANY)
        report.add(str(log))
        pages.append(report.to_html())
    assert pages[0] == pages[1]


def test_the_decisions_of_a_log(tmp_path: Path) -> None:
    data = reported(write_log(tmp_path / "a.log", 60, modules=2))
    (run,) = data["runs"]
    assert (run["point"], run["site"], run["whose"], run["done"]) == ("inline", "call", "LLVM", "inlined")
    assert (run["total"], run["size"]) == (60, 60)
    assert [each["name"] for each in run["tallies"]] == ["src/module0.c", "src/module1.c"]
    words = [data["strings"][each] for each in column(run, "advice")]
    assert set(words) == {"no", "inline"}
    assert sum(each["done"] for each in run["tallies"]) == words.count("inline")
    defaults = column(run, "default")
    unlike = sum(own != other for own, other in zip(column(run, "advice"), defaults, strict=True))
    assert sum(each["unlike"] for each in run["tallies"]) == unlike
    cost = next(each for each in run["columns"] if each["key"] == "cost_estimate")
    assert cost["feature"] is True
    assert "inline cost" in cost["doc"]


def test_evictions_have_registers_and_the_chosen_columns(tmp_path: Path) -> None:
    log = tmp_path / "evict.log"
    allocated(compiled(tmp_path), EvictAdvisor("random:3", log=str(log)))
    data = reported(log)
    (run,) = data["runs"]
    assert (run["point"], run["site"], run["done"]) == ("evict", "register", "evicted")
    advice = [data["strings"][each] for each in column(run, "advice")]
    assert "keep" in advice
    assert any(re.fullmatch(r"[er][a-z0-9]{2,3}|r\d+d?", each) for each in advice)
    assert set(column(run, "mask@advice")) == {1}, "the advice is legal"
    pairs = zip(column(run, "advice"), column(run, "default"), strict=True)
    (tally,) = run["tallies"]
    assert (tally["name"], tally["total"]) == ("", len(advice))
    assert tally["done"] == sum(each != "keep" for each in advice)
    assert tally["unlike"] == sum(own != other for own, other in pairs)


def test_a_limit_keeps_the_first_decisions_and_counts_all(tmp_path: Path) -> None:
    (run,) = reported(write_log(tmp_path / "a.log", 3000), limit=100)["runs"]
    assert (run["total"], run["size"], run["tallies"][0]["total"]) == (3000, 100, 3000)
    assert len(column(run, "cost_estimate")) == 100


def test_logs_of_the_same_modules_are_different_runs(tmp_path: Path) -> None:
    first, second = write_log(tmp_path / "a.log", 20, seed=1), write_log(tmp_path / "b.log", 20, seed=2)
    assert [run["name"] for run in reported(first, second)["runs"]] == ["a.log", "b.log"]


def test_logs_of_different_modules_are_one_run(tmp_path: Path) -> None:
    one, more = write_log(tmp_path / "one.log", 20, modules=1), tmp_path / "more.log"
    more.write_bytes(write_log(tmp_path / "x", 20).read_bytes().replace(b"module0", b"other00"))
    (run,) = reported(one, more)["runs"]
    assert run["total"] == 40
    assert [each["name"] for each in run["tallies"]] == [
        "one.log · src/module0.c",
        "more.log · src/other00.c",
    ]


def test_a_folder_is_one_run_for_each_point(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    write_log(folder / "a.log", 10)
    write_log(folder / "b.log", 10)
    (run,) = reported(folder)["runs"]
    assert (run["name"], run["total"], len(run["tallies"])) == ("logs", 20, 2)


def test_a_decision_file(tmp_path: Path) -> None:
    path = tmp_path / "p.decisions"
    calls = {CallKey("main", "f", 2): False, CallKey("main", "g", 1): True}
    units = [
        UnitDecisions(
            "a.c",
            calls,
            "mergefunc",
            ["disable-lsr"],
            notes=[".text 500 -> 450 bytes, 2 of 9 calls"],
        ),
        UnitDecisions("b.c"),
    ]
    write_decisions(str(path), units, [".text 900 -> 850 bytes"])
    data = reported(path)
    (run,), (tuned,) = data["runs"], data["tunes"]
    assert [data["strings"][each] for each in column(run, "advice")] == ["no", "inline"]
    assert [data["strings"][each] for each in column(run, "default")] == ["inline", "no"]
    assert column(run, "number") == [2, 1]
    assert (tuned["start"], tuned["text"], tuned["curve"]) == (900, 850, [])
    assert tuned["units"][0] == {
        "name": "a.c", "start": 500, "text": 450, "calls": 2, "pipeline": "mergefunc",
        "options": "disable-lsr",
    }  # fmt: skip
    assert "start" not in tuned["units"][1]


def test_the_result_of_a_search(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(search(12)))
    data = reported(path)
    (tuned,), (sizes,) = data["tunes"], data["sizes"]
    assert len(tuned["curve"]) == 12
    assert len(tuned["units"]) == 33
    at = sizes["names"].index("outlined")
    assert (sizes["functions"]["before"][at], sizes["functions"]["after"][at]) == (0, 4000)
    assert sizes["rest"] == [0, 0]


def test_units_of_a_search_and_its_decision_file_are_shown_once(tmp_path: Path) -> None:
    module, path = modules(tmp_path)[0], tmp_path / "p.decisions"
    done = command("tune", module, "--compiles=24", "--result=p.json", "-o", path, cwd=tmp_path)
    assert done.code == 0, done.err
    (alone,) = reported(tmp_path / "p.json")["tunes"]
    (unit,) = alone["units"]
    assert 0 < unit["text"] < unit["start"]
    assert unit["calls"] > 0
    for inputs in ((path, tmp_path / "p.json"), (tmp_path / "p.json", path)):
        assert [each["units"] for each in reported(*inputs)["tunes"]] == [[unit], []]


def test_mangled_names_are_shown_demangled(tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    path.write_text(json.dumps(evaluation(1)))
    assert reported(path)["demangled"]["_ZN5prog03runEi"] == "prog0::run(int)"
    assert demangled(["_ZN1a1bEv.cold", "_Zwrong", "main"]) == {"_ZN1a1bEv.cold": "a::b() [.cold]"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("text.html", "<html>", "expected a decision log, a decision file, .*, got other text"),
        ("list.json", "[1]", "got JSON of another kind"),
        ("other.json", '{"a": 1}', "got JSON with a"),
        ("nan.json", '{"curve": NaN}', "got other text"),
        ("curve.json", '{"curve": [[1, 2]], "start": 1, "text": 1}', "without its curve and sizes"),
        ("eval.json", '{"format": "passpilot eval 2"}', "contenders: expected an array, got NoneType"),
        ("program.json",
         '{"format": "passpilot eval 2", "contenders": [], "baselines": [], "programs": [{}]}',
         "programs: expected objects with a name and results"),
        ("cost.json", '{"functions": [{"name": "f"}]}', "expected the report of `passpilot llc --report`"),
        ("cut.log",
         '{"features":[{"name":"x","type":"int64_t","port":0,"shape":[1]}]}\n{"context":"m"}\n{"obser',
         "was the writer interrupted"),
        ("broken.decisions", "passpilot decisions 1\nnonsense\n", "expected a decision"),
    ],
)  # fmt: skip
def test_a_file_of_no_known_kind_is_one_clear_error(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(Error, match=message):
        Report(MANY).add(str(tmp_path / name))


def test_an_empty_folder_and_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(Error, match=r"expected a folder with logs, got no file \*\.log in it"):
        Report(MANY).add(str(tmp_path))
    with pytest.raises(Error, match="No such file"):
        Report(MANY).add(str(tmp_path / "none.log"))
