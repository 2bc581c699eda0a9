# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`obs.get`, `in` and `print(obs.site)`, in policies that the compiler asks."""

from __future__ import annotations

import re

import numpy as np
import pytest

import passpilot
from passpilot.features.custom import unregister
from passpilot.plugin._core import CallSite
from tests.passes.test_calls import module

C_WITH_PLACES = """\
define i32 @callee(i32 %x) !dbg !4 {
  %y = add i32 %x, 1
  ret i32 %y
}
define i32 @caller(i32 %x) !dbg !6 {
  %y = call i32 @callee(i32 %x), !dbg !7
  ret i32 %y
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "a.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !{})
!4 = distinct !DISubprogram(name: "callee", file: !1, line: 1, type: !3, unit: !0)
!6 = distinct !DISubprogram(name: "caller", file: !1, line: 2, type: !3, unit: !0)
!7 = !DILocation(line: 3, column: 7, scope: !6)
"""


def test_get_and_in_agree_with_the_brackets() -> None:
    """For a bound tensor, one that is computed on access, the default, a custom one and none."""
    seen: list[tuple[bool, object]] = []

    @passpilot.feature("int64[1]", name="arguments_of_the_call")
    def arguments(site: CallSite) -> int:
        return len(site.arguments)

    names = ("callee_users", "node_count", "inlining_default", "arguments_of_the_call", "no_such_feature")

    def decide(obs: passpilot.Observation) -> object:
        for name in names[:-1]:
            assert obs.get(name) is not None
            assert obs.get(name, 7) == obs[name]
        if not seen:
            seen.extend((name in obs, obs.get(name)) for name in names)
            assert obs.get("no_such_feature", 7) == 7
            assert list(obs) == ["callee_users"]
        return False

    decide.features = ("callee_users",)  # type: ignore[attr-defined]
    try:
        passpilot.optimize(module(), "default<O2>", decide)
    finally:
        unregister("arguments_of_the_call")
    assert [found for found, _ in seen] == [True, True, True, True, False]
    assert seen[-1][1] is None


def test_a_constant_feature_is_there_again_after_another_has_failed() -> None:
    """The buffers behind a feature that failed are empty, so that an unchanged value counts as new."""
    calls, seen = [0], list[tuple[float, float]]()

    @passpilot.feature("int64[1]", name="fails_once")
    def fails_once(_: CallSite) -> int:
        calls[0] += 1
        if calls[0] == 2:
            raise ValueError("no luck")
        return 3

    five = np.array([5])
    five.setflags(write=False)
    passpilot.feature("int64[1]", name="always_five")(lambda _: five)

    def decide(obs: passpilot.Observation) -> bool:
        seen.append((obs["fails_once"].item(), obs["always_five"].item()))
        return False

    decide.features = ("fails_once", "always_five")  # type: ignore[attr-defined]
    try:
        with (
            passpilot.InlineAdvisor(decide, on_error="default") as advisor,
            pytest.warns(
                passpilot.PasspilotWarning, match="1 of 30 decisions fell back .*fails_once.*no luck"
            ),
        ):
            passpilot.optimize(module(), "inliner-wrapper", advisor)
    finally:
        unregister("fails_once")
        unregister("always_five")
    assert seen == [(3, 5)] * 29


@pytest.mark.parametrize("readonly", [False, True])
def test_an_array_that_changes_in_place_is_read_anew(readonly: bool) -> None:
    count, seen = np.zeros(1, np.int64), list[float]()
    given = count[:]
    given.setflags(write=not readonly)

    @passpilot.feature("int64[1]", name="counted")
    def counted(_: CallSite) -> object:
        count[0] += 1
        return given

    def decide(obs: passpilot.Observation) -> bool:
        seen.append(obs["counted"].item())
        return False

    decide.features = ("counted",)  # type: ignore[attr-defined]
    try:
        passpilot.optimize(module(), "inliner-wrapper", decide)
    finally:
        unregister("counted")
    assert seen == list(range(1, 31))


def test_a_feature_that_came_too_late_is_told() -> None:
    told: list[str] = []

    def decide(obs: passpilot.Observation) -> bool:
        if not told:
            passpilot.feature("int64[1]", name="late_one")(lambda _: 1)
            for name in ("late_one", "no_such_feature", "callee_user"):
                with pytest.raises(passpilot.errors.FeatureError) as caught:
                    _ = obs[name]
                told.append(str(caught.value))
        return False

    try:
        passpilot.optimize(module(), "default<O2>", decide)
    finally:
        unregister("late_one")
    expected, load = (
        "expected a feature of the point inline, got",
        "load its file first, as --load=FILE.py does",
    )
    lists = "`passpilot features --point=inline` lists them, and --load=FILE.py adds your own"
    assert told == [
        f"obs['late_one']: {expected} one registered after the advisor was made; {load}",
        f"obs['no_such_feature']: {expected} none of this name; {lists}",
        f"obs['callee_user']: {expected} none of this name; {lists}; did you mean 'callee_users'?",
    ]


def test_a_policy_in_another_process_has_what_it_declared() -> None:
    obs = passpilot.Observation({"node_count": 3})  # type: ignore[dict-item]
    assert "node_count" in obs
    assert "callee_users" not in obs
    assert obs.get("callee_users") is None


def test_print_shows_caller_callee_and_place(capsys: pytest.CaptureFixture[str]) -> None:
    def decide(obs: passpilot.Observation) -> bool:
        print(obs.site)
        return False

    passpilot.optimize(module(C_WITH_PLACES), "default<O2>", decide)
    assert capsys.readouterr().out == "caller -> callee at a.c:3:7\n"
    passpilot.optimize(module(), "default<O2>", decide)
    assert capsys.readouterr().out.splitlines()[0] == "caller0 -> callee"


def test_print_shows_the_live_range(capsys: pytest.CaptureFixture[str]) -> None:
    def decide(obs: passpilot.Observation) -> object:
        print(obs.site)
        return obs.default()

    passpilot.emit(module(), advisors=passpilot.PriorityAdvisor(decide))
    assert re.match(r"live range %\d+ of callee\n", capsys.readouterr().out)
