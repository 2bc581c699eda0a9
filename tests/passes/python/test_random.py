# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random changes by passes in Python while LLVM walks the call graph: valid IR or a refusal, no crash."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import pytest

from passpilot.passes.optimize import optimize
from passpilot.plugin.errors import PassError
from passpilot.plugin.ir import Function, IRBuilder
from passpilot.plugin.module import Module
from tests.passes.python.passes import define
from tests.stock import MANY_CALLS, clang

pytestmark = pytest.mark.usefixtures("restored_registries")

PIPELINES = (
    "default<O2>",
    "default<O3>",
    "default<Oz>",
    "cgscc(r-scc,inline,r-scc)",
    "cgscc(function(r-function),inline,r-scc,function(r-function,instcombine))",
)
POINTS: tuple[dict[str, str], ...] = (
    {},
    {"cgscc-optimizer-late": "r-scc"},
    {"cgscc-optimizer-late": "function(r-function),r-scc"},
    {"scalar-optimizer-late": "r-function"},
    {"peephole": "r-function"},
    {"vectorizer-start": "r-function"},
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clang(MANY_CALLS, tmp_path_factory.mktemp("random") / "in.bc")


class Changes:
    """Erases calls, and inserts calls of what the function calls already, or of anything."""

    def __init__(self, module: Module, seed: int, *, anything: bool) -> None:
        self.module, self.random, self.anything = module, random.Random(seed), anything

    def in_function(self, function: Function) -> bool:
        return any([self._erase(function), self._insert(function)])

    def in_scc(self, functions: tuple[Function, ...]) -> bool:
        for function in functions:
            self.in_function(function)
        return True

    def _erase(self, function: Function) -> bool:
        wanted = [
            call for call in function.call_sites if str(call.type) != "void" and self.random.random() < 0.3
        ]
        for call in wanted:
            call.replace_all_uses_with(self.module.constant(f"{call.type} 0"))
            call.erase()
        return bool(wanted)

    def _insert(self, function: Function) -> bool:
        called = [call.callee for call in function.call_sites]
        known = list(self.module.functions) if self.anything else called
        callees = [each for each in known if each and not each.name.startswith("llvm.")]
        if not callees or self.random.random() > 0.3:
            return False
        callee = self.random.choice(callees)
        arguments = [self.module.constant(f"{argument.type} 1") for argument in callee.arguments]
        terminator = self.random.choice(list(function.blocks)).terminator
        assert terminator is not None
        IRBuilder(terminator).call(callee, arguments)
        return True


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("anything", [False, True])
def test_random_changes_of_calls(source: Path, seed: int, anything: bool) -> None:
    module = Module.read(source)
    changes = Changes(module, seed, anything=anything)
    define("function", changes.in_function, "r-function")
    define("cgscc", changes.in_scc, "r-scc")
    pipeline, at = changes.random.choice(PIPELINES), changes.random.choice(POINTS)
    refused = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a point that the pipeline does not have
        try:
            optimize(module, pipeline, at=at)
        except PassError as error:
            refused = str(error)
    assert not refused or (anything and "run the pass outside cgscc" in refused)
    module.verify()
