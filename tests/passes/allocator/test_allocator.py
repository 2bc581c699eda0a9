# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The advised allocator: correct with any answers, and the same behind both doors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import passpilot
from passpilot.features.log.reader import read_log
from passpilot.plugin.errors import AdviceError, PolicyError
from tests.corpus.programs import programs
from tests.passes.allocation.allocated import TRIPLES, driver_output, for_target, link, optimized, printed
from tests.passes.allocator.steps import (
    POINTS,
    advised_allocator,
    by_stock_llc,
    emitted_by,
    random_runners,
)
from tests.plugin.native.stock.tools import made

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any


def check_program(name: str, seed: int | None, folder: Path) -> None:
    """A program of the corpus prints what it should; without a seed, the defaults decide."""
    program = programs()[name]
    code = emitted_by(optimized(name), random_runners(seed) if seed is not None else {})
    assert driver_output(program, code, folder) == program.driver.stdout_sha256


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_small_program_stays_correct(seed: int | None, pressed: Path, tmp_path: Path) -> None:
    expected = printed(link(emitted_by(pressed, dict.fromkeys(POINTS, "default")), tmp_path))
    code = emitted_by(pressed, random_runners(seed) if seed is not None else {})
    assert printed(link(code, tmp_path)) == expected


@pytest.mark.parametrize("seed", [3, pytest.param(None, marks=pytest.mark.soak)])
def test_a_real_program_stays_correct(seed: int | None, tmp_path: Path) -> None:
    check_program("libsvm", seed, tmp_path)


@pytest.mark.parametrize("seed", [5, pytest.param(None, marks=pytest.mark.soak)])
def test_another_target_verifies(seed: int | None) -> None:
    runners = random_runners(seed) if seed is not None else {}
    assert emitted_by(for_target("picosat", "aarch64"), runners, triple=TRIPLES["aarch64"])


def test_asked_defaults_decide_as_unasked_ones(pressed: Path, tmp_path: Path) -> None:
    plain = emitted_by(pressed, {})
    assert emitted_by(pressed, dict.fromkeys(POINTS, "default"), tmp_path) == plain
    for point in POINTS:
        arrays = read_log(tmp_path / f"{point}.log").to_arrays()
        advice = passpilot.find_point(point).advice.name
        assert len(arrays[advice]) > 0
        assert (arrays[advice] == arrays[f"{advice}_default"]).all()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_to_ask_for_the_default_action_changes_no_colour(seed: int, pressed: Path) -> None:
    colour = {"ra-colour": f"random:{seed}"}
    assert emitted_by(pressed, {**colour, "ra-action": "default"}) == emitted_by(pressed, colour)


def test_a_log_replays(pressed: Path, tmp_path: Path) -> None:
    code = emitted_by(pressed, random_runners(7), tmp_path)
    again = {point: f"replay:{tmp_path / point}.log" for point in POINTS}
    assert emitted_by(pressed, again) == code
    assert code != emitted_by(pressed, {})


def test_stock_llc_and_clang_make_the_same(pressed: Path, tmp_path: Path) -> None:
    hosted = tmp_path / "hosted"
    hosted.mkdir()
    code = emitted_by(pressed, random_runners(9), hosted)
    asked = [f"-passpilot-{point}={runner}" for point, runner in random_runners(9).items()]
    logs = [f"-passpilot-log={point}={tmp_path / point}.log" for point in POINTS]
    assert by_stock_llc(pressed, tmp_path, *asked, *logs) == code
    for point in POINTS:
        assert (tmp_path / f"{point}.log").read_bytes() == (hosted / f"{point}.log").read_bytes()
    out = tmp_path / "clang.o"
    flags = [word for flag in ("-regalloc=advised", *asked) for word in ("-mllvm", flag)]
    clang = made("clang", out, "-O2", "-fPIC", "-c", *flags, pressed)
    assert printed(link(clang, tmp_path)) == printed(link(code, tmp_path))


def first_legal(obs: Any) -> int:
    """The first legal column; the context is the function's name."""
    assert obs.context in ("sums", "blend", "main")
    assert len(obs.site.columns) <= 32
    return int(obs["mask"][0].argmax())


@pytest.mark.parametrize("point", POINTS)
def test_each_agent_is_a_function(point: str, pressed: Path, tmp_path: Path) -> None:
    code = emitted_by(pressed, {point: first_legal}, tmp_path)
    decisions = read_log(tmp_path / f"{point}.log")
    masks = decisions.to_arrays()["mask"][:, 0]
    advice = decisions.to_arrays()[passpilot.find_point(point).advice.name][:, 0]
    assert (advice == masks.argmax(axis=1)).all()
    assert printed(link(code, tmp_path)) == printed(link(emitted_by(pressed, {}), tmp_path))


def test_a_site_shows_the_step(pressed: Path) -> None:
    seen: dict[str, object] = {}

    def order(obs: Any) -> int:
        site = obs.site
        assert [each.register for each in site.live_ranges] == site.columns
        seen["graph"] = passpilot.interference_graph(site.function).number_of_nodes()
        return 0

    def colour(obs: Any) -> object:
        seen["colour"] = obs.site.columns
        seen["range"] = obs.site.live_range.register_class
        return obs.default()

    emitted_by(pressed, {"ra-order": order, "ra-colour": colour})
    assert isinstance(seen["graph"], int)
    assert seen["graph"] > 0
    assert seen["range"]
    assert seen["colour"]


def test_the_graph_follows_every_step(pressed: Path) -> None:
    checked = 0

    def order(obs: Any) -> int:
        nonlocal checked
        function = obs.site.function
        graph = passpilot.interference_graph(function)
        if obs.site.ordinal % 20 == 0:
            _, _, nodes, _, edges = function.interference_afresh(by_pairs=True)
            assert {number: graph.nodes[number] for number, _ in nodes} == dict(nodes)
            assert {frozenset(edge) for edge in graph.edges} == {frozenset(edge) for edge in edges}
            checked += 1
        return 0

    emitted_by(pressed, {**random_runners(4), "ra-order": order})
    assert checked > 2


def test_a_forbidden_answer_names_the_decision(pressed: Path) -> None:
    told = r"ra-action advisor at decision \d+ \(function \w+, %\d+\): .*got column 0 \(assign\)"
    with pytest.raises(AdviceError, match=told):
        emitted_by(pressed, {"ra-action": lambda _: 0})


def test_an_exception_ends_the_compilation(pressed: Path) -> None:
    def fails(_: Any) -> int:
        raise ValueError("enough")

    with pytest.raises(PolicyError, match=r"ra-split advisor at decision 0.*enough"):
        emitted_by(pressed, {"ra-split": fails})


@pytest.mark.filterwarnings("error")
def test_another_allocator_asks_nobody(pressed: Path) -> None:
    with (
        passpilot.ColourAdvisor("random:1") as advisor,
        pytest.warns(passpilot.PasspilotWarning, match="-regalloc=advised is missing"),
    ):
        passpilot.emit(passpilot.Module.read(pressed), advisors=advisor)
    with advised_allocator(), passpilot.ColourAdvisor("random:1") as advisor:
        passpilot.emit(passpilot.Module.read(pressed), advisors=advisor)
        assert advisor.stats.decisions > 100


@pytest.mark.soak
@pytest.mark.timeout(36000)
@pytest.mark.parametrize("seed", [None, *range(20)])
@pytest.mark.parametrize("name", programs())
def test_every_program(name: str, seed: int | None, tmp_path: Path) -> None:
    check_program(name, seed, tmp_path)
