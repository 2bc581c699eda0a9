# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page in a headless Chromium: what is drawn, what keys and the mouse do, and whether all can read it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, FloatRect, Locator, Page, expect, sync_playwright

from passpilot.training.report.inputs import Report
from tests.training.report.samples import evaluation, search, write_log

pytestmark = pytest.mark.soak

FLAGS: Final = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--hide-scrollbars",
    "--no-first-run",
    "--no-sandbox",
)
WIDE, NARROW = 1400, 400
AXE = "axe-core@4.11.0"
"""The checker of accessibility, from npm."""

Open = Callable[..., Page]
"""`open_page(path, width=WIDE, dark=False)`: the page in `path`, once its data is shown."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser; Debian's chromium is installed if it is missing."""
    if not shutil.which("chromium"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            subprocess.run(["apt-get", "-qq", *command], check=True, env=environment, timeout=900)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Opens pages; after the test, none of them may have had an error, or a request to anything but files."""
    problems: list[str] = []
    pages: list[Page] = []

    def open_page(path: Path, width: int = WIDE, *, dark: bool = False) -> Page:
        page = browser.new_page(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            is_mobile=width < 600,
        )
        pages.append(page)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console",
            lambda message: problems.append(message.text) if message.type in ("error", "warning") else None,
        )
        local = ("file:", "data:", "blob:", "about:")
        page.on(
            "request",
            lambda request: None if request.url.startswith(local) else problems.append(request.url),
        )
        page.goto(path.as_uri())
        page.wait_for_selector("#state", state="detached")
        drawn(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert problems == []


def drawn(page: Page) -> None:
    """Wait until the page has been drawn."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")


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


NAMES = ("one", "ten", "hundred", "searches", "large", "runs", "evaluations")


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("name", NAMES)
def test_a_page_fits_asks_for_nothing_and_runs_nothing_foreign(
    open_page: Open, pages: dict[str, Path], name: str, width: int
) -> None:
    page = open_page(pages[name], width)
    assert page.evaluate("document.scripts.length") == 2, "a name has become a script"
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator("#nav a").count() == page.locator("main > section").count() - 1


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["ten", "searches", "runs", "evaluations"])
def test_all_can_read_it(open_page: Open, pages: dict[str, Path], axe: str, name: str, dark: bool) -> None:
    page = open_page(pages[name], dark=dark)
    for part in ("#decisions .grid-row", ".graph .node rect"):
        for element in page.locator(part).all()[:1]:
            element.dispatch_event("click")
    drawn(page)
    page.evaluate(f"{axe}; 1")
    found = page.evaluate(
        "axe.run(document).then((made) => made.violations.map(({id, nodes}) =>"
        " [id, nodes.length, nodes[0].target.join(' '), nodes[0].failureSummary]))"
    )
    assert found == []


def test_twenty_thousand_decisions_are_a_few_elements(open_page: Open, pages: dict[str, Path]) -> None:
    page = open_page(pages["large"])
    grid = page.locator("#decisions .grid")
    rows = grid.locator(".grid-row")
    expect(grid).to_have_attribute("aria-rowcount", "20001")
    assert 10 < rows.count() < 60
    grid.evaluate("(grid) => { grid.scrollTop = 1e9; }")
    expect(rows.last).to_contain_text("20,000")
    assert rows.count() < 60
    assert 0 < page.locator(".graph .node").count() <= 60


def test_the_table_filters_sorts_and_opens_by_keys(open_page: Open, pages: dict[str, Path]) -> None:
    page = open_page(pages["large"])
    field, grid = page.locator("#decisions input[type=search]"), page.locator("#decisions .grid")
    state = page.locator("#decisions [role=status]")
    field.focus()
    page.keyboard.type("is:unlike cost_estimate<20")
    expect(grid).not_to_have_attribute("aria-rowcount", "20001")
    expect(page.locator("#decisions .choice [aria-pressed=true]")).to_have_text("Unlike the default")
    head = grid.get_by_role("columnheader").filter(has_text=re.compile(r"^\s*cost_estimate\s*$"))
    head.locator("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(grid.locator(".grid-row").first.get_by_role("gridcell").nth(-2)).to_have_text("19")
    shown = int(grid.get_attribute("aria-rowcount") or 0) - 1
    assert 0 < shown < 2000
    assert state.inner_text().startswith(f"{shown} of")
    grid.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    expect(grid.locator("[aria-selected=true]")).to_have_attribute("aria-rowindex", "3")
    page.keyboard.press("Enter")
    expect(page.locator("#decisions .detail .feature")).to_have_count(38)
    field.fill("no_such<3")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(state).to_contain_text("no column “no_such”")


def test_the_graph_zooms_pans_and_shows_a_function(open_page: Open, pages: dict[str, Path]) -> None:
    page = open_page(pages["runs"])
    graph = page.locator(".graph")
    graph.scroll_into_view_if_needed()
    drawn(page)

    def place() -> str | None:
        return graph.locator("> g").get_attribute("transform")

    first = place()
    page.get_by_label("Zoom in").click()
    zoomed = place()
    assert zoomed != first
    graph.focus()
    page.keyboard.press("-")
    page.keyboard.press("ArrowLeft")
    moved = place()
    assert moved not in (first, zoomed)
    box = _box(graph)
    x, y = box["x"] + 5, box["y"] + 5
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 40, steps=2)
    page.mouse.up()
    dragged = place()
    assert dragged != moved
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    expect(graph.locator("> g")).not_to_have_attribute("transform", str(dragged))
    page.keyboard.press("0")
    drawn(page)
    assert place() == first, "0 fits the graph into the box again"
    graph.locator(".node").first.focus()
    page.keyboard.press("Enter")
    expect(graph.locator(".node.chosen")).to_have_count(1)
    expect(page.locator("#calls .two")).to_contain_text("inlined")
    page.locator("#calls .button", has_text=" in it").click()
    drawn(page)
    assert page.locator("#decisions input[type=search]").input_value().startswith('caller="')
    expect(page.locator("#decisions input[type=search]")).to_be_focused()


def _box(element: Locator) -> FloatRect:
    box = element.bounding_box()
    assert box
    return box


def test_two_runs_and_two_evaluations_can_be_chosen(open_page: Open, pages: dict[str, Path]) -> None:
    page = open_page(pages["runs"])
    expect(page.locator("#compared :is(.grid, .empty)")).to_have_count(1)
    flow = page.locator("#compared .flow b")
    before = flow.all_inner_texts()
    page.locator("#compared select").first.select_option(index=1)
    expect(flow.first).to_have_text("400")  # a run and itself have all decisions in common
    assert flow.all_inner_texts() != before
    page = open_page(pages["evaluations"])
    expect(page.locator("#evaluations tbody tr")).to_have_count(11)
    mean = page.locator("#evaluations tr.total").inner_text()
    page.locator("#evaluations select").nth(1).select_option(index=0)
    expect(page.locator("#evaluations tr.total")).not_to_have_text(mean)


def test_the_measure_and_the_baseline_change_the_bars(open_page: Open, pages: dict[str, Path]) -> None:
    page = open_page(pages["ten"])
    total = page.locator("#programs tr.total")
    seen = {total.inner_text()}
    for number in (1, 2, 3):
        page.locator("#programs .choice button").nth(number).click()
        seen.add(total.inner_text())
    assert len(seen) == 4
    expect(page.locator("#programs tbody tr")).to_have_count(11)
    page.locator("#programs select").select_option(index=2)
    assert total.inner_text() not in seen


def test_a_treemap_shows_sizes_to_the_pointer_and_the_keys(open_page: Open, pages: dict[str, Path]) -> None:
    page = open_page(pages["ten"])
    before, after = page.locator("#bytes .map").first, page.locator("#bytes .map").last
    cell = before.locator("button:not(.gone)").nth(1)
    cell.hover()
    expect(page.locator("#tip")).to_contain_text(" → ")
    expect(page.locator("#tip")).to_contain_text(cell.locator("span").first.inner_text())
    at = cell.get_attribute("data-at")
    expect(after.locator(".lit")).to_have_attribute("data-at", str(at))
    before.locator("button").first.focus()
    page.keyboard.press("ArrowRight")
    expect(before.locator("button").nth(1)).to_be_focused()
    expect(before.locator("[tabindex='0']")).to_have_count(1)


def test_a_log_without_decisions_says_so(open_page: Open, tmp_path: Path) -> None:
    page = open_page(_written(tmp_path / "empty.html", [write_log(tmp_path / "empty.log", 0)]))
    expect(page.locator("main")).to_contain_text("There is nothing to show")


def test_a_hundred_programs_are_a_dozen_first(open_page: Open, pages: dict[str, Path]) -> None:
    page = open_page(pages["hundred"])
    rows = page.locator("#programs tbody tr")
    expect(rows).to_have_count(13)
    page.locator("#programs .more-rows").click()
    expect(rows).to_have_count(101)


def test_the_colours_follow_the_system_and_the_switch(open_page: Open, pages: dict[str, Path]) -> None:
    page = open_page(pages["one"])

    def colour() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    light = colour()
    page.emulate_media(color_scheme="dark")
    dark = colour()
    assert dark != light
    seen = []
    for _ in range(3):
        page.locator("#theme").click()
        seen.append((page.locator("#theme").get_attribute("aria-label"), colour()))
    assert seen == [("Colours: light", light), ("Colours: dark", dark), ("Colours: as the system", dark)]


def test_the_curve_tells_what_is_under_the_pointer(open_page: Open, pages: dict[str, Path]) -> None:
    page = open_page(pages["searches"])
    page.locator("#search svg").hover()
    expect(page.locator("#tip")).to_contain_text("first.json: ")
    expect(page.locator("#tip")).to_contain_text("second.json: ")
    expect(page.locator("#tip")).to_contain_text(" compilations, ")
