# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The features of calls in MLIR, against what a second count of the same module gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import networkx
import pytest

from passpilot.features.mlir.inline import DIALECTS, FEATURES, CallSite
from passpilot.features.point import find_table
from passpilot.passes.mlir.api import run_pipeline
from passpilot.passes.mlir.inlining.point import MLIR_INLINE
from passpilot.plugin.errors import StaleViewError
from passpilot.plugin.mlir.bindings import operations_in
from passpilot.runners.python import Observation
from tests.passes.mlir.passes import parsed
from tests.passes.mlir.programs import Program

LOOPS = ("scf.for", "scf.while", "affine.for", "affine.parallel", "scf.parallel", "scf.forall")

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


def names_around(operation: Any) -> Iterator[str]:
    """What is around an operation in its function, the innermost first."""
    while (operation := operation.parent).name != "func.func":
        yield operation.name


def depth(operation: Any) -> int:
    """How many regions are within each other in an operation."""
    regions = [region for region in operation.regions if list(region.blocks)]
    inner = (depth(each.operation) for region in regions for block in region for each in block.operations)
    return (1 + max(inner, default=0)) if regions else 0


def counted(functions: Mapping[str, Any], graph: networkx.DiGraph[str], call: Any) -> dict[str, int]:
    """The features of a call, counted from the IR alone."""
    (caller,) = (name for name, each in functions.items() if call in operations_in(each))
    name = callee_of(call)
    callee = functions[name]
    bodies = {name: operations_in(each)[1:] for name, each in functions.items()}
    uses = Counter(
        each.attributes["callee"].value for body in bodies.values() for each in body if _calls(each)
    )
    component = next(each for each in networkx.strongly_connected_components(graph) if name in each)
    dialects = Counter(each.name.partition(".")[0] for each in bodies[name])
    around = list(names_around(call))
    return {
        "arguments": len(call.operands),
        "constant_arguments": sum(_is_constant(each.owner) for each in call.operands),
        "results": len(call.results),
        "loop_depth": sum(each in LOOPS for each in around),
        "region_depth": len(around) + 1,
        "callee_operations": len(bodies[name]),
        "callee_blocks": _blocks(callee),
        "callee_region_depth": depth(callee),
        "callee_loops": sum(each.name in LOOPS for each in bodies[name]),
        "callee_calls": sum(map(_calls, bodies[name])),
        **{f"callee_{dialect}_operations": dialects[dialect] for dialect in DIALECTS},
        "callee_other_operations": sum(n for dialect, n in dialects.items() if dialect not in DIALECTS),
        "callee_uses": uses[name],
        "callee_is_private": int("sym_visibility" in callee.attributes),
        "callee_is_recursive": int(len(component) > 1 or graph.has_edge(name, name)),
        "callee_height": height(graph, name),
        "callee_component_size": len(component),
        "caller_operations": len(bodies[caller]),
        "caller_blocks": _blocks(functions[caller]),
        "caller_calls": sum(map(_calls, bodies[caller])),
        "caller_uses": uses[caller],
        "caller_is_private": int("sym_visibility" in functions[caller].attributes),
        "caller_height": height(graph, caller),
        "functions": len(functions),
    }


def site_of(obs: Observation) -> CallSite:
    """What a decision is about."""
    assert isinstance(obs.site, CallSite)
    return obs.site


def callee_of(call: Any) -> str:
    """The symbol that a call names."""
    return str(call.attributes["callee"].value)


def _calls(operation: Any) -> bool:
    return str(operation.name) == "func.call"


def _is_constant(owner: Any) -> bool:
    return hasattr(owner, "operation") and str(owner.operation.name) == "arith.constant"


def _blocks(function: Any) -> int:
    return sum(len(list(r.blocks)) for each in operations_in(function) for r in each.regions)


def height(graph: networkx.DiGraph[str], name: str) -> int:
    """The longest way down, where those who call each other are one."""
    condensed = networkx.condensation(graph)
    of = condensed.graph["mapping"]
    below = networkx.descendants(condensed, of[name]) | {of[name]}
    length: int = networkx.dag_longest_path_length(condensed.subgraph(below))
    return length


def graph_of(functions: Mapping[str, Any]) -> networkx.DiGraph[str]:
    """Who calls whom."""
    graph: networkx.DiGraph[str] = networkx.DiGraph()
    for name, function in functions.items():
        graph.add_node(name)
        called = map(callee_of, filter(_calls, operations_in(function)))
        graph.add_edges_from((name, other) for other in called)
    return graph


def functions_of(module: Any) -> dict[str, Any]:
    """The functions of a module by name."""
    return {each.operation.attributes["sym_name"].value: each.operation for each in module.body.operations}


def check_against_the_ir(text: str, engine: str, answer: int) -> int:
    """Compare what the runner sees of each call with what is counted at that moment; how many there were."""
    module = parsed(text)
    first = graph_of(functions_of(module))
    seen: list[str] = []

    def decide(obs: Observation) -> int:
        functions = functions_of(module)
        expected = counted(functions, first, site_of(obs).call)
        if len(functions) < len(first):  # whom the dropped ones use is still counted
            del expected["callee_uses"], expected["caller_uses"]
        assert {name: obs[name].item() for name in expected} == expected
        seen.append(f"{site_of(obs).caller_name} -> {site_of(obs).callee_name}")
        return answer

    with MLIR_INLINE.advisor(decide) as advisor:
        run_pipeline(
            module, f"builtin.module(advised-inline{{engine={engine} default-pipeline=none}})", [advisor]
        )
    return len(seen)


@pytest.mark.parametrize("engine", ["bottom-up", "mark-and-run"])
@pytest.mark.parametrize("answer", [0, 1])
def test_features_are_those_of_the_ir(engine: str, answer: int) -> None:
    assert check_against_the_ir(TEXT, engine, answer) == 3


@pytest.mark.filterwarnings("ignore:.*was never asked")
def test_features_of_generated_modules() -> None:
    texts = [text for text in (Program(seed).text() for seed in range(60)) if "indirect" not in text]
    assert sum(check_against_the_ir(text, "bottom-up", 0) for text in texts) > 100


def test_every_row_is_documented() -> None:
    table = find_table("mlir-inline")
    assert [row.spec.name for row in table[: len(FEATURES)]] == [row.spec.name for row in FEATURES]
    assert all(row.doc for row in table)


def test_site_is_stale_after_its_decision() -> None:
    sites: list[Any] = []

    def decide(obs: Observation) -> int:
        sites.append(obs.site)
        assert str(site_of(obs).call).count("call @")
        assert site_of(obs).caller.attributes["sym_name"].value == site_of(obs).context
        return 1

    with MLIR_INLINE.advisor(decide) as advisor:
        run_pipeline(parsed(TEXT), "builtin.module(advised-inline)", [advisor])
    for name in ("call", "caller", "callee", "place"):
        with pytest.raises(StaleViewError, match=f"obs.site.{name}: expected to be read within its decision"):
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
