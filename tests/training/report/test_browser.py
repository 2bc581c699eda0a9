# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page in a headless Chromium: what is drawn, what keys and the mouse do, and whether all can read it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from passpilot.training.report.inputs import Report
from tests.training.report.chromium import Browser
from tests.training.report.samples import evaluation, search, write_log

pytestmark = pytest.mark.soak

WIDE, NARROW = 1400, 400
AXE = "axe-core@4.11.0"
"""The checker of accessibility, from npm."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser; Debian's chromium is installed if it is missing."""
    if not shutil.which("chromium"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            subprocess.run(["apt-get", "-qq", *command], check=True, env=environment, timeout=900)
    with Browser(tmp_path_factory.mktemp("profile")) as made:
        yield made


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages of the tests by name."""
    folder = tmp_path_factory.mktemp("pages")
    inputs: dict[str, list[Path]] = {}
    for name, programs in (("one", 1), ("ten", 10), ("hundred", 100)):
        path = folder / f"{name}.json"
        path.write_text(json.dumps(evaluation(programs)))
        inputs[name] = [path]
    searches = [folder / "first.json", folder / "second.json"]
    for number, path in enumerate(searches):
        path.write_text(json.dumps(search(40 + number, seed=number)))
    inputs |= {"searches": searches, "large": [write_log(folder / "large.log", 20_000, modules=4)]}
    inputs["runs"] = [write_log(folder / f"{number}.log", 400, seed=number) for number in (1, 2)]
    other = folder / "other.json"
    other.write_text(json.dumps(evaluation(10, seed=2)))
    inputs["evaluations"] = [*inputs["ten"], other]
    return {name: _written(folder / f"{name}.html", files) for name, files in inputs.items()}


def _written(path: Path, files: list[Path]) -> Path:
    report = Report(100_000)
    for file in files:
        report.add(str(file))
    path.write_bytes(report.to_html())
    return path


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core."""
    folder = tmp_path_factory.mktemp("axe")
    subprocess.run(
        ["npm", "install", "--silent", "--prefix", folder, AXE],
        check=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    return (folder / "node_modules/axe-core/axe.min.js").read_text()


STATE = "document.querySelector('#decisions [role=status]').textContent"
NAMES = ("one", "ten", "hundred", "searches", "large", "runs", "evaluations")


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("name", NAMES)
def test_a_page_fits_asks_for_nothing_and_runs_nothing_foreign(
    browser: Browser, pages: dict[str, Path], name: str, width: int
) -> None:
    browser.size(width, 900)
    browser.open(pages[name])
    browser.settle()
    assert browser.problems() == []
    assert browser.run("document.scripts.length") == 2, "a name has become a script"
    assert browser.run("document.documentElement.scrollWidth") == width
    sections = browser.run("document.querySelectorAll('main > section').length")
    assert browser.run("document.querySelectorAll('#nav a').length") == sections - 1


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["ten", "searches", "runs", "evaluations"])
def test_all_can_read_it(browser: Browser, pages: dict[str, Path], axe: str, name: str, dark: bool) -> None:
    browser.size(WIDE, 900, dark=dark)
    browser.open(pages[name])
    browser.run("document.querySelector('#decisions .grid-row')?.click()")
    browser.run(
        "document.querySelector('.graph .node rect')?.dispatchEvent(new Event('click', {bubbles: true}))"
    )
    browser.settle()
    browser.run(f"{axe}; 1")
    found = browser.run(
        "axe.run(document).then((made) => made.violations.map(({id, nodes}) =>"
        " [id, nodes.length, nodes[0].target.join(' '), nodes[0].failureSummary]))"
    )
    assert found == []


def test_twenty_thousand_decisions_are_a_few_elements(browser: Browser, pages: dict[str, Path]) -> None:
    browser.size(WIDE, 900)
    browser.open(pages["large"])
    grid = "document.querySelector('#decisions .grid')"
    assert browser.run(f"{grid}.getAttribute('aria-rowcount')") == "20001"
    assert 10 < browser.run(f"{grid}.querySelectorAll('.grid-row').length") < 60
    browser.run(f"{grid}.scrollTop = 1e9")
    browser.wait(f"{grid}.querySelector('.grid-row:last-child').textContent.startsWith('20,000')")
    assert browser.run(f"{grid}.querySelectorAll('.grid-row').length") < 60
    assert browser.run("document.querySelectorAll('.graph .node').length") <= 60


def test_the_table_filters_sorts_and_opens_by_keys(browser: Browser, pages: dict[str, Path]) -> None:
    browser.size(WIDE, 900)
    browser.open(pages["large"])
    field = "document.querySelector('#decisions input[type=search]')"
    grid = "document.querySelector('#decisions .grid')"
    browser.run(f"{field}.focus()")
    for letter in "is:unlike cost_estimate<20":
        browser.key(letter, letter)
    browser.wait(f"{grid}.getAttribute('aria-rowcount') < 2000")
    shown = int(browser.run(f"{grid}.getAttribute('aria-rowcount')")) - 1
    assert browser.run(STATE).startswith(f"{shown} of")
    assert browser.run(
        "document.querySelector('#decisions .choice [aria-pressed=true]').textContent"
    ).startswith("Unl")
    head = "[...document.querySelectorAll('#decisions .grid-head [role=columnheader]')]"
    browser.run(f"{head}.find((each) => each.textContent === 'cost_estimate').firstChild.click()")
    assert browser.run(f"{head}.find((each) => each.hasAttribute('aria-sort')).ariaSort") == "descending"
    cells = f"{grid}.querySelectorAll('.grid-row:first-child [role=gridcell]')"
    assert int(browser.run(f"[...{cells}].at(-2).textContent")) == 19
    browser.run(f"{grid}.focus()")
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"):
        browser.key(key)
    assert browser.run(f"{grid}.querySelector('[aria-selected=true]').getAttribute('aria-rowindex')") == "3"
    browser.key("Enter")
    detail = "document.querySelector('#decisions .detail')"
    assert browser.run(f"!{detail}.hidden && {detail}.querySelectorAll('.feature').length") == 38
    browser.run(f"{field}.value = 'no_such<3'; {field}.dispatchEvent(new Event('input'))")
    browser.wait(f"{field}.ariaInvalid === 'true'")
    assert "no column “no_such”" in browser.run(STATE)


def test_the_graph_zooms_pans_and_shows_a_function(browser: Browser, pages: dict[str, Path]) -> None:
    browser.size(WIDE, 900)
    browser.open(pages["runs"])
    browser.run("document.getElementById('calls').scrollIntoView({behavior: 'instant'})")
    browser.settle()
    layer = "document.querySelector('.graph > g').getAttribute('transform')"
    first = browser.run(layer)
    browser.run("document.querySelector('[aria-label=\"Zoom in\"]').click()")
    zoomed = browser.run(layer)
    assert zoomed != first
    browser.run("document.querySelector('.graph').focus()")
    browser.key("-")
    browser.key("ArrowLeft")
    moved = browser.run(layer)
    assert moved not in (first, zoomed)
    box = browser.run("(({x, y}) => [x, y])(document.querySelector('.graph').getBoundingClientRect())")
    x, y = box[0] + 5, box[1] + 5
    browser.mouse("mousePressed", x, y, button="left", clickCount=1)
    browser.mouse("mouseMoved", x + 40, y + 30, button="left", buttons=1)
    browser.mouse("mouseMoved", x + 60, y + 40, button="left", buttons=1)
    browser.mouse("mouseReleased", x + 60, y + 40, button="left", clickCount=1)
    assert browser.run(layer) != moved
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-100, modifiers=2)
    browser.key("0")
    browser.settle()
    assert browser.run(layer) == first, "0 fits the graph into the box again"
    browser.run("document.querySelector('.graph .node').focus()")
    browser.key("Enter")
    assert browser.run("document.querySelectorAll('.graph .node.chosen').length") == 1
    told = browser.run("document.querySelector('#calls .call-list').closest('.card').innerText")
    assert "inlined" in told
    buttons = "[...document.querySelectorAll('#calls .button')]"
    browser.run(f"{buttons}.find((each) => / in it/.test(each.textContent)).click()")
    assert browser.run("document.querySelector('#decisions input').value").startswith('caller="')


def test_two_runs_and_two_evaluations_can_be_chosen(browser: Browser, pages: dict[str, Path]) -> None:
    browser.size(WIDE, 900)
    browser.open(pages["runs"])
    assert browser.run("document.querySelector('#compared .grid, #compared .empty') !== null")
    flow = "[...document.querySelectorAll('#compared .flow b')].map((each) => each.textContent)"
    before = browser.run(flow)
    browser.run(
        "(() => { const menu = document.querySelector('#compared select'); menu.value = '1';"
        " menu.dispatchEvent(new Event('change')); })()"
    )
    assert browser.run(flow)[0] == "400", "a run and itself have all decisions in common"
    assert browser.run(flow) != before
    browser.open(pages["evaluations"])
    assert browser.run("document.querySelectorAll('#evaluations tbody tr').length") == 11


def test_the_measure_and_the_baseline_change_the_bars(browser: Browser, pages: dict[str, Path]) -> None:
    browser.size(WIDE, 900)
    browser.open(pages["ten"])
    means = "document.querySelector('#programs tr.total').innerText"
    seen = {browser.run(means)}
    for number in (1, 2, 3):
        browser.run(f"document.querySelectorAll('#programs .choice button')[{number}].click()")
        seen.add(browser.run(means))
    assert len(seen) == 4
    rows = "document.querySelectorAll('#programs tbody tr').length"
    assert browser.run(rows) == 11


def test_a_log_without_decisions_says_so(browser: Browser, tmp_path: Path) -> None:
    browser.size(WIDE, 900)
    browser.open(_written(tmp_path / "empty.html", [write_log(tmp_path / "empty.log", 0)]))
    assert "There is nothing to show" in browser.run("document.querySelector('main').innerText")
    assert browser.problems() == []


def test_a_hundred_programs_are_a_dozen_first(browser: Browser, pages: dict[str, Path]) -> None:
    browser.size(WIDE, 900)
    browser.open(pages["hundred"])
    rows = "document.querySelectorAll('#programs tbody tr').length"
    assert browser.run(rows) == 13
    browser.run("document.querySelector('#programs .more-rows').click()")
    assert browser.run(rows) == 101


def test_the_colours_follow_the_system_and_the_switch(browser: Browser, pages: dict[str, Path]) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    browser.size(WIDE, 900)
    browser.open(pages["one"])
    light = browser.run(colour)
    browser.size(WIDE, 900, dark=True)
    dark = browser.run(colour)
    assert dark != light
    theme = "document.getElementById('theme')"
    seen = []
    for _ in range(3):
        browser.run(f"{theme}.click()")
        seen.append((browser.run(f"{theme}.ariaLabel"), browser.run(colour)))
    assert seen == [("Colours: light", light), ("Colours: dark", dark), ("Colours: as the system", dark)]


def test_the_curve_tells_what_is_under_the_pointer(browser: Browser, pages: dict[str, Path]) -> None:
    browser.size(WIDE, 900)
    browser.open(pages["searches"])
    browser.run("document.getElementById('search').scrollIntoView({behavior: 'instant'})")
    browser.settle()
    x, y = browser.run(
        "(({x, y, width, height}) => [x + width / 2, y + height / 2])"
        "(document.querySelector('#search svg').getBoundingClientRect())"
    )
    browser.mouse("mouseMoved", x, y)
    told = browser.run("document.getElementById('tip').textContent")
    assert "first.json: " in told
    assert "second.json: " in told
    assert " compilations, " in told
