# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numba compiles with advisors inside a block of `advised_numba`, and as ever outside."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numba
import numpy as np
import pytest
from numba.core.registry import cpu_target

import passpilot
from passpilot.llvmlite import advised_numba
from passpilot.plugin.errors import InputError, PasspilotWarning, PolicyError
from tests.command import GENEROUS

ROOT = Path(__file__).parents[3]
Function = Callable[..., float]
ARRAY = np.linspace(0.0, 10.0, 1000)
EXPECTED = float((3 * ARRAY**2 + 2 * ARRAY + 1).sum())


def fresh() -> Function:
    """A function that no test before has compiled, with one call to decide on."""

    @numba.njit
    def polynomial(x):  # type: ignore[no-untyped-def]
        return 3.0 * x * x + 2.0 * x + 1.0

    @numba.njit
    def total(array):  # type: ignore[no-untyped-def]
        result = 0.0
        for index in range(array.shape[0]):
            result += polynomial(array[index])
        return result

    return cast("Function", total)


def pressed() -> Function:
    """One with more live values than registers: each of 24 depends on two of the round before."""
    names = [f"v{number}" for number in range(24)]
    steps = ", ".join(
        f"{one} * 0.5 + {other} - x" for one, other in zip(names, names[5:] + names[:5], strict=True)
    )
    text = f"""
def mixed(array):
    {" = ".join(names)} = 1.5
    for x in array:
        {", ".join(names)} = {steps}
    return {" + ".join(names)}
"""
    scope: dict[str, Function] = {}
    exec(text, scope)
    return cast("Function", numba.njit(scope["mixed"]))


def calls(function: Function) -> int:
    """Calls of the helper that are left in the one variant of the function that was compiled."""
    (text,) = function.inspect_llvm().values()  # type: ignore[attr-defined]
    return sum(" call " in line and "polynomial" in line for line in text.splitlines())


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Numba is as it was after every test."""
    codegen = cpu_target.target_context.codegen()
    before = dict(vars(codegen))
    yield
    assert vars(codegen) == before
    assert codegen._library_class.__module__ == "numba.core.codegen"


@pytest.mark.parametrize("inline", [True, False])
def test_a_policy_decides(*, inline: bool) -> None:
    function = fresh()
    asked: list[str] = []

    def decide(obs: Any) -> bool:
        asked.append(obs.site.callee.name)
        return inline

    with advised_numba(advisors=[passpilot.InlineAdvisor(decide)]):
        assert function(ARRAY) == pytest.approx(EXPECTED)
    assert any("polynomial" in name for name in asked)
    assert (calls(function) == 0) == inline
    assert function(ARRAY) == pytest.approx(EXPECTED), "it stays compiled"


def test_nobody_is_asked_outside() -> None:
    with passpilot.InlineAdvisor("const:1") as advisor:
        with advised_numba(advisors=[advisor]):
            fresh()(ARRAY)
        inside = advisor.stats.decisions
        assert fresh()(ARRAY) == pytest.approx(EXPECTED)
        assert 0 < inside == advisor.stats.decisions


def test_a_decorated_function_is_such_a_block() -> None:
    @advised_numba(advisors=[passpilot.InlineAdvisor("const:0")])
    def compile_now() -> Function:
        function = fresh()
        function(ARRAY)
        return function

    assert calls(compile_now()) > 0


def test_strings_lists_and_references_are_right() -> None:
    """The parts of Numba that count references, and bring much code of their own."""

    @numba.njit
    def joined(count):  # type: ignore[no-untyped-def]
        parts = [str(number) for number in range(count)]
        return ",".join(parts) + ";" + max(parts)

    with advised_numba(advisors=[passpilot.InlineAdvisor("random:7")]):
        assert joined(30) == ",".join(map(str, range(30))) + ";9"


def test_a_pipeline_of_your_own() -> None:
    function = fresh()
    with advised_numba("default<O0>"):
        assert function(ARRAY) == pytest.approx(EXPECTED)
    assert calls(function) > 0


def test_a_failing_policy_ends_the_compilation_alone() -> None:
    function = fresh()

    def decide(obs: Any) -> bool:
        raise ValueError(f"no idea of {obs.site.callee.name}")

    with pytest.raises(PolicyError, match=r"ValueError: no idea of .*polynomial"):  # noqa: SIM117
        with advised_numba(advisors=[passpilot.InlineAdvisor(decide)]):
            function(ARRAY)
    assert function(ARRAY) == pytest.approx(EXPECTED), "Numba compiles it afterwards"


def test_a_wrong_pipeline() -> None:
    with advised_numba("no-such-pass"), pytest.raises(InputError, match="unknown pass name 'no-such-pass'"):
        fresh()(ARRAY)


def test_other_threads_get_numba_as_it_is() -> None:
    asked = 0

    def decide(obs: Any) -> bool:
        nonlocal asked
        asked += 1
        return bool(obs.default())

    other, results = fresh(), []
    with advised_numba(advisors=[passpilot.InlineAdvisor(decide)]):
        thread = threading.Thread(target=lambda: results.append(other(ARRAY)))
        thread.start()
        thread.join(GENEROUS)
        assert results == [pytest.approx(EXPECTED)]
        assert asked == 0
        fresh()(ARRAY)
    assert asked > 0


def test_blocks_in_blocks() -> None:
    with advised_numba(advisors=[passpilot.InlineAdvisor("const:0")]):
        with advised_numba(advisors=[passpilot.InlineAdvisor("const:1")]):
            inner = fresh()
            inner(ARRAY)
        outer = fresh()
        outer(ARRAY)
    assert calls(inner) == 0 < calls(outer)


def test_a_policy_may_be_compiled_by_numba() -> None:
    """While it is asked; it is then compiled by Numba alone, else it would ask itself."""

    @numba.njit
    def small(cost):  # type: ignore[no-untyped-def]
        return cost < 1000

    function = fresh()

    def decide(obs: Any) -> bool:
        return bool(small(int(obs["cost_estimate"][0])))

    with advised_numba(advisors=[passpilot.InlineAdvisor(decide)]):
        assert function(ARRAY) == pytest.approx(EXPECTED)
    assert calls(function) == 0


@pytest.mark.parametrize("kind", [passpilot.EvictAdvisor, passpilot.PriorityAdvisor])
def test_registers(kind: type[passpilot.EvictAdvisor | passpilot.PriorityAdvisor]) -> None:
    asked = 0

    def decide(obs: passpilot.Observation) -> float:
        nonlocal asked
        asked += 1
        return cast("float", obs.default())

    function = pressed()
    with advised_numba(advisors=[kind(decide), passpilot.InlineAdvisor("default")]):
        compiled = function(ARRAY[:9])
    assert asked > 0
    assert compiled == pytest.approx(function.py_func(ARRAY[:9]))  # type: ignore[attr-defined]


def test_all_three_points_at_random() -> None:
    advisors = [
        passpilot.InlineAdvisor("random:1"),
        passpilot.EvictAdvisor("random:2"),
        passpilot.PriorityAdvisor("random:3"),
    ]
    function, other = pressed(), fresh()
    with advised_numba(advisors=advisors):
        assert other(ARRAY) == pytest.approx(EXPECTED)
        compiled = function(ARRAY[:9])
    assert compiled == pytest.approx(function.py_func(ARRAY[:9]))  # type: ignore[attr-defined]
    assert all(each.stats.decisions > 0 for each in advisors)


def test_what_needs_no_decision_is_no_mistake() -> None:
    """Warnings are errors here, and a function without calls, of few values, asks nobody."""
    advisors = [passpilot.InlineAdvisor("const:1"), passpilot.EvictAdvisor("const:32")]

    @numba.njit
    def twice(x):  # type: ignore[no-untyped-def]
        return x + x

    with advised_numba(advisors=advisors):
        assert twice(1.5) == 3
    assert [each.stats.decisions for each in advisors] == [0, 0]


ELSEWHERE = """
import warnings
import passpilot
from tests.passes.llvmlite.test_numba import advised_numba, pressed

warnings.simplefilter("error", passpilot.PasspilotWarning)
function, advisor = pressed(), passpilot.EvictAdvisor("random:1")
with advised_numba(advisors=[advisor]):
    function.compile("float64(float64[::1])")
print(advisor.stats.decisions > 0)
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names processors of x86-64")
@pytest.mark.parametrize(("name", "asked"), [("x86-64", True), ("skylake-avx512", False)])
def test_processors_with_few_and_with_many_registers(name: str, asked: bool) -> None:
    """With AVX-512 there are 32 for vectors: nothing is evicted, and that is no mistake either."""
    features = "" if asked else "+avx512f,+avx512vl"
    environment = {**os.environ, "NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features}
    command = [sys.executable, "-c", ELSEWHERE]
    told = subprocess.check_output(command, text=True, env=environment, timeout=GENEROUS, cwd=ROOT)
    assert told == f"{asked}\n"


def test_an_advisor_that_was_never_asked_is_warned_of_once() -> None:
    with pytest.warns(PasspilotWarning, match="never asked: Numba compiled nothing") as caught:  # noqa: SIM117
        with advised_numba(advisors=[passpilot.InlineAdvisor("const:1")]):
            pass
    assert [Path(each.filename).name for each in caught] == [Path(__file__).name]


def test_an_advisor_that_has_nobody_to_ask_is_no_mistake() -> None:
    with advised_numba(advisors=[passpilot.InlineAdvisor("default")]):
        pass


def test_outside_an_advisor_warns_as_before() -> None:
    advisors = [passpilot.InlineAdvisor("const:1"), passpilot.EvictAdvisor("const:32")]
    advisors[1].may_idle = True
    seen: list[bool] = []

    def fail() -> None:
        seen.extend(each.may_idle for each in advisors)
        raise KeyError("mine")

    with pytest.raises(KeyError), advised_numba(advisors=advisors):
        fail()
    assert seen == [True, True]
    assert [each.may_idle for each in advisors] == [False, True]


def test_pipelines_at_extension_points() -> None:
    with (
        advised_numba(at={"nowhere": "sroa"}),
        pytest.raises(InputError, match="--at nowhere: expected a po"),
    ):
        fresh()(ARRAY)


FIRST = """
import numba, passpilot
from passpilot.llvmlite import advised_numba

@numba.njit
def helper(x): return x * x

@numba.njit
def function(x): return helper(x) + 1

asked = []
decide = lambda obs: not asked.append(obs.site.callee.name)
with passpilot.InlineAdvisor(decide) as advisor, advised_numba(advisors=[advisor]):
    function(7)
print(len(asked), "helper" in asked[0])
"""


def test_the_run_time_of_numba_is_nobodys_decision(tmp_path: Path) -> None:
    """Numba compiles it in each process before the first function."""
    (tmp_path / "first.py").write_text(FIRST)
    command = [sys.executable, str(tmp_path / "first.py")]
    assert subprocess.check_output(command, text=True, timeout=GENEROUS) == "1 True\n"


def test_each_block_has_a_key_of_its_own_in_the_cache() -> None:
    codegen = cpu_target.target_context.codegen()
    outside, inside, elsewhere = codegen.magic_tuple(), [], []
    for _ in range(2):
        with advised_numba():
            inside.append(codegen.magic_tuple())
            thread = threading.Thread(target=lambda: elsewhere.append(codegen.magic_tuple()))
            thread.start()
            thread.join(GENEROUS)
    assert [each[:-1] for each in inside] == elsewhere == [outside, outside]
    assert len({outside, *inside}) == 3
    assert codegen.magic_tuple() == outside


CACHED = """
import sys, numba, passpilot
from passpilot.llvmlite import advised_numba

@numba.njit
def helper(x): return x * x

@numba.njit(cache=True)
def function(x): return helper(x) + 1

if "inside" in sys.argv:
    with passpilot.InlineAdvisor("const:0") as advisor, advised_numba(advisors=[advisor]):
        print(function(7), advisor.stats.decisions > 0)
else:
    print(function(7), sum(function.stats.cache_hits.values()))
"""


@pytest.mark.soak
def test_the_cache_on_disk_is_neither_used_nor_spoilt(tmp_path: Path) -> None:
    program = tmp_path / "cached.py"
    program.write_text(CACHED)

    def run(*arguments: str) -> str:
        command = [sys.executable, str(program), *arguments]
        done = subprocess.check_output(command, text=True, cwd=tmp_path, timeout=GENEROUS)
        return done.strip()

    assert run("inside") == "50 True"
    assert run() == "50 0", "what was stored in the block is not found outside"
    assert run() == "50 1"
    assert run("inside") == "50 True", "nor the other way round"


def test_numba_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba.core.registry", None)
    expected = r'of passpilot\[numba\], got no numba.core.registry; run: pip install "passpilot\[numba\]"'
    with pytest.raises(InputError, match=expected):
        advised_numba().__enter__()


def test_a_numba_that_we_do_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    codegen = type(cpu_target.target_context.codegen())
    monkeypatch.delattr(codegen.__mro__[1], "_module_pass_manager")
    expected = f"whose codegen has _module_pass_manager, got Numba {numba.__version__}"
    with pytest.raises(InputError, match=expected):
        advised_numba().__enter__()
