# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every tensor of the register allocator is LLVM's own, and the views agree (see docs/allocation.md)."""

from __future__ import annotations

import math
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import passpilot
from passpilot.features.llvm.evict import DO_NOT_EVICT
from passpilot.features.point import find_point
from tests.passes import interactive
from tests.passes.allocation.allocated import emitted, for_target, optimized, retargeted
from tests.passes.interactive import Tensors


class Evict:
    """Some legal column or other, by a count of its own: the same wherever it is asked the same."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Tensors]] = []
        self.answers = 0

    def choose(self, tensors: Any) -> np.generic:
        legal = np.flatnonzero(tensors["mask"][0])
        self.answers += 1
        chosen: np.generic = legal[self.answers * 7 % len(legal)]
        return chosen

    def decide(self, obs: Any) -> object:
        self.asked.append((obs.context, {name: tensor.copy() for name, tensor in obs.items()}))
        return self.choose(obs)


def rank(tensors: Any) -> np.generic:
    """A priority that a float32 can hold."""
    priority: np.generic = np.float32(tensors["li_size"][0] % 4096 + tensors["stage"][0])
    return priority


class Priority:
    def __init__(self) -> None:
        self.asked: list[tuple[str, Tensors]] = []

    def decide(self, obs: Any) -> object:
        self.asked.append((obs.context, {name: tensor.copy() for name, tensor in obs.items()}))
        return rank(obs)


def same(ours: list[tuple[str, Tensors]], llvms: list[tuple[str, Tensors]]) -> None:
    assert len(ours) == len(llvms) > 0
    for number, ((context, tensors), (their_context, theirs)) in enumerate(zip(ours, llvms, strict=True)):
        assert context == their_context
        assert list(tensors) == list(theirs)
        for name, tensor in tensors.items():
            assert tensor.tobytes() == theirs[name].tobytes(), (number, context, name)


@pytest.mark.parametrize(
    ("unit", "target"),
    [
        ("parser.c", "x86-64"),
        ("scanner.c", "aarch64"),
        pytest.param("whole", "x86-64", marks=pytest.mark.soak),
        pytest.param("whole", "aarch64", marks=pytest.mark.soak),
        pytest.param("whole", "riscv64", marks=pytest.mark.soak),
        pytest.param("whole", "ppc64le", marks=pytest.mark.soak),
    ],
)
def test_stock_llc_asks_the_same_and_writes_the_same(unit: str, target: str, tmp_path: Path) -> None:
    source = retargeted(optimized("libyaml", unit), target)
    flags = ["-relocation-model=pic"]
    expected, evictions, priorities = interactive.allocation(source, flags, tmp_path, Evict().choose, rank)
    evict, priority = Evict(), Priority()
    advisors = [passpilot.EvictAdvisor(evict, eviction_limit=0), passpilot.PriorityAdvisor(priority)]
    assert emitted(source, advisors) == expected
    same(evict.asked, evictions.questions)
    same(priority.asked, priorities.questions)
    for point, channel in (("evict", evictions), ("priority", priorities)):
        rows = find_point(point).features[: len(channel.specs)]
        assert [spec.to_json() for spec in rows] == channel.specs


def normalized(values: list[float]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """As LLVM does it: by the largest of the 33."""
    array = np.asarray(values, np.float32)
    return array / (array.max() or np.float32(1))


def in_instructions(ranges: list[Any]) -> list[tuple[bool, bool, float]]:
    """Whether each instruction of the ranges reads and writes, and its frequency."""
    found: list[tuple[bool, bool, float]] = []
    for each in ranges:
        own: dict[int, tuple[bool, bool, float]] = {}
        for operand in each.operands:
            if operand.opcode != "IMPLICIT_DEF":
                reads, writes, _ = own.get(operand.position, (False, False, 0.0))
                own[operand.position] = (reads | operand.is_use, writes | operand.is_def, operand.frequency)
        found += own.values()
    return found


def entries(each: Any) -> int:
    """As LLVM walks the use list: an instruction once for its operands in a row."""
    positions = [operand.position for operand in each.operands]
    return sum(a != b for a, b in zip(positions, [None, *positions], strict=False))


def counted(site: Any) -> dict[str, list[Any]]:
    """What the tensors should hold, from the views alone."""
    rows: dict[str, list[Any]] = {}
    for column in [*site.columns, None]:
        # LLVM counts a live range once per register unit in which it interferes.
        ranges = list(chain.from_iterable(column.unit_interferences)) if column else [site.candidate]
        instructions = in_instructions(ranges)
        segments = [segment for each in ranges for segment in each.segments]
        row = {
            "mask": column.is_legal if column else not site.must_evict,
            "is_free": not ranges if column else 0,
            "is_hint": column.is_hint if column else 0,
            "nr_defs_and_uses": sum(map(entries, ranges)),
            "weighed_reads_by_max": sum(f for reads, writes, f in instructions if reads and not writes),
            "weighed_writes_by_max": sum(f for reads, writes, f in instructions if writes and not reads),
            "weighed_read_writes_by_max": sum(f for reads, writes, f in instructions if reads and writes),
            "hottest_bb_freq_by_max": max((f for _, _, f in instructions), default=0.0),
            "liverange_size": max((e for _, e in segments), default=0)
            - min((s for s, _ in segments), default=0),
            "use_def_density": max((each.weight for each in ranges), default=0.0),
        }
        for name, value in row.items():
            rows.setdefault(name, []).append(value)
    return rows


EXACT = ("is_free", "is_hint")
NORMALIZED = (
    "nr_defs_and_uses",
    "weighed_reads_by_max",
    "weighed_writes_by_max",
    "weighed_read_writes_by_max",
    "hottest_bb_freq_by_max",
    "liverange_size",
    "use_def_density",
)


def compare(obs: Any) -> None:
    rows = counted(obs.site)
    last = len(rows["mask"]) - 1
    assert [bool(each) for each in rows["mask"]] == [*obs["mask"][0][:last], obs["mask"][0][DO_NOT_EVICT]]
    legal = [column for column in range(last + 1) if rows["mask"][column]]
    columns = [column if column < last else DO_NOT_EVICT for column in legal]
    for name in EXACT:
        assert obs[name][0][columns].tolist() == [int(rows[name][column]) for column in legal], name
    for name in NORMALIZED:
        values = [rows[name][column] for column in legal]
        if not all(map(math.isfinite, values)):
            continue  # LLVM divides by the infinite weight of an unspillable range
        # LLVM measures lengths in whole instructions, the segments say where in an instruction they end.
        slack = 16 / max(values) if name == "liverange_size" else 0
        expected_values = normalized(values)
        np.testing.assert_allclose(
            obs[name][0][columns], expected_values, rtol=1e-4, atol=slack, err_msg=name
        )


@pytest.mark.parametrize(
    ("name", "target"), [("libyaml", "x86-64"), ("libyaml", "aarch64"), ("libsvm", "riscv64")]
)
def test_the_views_agree_with_the_tensors(name: str, target: str) -> None:
    """At each function's first question: LLVM keeps its sums, and a split does not renew them."""
    functions: set[str] = set()

    def decide(obs: Any) -> object:
        if obs.context not in functions:
            functions.add(obs.context)
            compare(obs)
        return obs.default()

    emitted(for_target(name, target), [passpilot.EvictAdvisor(decide)])
    assert len(functions) > 3
