# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who allocates registers as LLVM's own heuristics do gets the very object of stock llc."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import passpilot
from passpilot.features.point import find_point
from tests import stock
from tests.corpus.programs import programs
from tests.passes.allocation.allocated import TRIPLES, by_llc, emitted, for_target, retargeted

if TYPE_CHECKING:
    from collections.abc import Iterator

    Both = tuple[passpilot.EvictAdvisor, passpilot.PriorityAdvisor]

SMALL = ("lz4", "libyaml", "picosat", "libsvm", "cmark-gfm", "re2")
SOAK = ("x86-64", "aarch64", "riscv64", "ppc64le")


def echo(obs: passpilot.Observation) -> object:
    """What LLVM would do."""
    return obs.default()


def by_name() -> Both:
    """`default` without a log: nobody is asked."""
    return passpilot.EvictAdvisor("default"), passpilot.PriorityAdvisor("default")


def native() -> Both:
    """The core's own echo, which is asked."""
    evict, priority = (passpilot.make_runner("default", find_point(name)) for name in ("evict", "priority"))
    return passpilot.EvictAdvisor(evict), passpilot.PriorityAdvisor(priority)


def python() -> Both:
    """A policy in Python."""
    return passpilot.EvictAdvisor(echo), passpilot.PriorityAdvisor(echo)


ECHOES = {"by_name": by_name, "native": native, "python": python}


LARGE = ("sqlite", "zstd", "bullet", "cmark-gfm", "lua", "re2", "lz4")
"""Programs that only the soak compiles."""


def cases() -> Iterator[object]:
    """Every program for the host, the small ones for another target, the echoes in turns."""
    for i, name in enumerate(programs()):
        marks = [pytest.mark.soak] if name in LARGE else []
        yield pytest.param(name, "x86-64", list(ECHOES)[i % 2 + 1], id=f"{name}-x86-64", marks=marks)
    for i, name in enumerate(SMALL):
        marks = [pytest.mark.soak] if name in LARGE else []
        yield pytest.param(name, "aarch64", list(ECHOES)[i % 3], id=f"{name}-aarch64", marks=marks)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("name", "target", "kind"), list(cases()))
def test_whole_program(name: str, target: str, kind: str) -> None:
    source = for_target(name, target)
    advisors = ECHOES[kind]()
    same = emitted(source, advisors) == by_llc(source)
    assert same  # without megabytes of difference
    if kind != "by_name":
        assert all(advisor.stats.decisions for advisor in advisors)


@pytest.mark.soak
@pytest.mark.timeout(36000)
@pytest.mark.filterwarnings("ignore:.*was never asked")
@pytest.mark.parametrize("opt_level", [1, 2, 3])
@pytest.mark.parametrize("target", SOAK)
@pytest.mark.parametrize("name", programs())
def test_every_unit(name: str, target: str, opt_level: int, tmp_path: Path) -> None:
    units = sorted(programs()[name].bitcode("O2").glob("*.bc"))
    assert len(units) > 1
    compared = 0
    for number, unit in enumerate(units):
        optimized = tmp_path / "unit.bc"
        stock.run("opt", f"-O{opt_level}", unit, "-o", optimized)
        source = retargeted(optimized, target)
        try:
            expected = by_llc(source, opt_level=opt_level)
        except AssertionError as error:
            if target == "x86-64" or not re.search("inline asm|constraint", str(error)):
                raise
            continue  # the host's assembly, for another target
        advisors = list(ECHOES.values())[number % len(ECHOES)]()
        same = emitted(source, advisors, opt_level=opt_level) == expected
        assert same, (unit.name, target)
        compared += 1
    assert compared > len(units) / 2


@pytest.mark.soak
@pytest.mark.timeout(36000)
@pytest.mark.parametrize("opt_level", [1, 2, 3])
@pytest.mark.parametrize("name", ["lz4", "libyaml", "picosat"])
def test_every_unit_for_amdgcn(name: str, opt_level: int) -> None:
    source = for_target(name, "amdgcn")
    expected = by_llc(source, opt_level=opt_level)
    for make in ECHOES.values():
        assert emitted(source, make(), opt_level=opt_level) == expected


@pytest.mark.parametrize("after", TRIPLES)
def test_a_compilation_does_not_change_the_next(after: str) -> None:
    """Back ends write into process-wide options of LLVM's."""
    source = for_target("libsvm", "x86-64")
    before = emitted(source)
    emitted(for_target("lz4" if after == "amdgcn" else "picosat", after))
    assert emitted(source) == before == by_llc(source)
