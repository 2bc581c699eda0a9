# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The features of calls in MLIR, against what a second count of the same module gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from passpilot.features.mlir.inline import CallSite
from passpilot.passes.mlir.api import run_pipeline
from passpilot.passes.mlir.inline import MLIR_INLINE
from passpilot.plugin.errors import StaleViewError
from passpilot.runners.python import Observation
from tests.corpus.modules import unpacked
from tests.features.mlir.recount import LLVM, NESTED, counted, functions_of, graph_of
from tests.passes.mlir.passes import parsed
from tests.passes.mlir.programs import Program

# Affine's dialect does not let @leaf be inlined into the region of scf.if.
TEXT = """\
func.func @recursive(%x: i64, %test: i1) -> i64 {
  %0 = scf.if %test -> (i64) {
    %1 = func.call @recursive(%x, %test) : (i64, i1) -> i64
    scf.yield %1 : i64
  } else {
    scf.yield %x : i64
  }
  return %0 : i64
}
func.func private @leaf(%x: i64, %k: i64) -> i64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %m = memref.alloca() : memref<4xi64>
  affine.for %i = 0 to 4 {
    affine.store %x, %m[%i] : memref<4xi64>
  }
  %y = memref.load %m[%one] : memref<4xi64>
  return %y : i64
}
func.func private @tiny(%x: i64, %k: i64) -> i64 {
  %y = arith.addi %x, %k : i64
  return %y : i64
}
func.func @middle(%x: i64, %test: i1) -> i64 {
  %k = arith.constant 3 : i64
  %low = arith.constant 0 : index
  %high = arith.constant 9 : index
  %step = arith.constant 1 : index
  %0 = scf.for %i = %low to %high step %step iter_args(%a = %x) -> (i64) {
    %1 = scf.if %test -> (i64) {
      %2 = func.call @leaf(%a, %k) : (i64, i64) -> i64
      %3 = func.call @tiny(%2, %k) : (i64, i64) -> i64
      scf.yield %3 : i64
    } else {
      scf.yield %a : i64
    }
    scf.yield %1 : i64
  }
  return %0 : i64
}
func.func @main(%x: i64, %test: i1) -> i64 {
  cf.cond_br %test, ^one, ^two
^one:
  %0 = call @middle(%x, %test) : (i64, i1) -> i64
  return %0 : i64
^two:
  %1 = call @recursive(%x, %test) : (i64, i1) -> i64
  %2 = call @leaf(%1, %1) : (i64, i64) -> i64
  return %2 : i64
}
"""


def site_of(obs: Observation) -> CallSite:
    """What a decision is about."""
    assert isinstance(obs.site, CallSite)
    return obs.site


def check_against_the_ir(
    text: str, engine: str, answer: int | Callable[[int], int], pipeline: str = "none"
) -> int:
    """Compare what the runner sees of each call with what is counted at that moment; how many there were."""
    module = parsed(text)
    first = graph_of(functions_of(module))
    seen: list[str] = []

    def decide(obs: Observation) -> int:
        functions = functions_of(module)
        expected = counted(functions, first, site_of(obs).call)
        assert obs["functions"].item() <= expected.pop("functions"), "dropped ones are erased at the end"
        assert {name: obs[name].item() for name in expected} == expected
        seen.append(f"{site_of(obs).caller_name} -> {site_of(obs).callee_name}")
        return answer(len(seen)) if callable(answer) else answer

    with MLIR_INLINE.advisor(decide) as advisor:
        options = f"engine={engine} default-pipeline={pipeline}"
        run_pipeline(module, f"builtin.module(advised-inline{{{options}}})", [advisor])
    return len(seen)


@pytest.mark.parametrize("engine", ["bottom-up", "mark-and-run"])
@pytest.mark.parametrize("answer", [0, 1])
def test_features_are_those_of_the_ir(engine: str, answer: int) -> None:
    assert check_against_the_ir(TEXT, engine, answer) == 3


@pytest.mark.parametrize("text", [NESTED, LLVM])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_features_of_callers_that_grow(text: str, times: int) -> None:
    assert check_against_the_ir(text, "bottom-up", lambda count: count % times == 0) > 4


@pytest.mark.filterwarnings("ignore:.*was never asked")
@pytest.mark.parametrize("answer", [0, 1])
def test_features_of_generated_modules(answer: int) -> None:
    texts = [text for text in (Program(seed).text() for seed in range(60)) if "indirect" not in text]
    assert sum(check_against_the_ir(text, "bottom-up", answer) for text in texts) > 100


@pytest.mark.parametrize("name", ["flax_resnet_forward", "scipy_bfgs_rosenbrock"])
@pytest.mark.parametrize("pipeline", ["none", "canonicalize"])
def test_features_of_real_modules(name: str, pipeline: str, tmp_path: Path) -> None:
    text = unpacked(name, tmp_path).text
    assert check_against_the_ir(text, "bottom-up", lambda count: count % 4 != 3, pipeline) > 15


@pytest.mark.parametrize("engine", ["bottom-up", "mark-and-run"])
def test_site_is_stale_after_its_decision(engine: str) -> None:
    sites: list[Any] = []

    def decide(obs: Observation) -> int:
        sites.append(obs.site)
        assert str(site_of(obs).call).count("call @")
        name: Any = site_of(obs).caller.attributes["sym_name"]
        assert name.value == site_of(obs).context
        return 1

    with MLIR_INLINE.advisor(decide) as advisor:
        run_pipeline(parsed(TEXT), f"builtin.module(advised-inline{{engine={engine}}})", [advisor])
    for name in ("call", "caller", "callee", "place"):
        with pytest.raises(StaleViewError, match=f"obs.site.{name}: it can be read within its decision"):
            getattr(sites[0], name)


def test_caller_is_whole_when_it_is_looked_at() -> None:
    """A body of several blocks is in its place when the next policy looks."""
    text = """\
func.func private @two(%x: i64, %t: i1) -> i64 {
  cf.cond_br %t, ^one, ^two
^one:
  return %x : i64
^two:
  %y = arith.muli %x, %x : i64
  return %y : i64
}
func.func @main(%x: i64, %t: i1) -> i64 {
  %0 = call @two(%x, %t) : (i64, i1) -> i64
  %1 = call @two(%0, %t) : (i64, i1) -> i64
  return %1 : i64
}
"""
    calls: list[int] = []

    def decide(obs: Observation) -> int:
        assert site_of(obs).caller.verify()
        calls.append(str(site_of(obs).caller).count("call @two"))
        return 1

    with MLIR_INLINE.advisor(decide) as advisor:
        run_pipeline(parsed(text), "builtin.module(advised-inline)", [advisor])
    assert calls == [2, 1]
