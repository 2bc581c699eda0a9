# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What has gone wrong on this ground before: each of these was once a hang, a crash or a wrong answer."""

from __future__ import annotations

import os
import random
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import passpilot
from passpilot.features.llvm import evict
from passpilot.features.llvm.evict import DO_NOT_EVICT
from passpilot.plugin.errors import AdviceError, PolicyError, SpecMismatchError
from tests import stock
from tests.features.llvm import scarce
from tests.passes.allocation.allocated import emitted, for_target, optimized, pressure, random_advisors

if TYPE_CHECKING:
    from collections.abc import Callable

FUNCTIONS = 2_000


def random_policy(seed: int) -> Callable[[Any], object]:
    """Draws among the legal columns, as a Python function."""
    generator = random.Random(seed)
    return lambda obs: generator.choice(np.flatnonzero(obs["mask"][0]))


def stock_object(source: Path) -> bytes:
    return stock.run("llc", "-filetype=obj", "-relocation-model=pic", source, "-o", "-")


@pytest.fixture(scope="module")
def many_functions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Functions that keep a value or two, and never need to evict one."""
    path = tmp_path_factory.mktemp("many") / "many.ll"
    functions = [
        f"define i32 @f{i}(i32 %x) {{\n  %y = mul i32 %x, %x\n  %z = add i32 %y, {i}\n  ret i32 %z\n}}\n"
        for i in range(FUNCTIONS)
    ]
    path.write_text('target triple = "x86_64-unknown-linux-gnu"\n' + "".join(functions))
    return path


def test_functions_that_ask_nothing(many_functions: Path) -> None:
    contexts: set[str] = set()

    def rank(obs: Any) -> object:
        contexts.add(obs.context)
        return obs.default()

    evict, priority = passpilot.EvictAdvisor(random_policy(1)), passpilot.PriorityAdvisor(rank)
    with pytest.warns(passpilot.PasspilotWarning, match="never asked"):
        objects = emitted(many_functions, [evict, priority])
    assert objects == stock_object(many_functions)
    assert evict.stats.decisions == 0
    assert priority.stats.decisions >= FUNCTIONS
    assert len(contexts) == FUNCTIONS


@pytest.fixture(params=["ppc64le", "amdgcn"])
def wide(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A function with more live values than the largest register class of a back end has registers."""
    return pressure(request.param, tmp_path, values=120 if request.param == "ppc64le" else 300)


@pytest.mark.filterwarnings("ignore:.*was never asked")
def test_classes_of_more_than_32_registers(wide: Path) -> None:
    """LLVM writes past its columns there, and stock llc's stack is smashed: the default decides instead."""
    echo = passpilot.EvictAdvisor(lambda obs: obs.default())
    assert emitted(wide, [echo]) == stock_object(wide)
    assert echo.stats.not_askable > 0
    emitted(wide, random_advisors(3))


def test_columns_are_within_the_tensors() -> None:
    """AArch64 has classes of exactly 32 floating-point registers."""
    counts = set()

    def decide(obs: Any) -> object:
        columns = obs.site.columns
        counts.add(len(columns))
        assert not obs["mask"][0, len(columns) : DO_NOT_EVICT].any()
        return obs.default()

    emitted(for_target("libsvm", "aarch64"), [passpilot.EvictAdvisor(decide)])
    assert max(counts) <= 32


def test_nothing_but_memory_lies_between_llvm_and_the_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No FIFO is made and no descriptor opened, so none can fill up, hang or stay behind."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = set(os.listdir("/proc/self/fd"))
    seen: set[str] = set()

    def decide(obs: Any) -> object:
        seen.update(os.listdir("/proc/self/fd"))
        return obs.default()

    emitted(
        optimized("libyaml", "scanner.c"),
        [passpilot.EvictAdvisor(decide), passpilot.PriorityAdvisor("random:1")],
    )
    opened = {each for each in seen - before if os.path.exists(f"/proc/self/fd/{each}")}
    assert not opened
    assert not list(tmp_path.iterdir())


def test_compulsory_evictions() -> None:
    """A range that cannot be spilled must get a register: DO_NOT_EVICT is forbidden there."""
    asked = []

    def decide(obs: Any) -> object:
        site = obs.site
        assert site.must_evict == (obs["mask"][0, DO_NOT_EVICT] == 0)
        if site.must_evict:
            assert not site.candidate.is_spillable
            asked.append(site.candidate.register)
        return policy(obs)

    policy = random_policy(1)
    emitted(optimized("lz4"), [passpilot.EvictAdvisor(decide)])
    assert len(asked) > 3


def test_refusing_a_compulsory_eviction_is_an_error_that_names_it() -> None:
    policy = random_policy(1)

    def decide(obs: Any) -> object:
        return DO_NOT_EVICT if obs.site.must_evict else policy(obs)

    where = r"evict advisor at decision \d+ \(function \w+, %\d+\): "
    what = r"expected a column that the mask allows \([\d, ]+\), got column 32 \(do not evict\)"
    with pytest.raises(AdviceError, match=where + what):
        emitted(optimized("libyaml", "emitter.c"), [passpilot.EvictAdvisor(decide)])


def test_a_masked_column_is_an_error_that_names_its_register() -> None:
    def decide(obs: Any) -> object:
        return next(column.index for column in obs.site.columns if not column.is_legal)

    with pytest.raises(AdviceError, match=r"function \w+, %\d+\): expected .*, got column \d+ \([a-z0-9]+\)"):
        emitted(optimized("libyaml", "scanner.c"), [passpilot.EvictAdvisor(decide)])


class Greedy:
    """Evicts wherever it may against the default, and counts how often each live range is the victim."""

    def __init__(self) -> None:
        self.evicted: dict[tuple[str, int], int] = {}

    def decide(self, obs: Any) -> object:
        default = obs.default()
        legal = [column for column in obs.site.columns if column.is_legal and column.index != default]
        if not legal:
            return default
        # The one that has suffered most, as long as it may be.
        worst = max(legal, key=lambda column: max(self.count(obs, column), default=0))
        if obs.site.candidate.is_spillable:
            for each in worst.interferences:
                key = (obs.context, each.number)
                self.evicted[key] = self.evicted.get(key, 0) + 1
        return worst.index

    def count(self, obs: Any, column: Any) -> list[int]:
        ranges = column.interferences
        return [self.evicted.get((obs.context, each.number), 0) for each in ranges]


def test_the_eviction_limit() -> None:
    unlimited, limited = Greedy(), Greedy()
    emitted(optimized("libyaml", "emitter.c"), [passpilot.EvictAdvisor(unlimited, eviction_limit=0)])
    emitted(optimized("libyaml", "emitter.c"), [passpilot.EvictAdvisor(limited, eviction_limit=2)])
    assert max(unlimited.evicted.values()) > 5
    assert max(limited.evicted.values()) == 2


def test_the_limit_does_not_touch_the_default() -> None:
    echo = passpilot.EvictAdvisor(lambda obs: obs.default(), eviction_limit=1)
    source = optimized("libyaml", "emitter.c")
    assert emitted(source, [echo]) == stock_object(source)
    assert echo.stats.evictions > 10


@pytest.mark.parametrize("seed", [46, 50, 120])
def test_a_default_that_recolours_instead_of_evicting(seed: int, tmp_path: Path) -> None:
    """Where a register must be found LLVM's default may evict nothing, which its model could not answer."""
    source = tmp_path / "in.ll"
    source.write_bytes(scarce.assembly_for_i386(seed))
    echo = passpilot.EvictAdvisor(lambda obs: obs.default(), log=str(tmp_path / "evict.log"))
    objects = emitted(source, [echo])
    assert objects == stock_object(source)
    assert echo.stats.not_askable > 0
    replay = passpilot.EvictAdvisor(f"replay:{tmp_path}/evict.log")
    assert emitted(source, [replay]) == objects


def test_after_a_failure_nobody_is_asked() -> None:
    asked = []

    def fails(obs: Any) -> object:  # noqa: ARG001
        asked.append("evict")
        raise ValueError

    def rank(obs: Any) -> object:
        asked.append("priority")
        return obs.default()

    with pytest.raises(PolicyError):
        emitted(
            optimized("libyaml", "scanner.c"),
            [passpilot.EvictAdvisor(fails), passpilot.PriorityAdvisor(rank)],
        )
    assert asked.count("evict") == 1
    assert asked[-1] == "evict"


def test_a_view_belongs_to_the_thread_that_is_asked() -> None:
    """The compiler goes on as soon as the policy has answered; another thread would read what it changes."""
    told: list[str] = []

    def read(site: Any) -> None:
        try:
            told.append(str(site.candidate))
        except passpilot.Error as error:
            told.append(str(error))

    def decide(obs: Any) -> object:
        if not told:
            reader = threading.Thread(target=read, args=(obs.site,))
            reader.start()
            reader.join(60)
        return obs.default()

    emitted(optimized("libyaml", "scanner.c"), [passpilot.EvictAdvisor(decide)])
    assert "by the thread that is asked" in told[0]


def test_a_table_that_is_not_llvms_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evict, "TABLE", replace(evict.TABLE, rows=evict.TABLE.rows[:-1]))
    with pytest.raises(SpecMismatchError, match=r"expected the features of LLVM 22 .*: progress;"):
        passpilot.EvictAdvisor("random:1")


def test_priorities_that_no_float32_holds() -> None:
    """The default order is a key of 32 bits."""
    seen = []

    def rank(obs: Any) -> object:
        seen.append(obs.default())
        return seen[-1]

    source = optimized("libyaml", "scanner.c")
    assert emitted(source, [passpilot.PriorityAdvisor(rank)]) == stock_object(source)
    assert all(value == int(value) for value in seen)
    assert any(float(np.float32(value)) != value for value in seen)


def test_two_threads_compile_independently() -> None:
    expected = {seed: emitted(optimized("libyaml", "emitter.c"), random_advisors(seed)) for seed in (1, 2)}
    found: dict[int, bytes] = {}

    def compile_with(seed: int) -> None:
        found[seed] = emitted(optimized("libyaml", "emitter.c"), random_advisors(seed))

    threads = [threading.Thread(target=compile_with, args=(seed,)) for seed in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert found == expected
    assert expected[1] != expected[2]


def test_two_agents() -> None:
    """Order and colour, by one policy object and by two."""

    class Agent:
        def __init__(self) -> None:
            self.asked = {"evict": 0, "priority": 0}

        def decide(self, obs: Any) -> object:
            self.asked[obs.point] += 1
            return obs.default()

    source, one, order, colour = optimized("libyaml", "scanner.c"), Agent(), Agent(), Agent()
    shared = emitted(source, [passpilot.EvictAdvisor(one), passpilot.PriorityAdvisor(one)])
    apart = emitted(source, [passpilot.EvictAdvisor(colour), passpilot.PriorityAdvisor(order)])
    assert shared == apart == stock_object(source)
    assert one.asked["evict"] == colour.asked["evict"] > 0 == order.asked["evict"]
    assert one.asked["priority"] == order.asked["priority"] > 0 == colour.asked["priority"]


def test_optimize_then_emit_in_one_process() -> None:
    """One module, never parsed again, each step with advisors of its own."""
    source = Path(str(optimized("libyaml", "scanner.c")).replace(".optimized", ".bc"))
    module = passpilot.Module.read(source)
    inline = passpilot.InlineAdvisor(lambda obs: obs.default())
    passpilot.optimize(module, "default<O2>", [inline])
    evict = passpilot.EvictAdvisor(lambda obs: obs.default())
    objects = passpilot.emit(module, "obj", advisors=[evict], relocation_model="pic")
    assert objects == stock_object(optimized("libyaml", "scanner.c"))
    assert inline.stats.decisions > 0
    assert evict.stats.decisions > 0
