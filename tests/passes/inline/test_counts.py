# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`node_count` and `edge_count` stay right when the default inlines what LLVM's ML advisor would not ask."""

from __future__ import annotations

import pytest

from passpilot.passes.llvm_advisors import InlineAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin import _core
from passpilot.plugin.module import Module
from passpilot.runners.python import Observation
from tests import ir_text
from tests.passes.inline import crafted


def counted(text: str) -> tuple[int, int]:
    """The functions defined in a module, and the direct calls between them in reachable blocks.

    A function that inlining has deleted stays until the end of the pass, as one that is nothing but
    `unreachable`.
    """
    functions = {
        name: function
        for name, function in ir_text.parse(text).functions.items()
        if function.blocks and [each.opcode for each in function.instructions] != ["unreachable"]
    }
    calls = [
        call.callee
        for function in functions.values()
        for block in function.reachable
        for call in block.instructions
    ]
    return len(functions), sum(callee in functions for callee in calls)


@pytest.mark.parametrize("pipeline", ["inliner-wrapper", "default<O2>"])
@pytest.mark.parametrize(
    ("name", "unasked"), [("unreachable", True), ("recursive", True), ("attributes", False)]
)
def test_counts_agree_with_a_fresh_count(name: str, unasked: bool, pipeline: str) -> None:
    seen: list[tuple[int, int]] = []
    fresh: list[tuple[int, int]] = []

    def decide(obs: Observation) -> object:
        assert isinstance(obs.site, _core.CallSite)
        seen.append((int(obs["node_count"][0]), int(obs["edge_count"][0])))
        fresh.append(counted(obs.site.module_text()))
        return obs.default()

    advisor = InlineAdvisor(decide)
    optimize(Module.read(crafted.ALL[name].encode()), pipeline, [advisor])
    assert seen == fresh
    assert len(set(seen)) > 3
    assert (advisor.stats.not_askable > 0) is unasked
