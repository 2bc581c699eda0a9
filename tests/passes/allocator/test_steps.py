# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Single steps of the advised allocator: what their tensors hold, what is legal, and what comes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import passpilot
from passpilot import AllocatorAction
from tests.features.llvm import scarce
from tests.passes.allocation.allocated import TRIPLES, pressure
from tests.passes.allocator.record import X86, source
from tests.passes.allocator.steps import POINTS, advised, advised_allocator, emitted_by, random_runners

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("point", ["ra-order", "ra-action"])
@pytest.mark.parametrize(
    ("text", "seed"),
    [(scarce.assembly_for_i386(5), 5), (scarce.assembly_for_i386(5), 0), (source("holes", X86), 6)],
)
def test_the_graph_is_current_at_every_question(point: str, text: bytes, seed: int) -> None:
    """Also of the ranges that the last step has assigned, evicted, split, spilled or shrunk."""
    compared = 0

    def look(obs: Any) -> int:
        nonlocal compared
        graph = passpilot.interference_graph(obs.site.function)
        _, _, nodes, _, edges = obs.site.function.interference_afresh(by_pairs=False)
        assert dict(graph.nodes.items()) == dict(nodes)
        assert {frozenset(edge) for edge in graph.edges} == {frozenset(edge) for edge in edges}
        compared += 1
        legal = obs["mask"][0].nonzero()[0]
        return int(legal[compared % len(legal)]) if seed else int(obs.default())

    advised(text, {**(random_runners(seed) if seed else {}), point: look})
    assert compared > 10


def instructions(live_range: Any, block: int | None = None) -> int:
    """How many instructions read or write it, in one block or in all."""
    return len({each.position for each in live_range.operands if block in (None, each.block)})


def test_columns_of_ra_order_describe_their_live_ranges() -> None:
    seen = 0

    def look(obs: Any) -> int:
        nonlocal seen
        for column, each in enumerate(obs.site.live_ranges):
            held = {name: obs[name][0, column] for name in ("size", "weight", "is_local", "instructions")}
            expected = {"size": each.size, "weight": pytest.approx(each.weight), "is_local": each.is_local}
            assert held == {**expected, "instructions": instructions(each)}
            seen += 1
        priorities = obs["priority"][0, : len(obs.site.columns)].tolist()
        assert priorities == sorted(priorities, reverse=True)
        assert obs["waiting"][0] >= len(priorities)
        return int(obs.default())

    advised(scarce.assembly_for_i386(5), {"ra-order": look})
    assert seen > 100


def test_regions_are_named_after_their_kind_and_first_block() -> None:
    names = set()

    def look(obs: Any) -> int:
        live_range = obs.site.live_range
        for column, name in enumerate(obs.site.columns):
            names.add(name)
            kind, block = name.split(":")
            assert kind == ("loop", "block", "register", "gap")[obs["kind"][0, column]]
            assert int(block) in live_range.blocks
            inside, everything = int(obs["instructions"][0, column]), instructions(live_range)
            if kind == "block":
                assert inside == instructions(live_range, int(block))
            elif kind == "gap":
                assert inside <= instructions(live_range, int(block))
            assert 0 < inside <= everything
        return int(obs.default())

    advised(source("sums", X86), {"ra-split": look})
    assert {name.partition(":")[0] for name in names} == {"loop", "block", "register", "gap"}
    assert len({name.partition(":")[2] for name in names}) > 4


def test_all_regions_are_columns_whoever_else_is_asked() -> None:
    columns: list[list[str]] = []

    def look(obs: Any) -> int:
        columns.append(list(obs.site.columns))
        return int(obs.default())

    advised(source("sums", X86), {"ra-split": look})
    alone, columns = columns, []
    advised(source("sums", X86), {"ra-split": look, "ra-action": lambda obs: int(obs.default())})
    assert alone == columns
    assert max(map(len, alone)) > 10


def test_a_class_of_more_than_32_registers_is_not_askable(tmp_path: Path) -> None:
    columns = set()

    def look(obs: Any) -> int:
        columns.add(len(obs.site.columns))
        return int(obs.default())

    wide = pressure("ppc64le", tmp_path, values=40)
    with passpilot.ColourAdvisor(look) as advisor, advised_allocator():
        module = passpilot.Module.read(wide, mtriple=TRIPLES["ppc64le"])
        asked = passpilot.emit(module, "asm", advisors=advisor)
        assert advisor.stats.not_askable > 0
    assert max(columns) <= 32
    assert asked == advised(wide.read_bytes(), {}, triple=TRIPLES["ppc64le"])


def wanted(obs: Any, action: AllocatorAction) -> int:
    """The action wherever it is legal."""
    return int(action) if obs["mask"][0, action] else int(obs.default())


def test_a_live_range_is_split_six_times_at_most() -> None:
    generations = set()

    def look(obs: Any) -> int:
        generation = int(obs["generation"][0])
        generations.add(generation)
        assert generation < 6 or not obs["mask"][0, AllocatorAction.SPLIT]
        return wanted(obs, AllocatorAction.SPLIT)

    advised(source("sums", X86), {"ra-action": look})
    assert generations == set(range(7))


@pytest.mark.filterwarnings("ignore:.*greedy allocator takes the function")
@pytest.mark.parametrize("number", [2, 3, 5, 6])
def test_what_nobody_reads_changes_nothing(number: int, tmp_path: Path) -> None:
    """The allocator leaves out what nobody reads; a log reads everything."""
    path = tmp_path / "narrow.ll"
    path.write_bytes(scarce.assembly_for_i386(number))
    plain = emitted_by(path, {})
    assert emitted_by(path, dict.fromkeys(POINTS, "default"), tmp_path) == plain
    for point, runner in random_runners(number).items():
        assert emitted_by(path, {point: runner}) == emitted_by(path, {point: runner}, tmp_path)
        assert emitted_by(path, {point: "default"}) == plain
