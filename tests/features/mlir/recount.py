# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the features of a call in MLIR from the IR alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

import networkx

from passpilot.features.mlir.inline import DIALECTS
from passpilot.plugin.mlir.bindings import operations_in

NESTED: Final = """\
func.func @choose(%x: i64, %t: i1) -> i64 {
  %y = scf.if %t -> (i64) {
    %z = arith.muli %x, %x : i64
    scf.yield %z : i64
  } else {
    scf.yield %x : i64
  }
  return %y : i64
}
func.func @blocks(%x: i64, %t: i1) -> i64 {
  cf.cond_br %t, ^one, ^two
^one:
  %c = arith.constant 2 : i64
  %y = call @choose(%c, %t) : (i64, i1) -> i64
  return %y : i64
^two:
  return %x : i64
}
func.func @main(%x: i64, %t: i1) -> i64 {
  %0 = call @choose(%x, %t) : (i64, i1) -> i64
  %1 = call @blocks(%0, %t) : (i64, i1) -> i64
  %2 = call @choose(%1, %t) : (i64, i1) -> i64
  %3 = call @blocks(%2, %t) : (i64, i1) -> i64
  %4 = call @choose(%3, %t) : (i64, i1) -> i64
  return %4 : i64
}
"""
"""Bodies with nested blocks, and with several blocks of their own."""

LLVM: Final = """\
llvm.func @straight(%x: i64, %p: !llvm.ptr {llvm.noalias}) -> i64 {
  %y = llvm.load %p : !llvm.ptr -> i64
  %z = llvm.add %x, %y : i64
  llvm.return %z : i64
}
llvm.func @both(%x: i64, %t: i1, %p: !llvm.ptr {llvm.noalias}) -> i64 {
  llvm.cond_br %t, ^one, ^two
^one:
  %y = llvm.call @straight(%x, %p) : (i64, !llvm.ptr) -> i64
  llvm.return %y : i64
^two:
  %n = llvm.mlir.constant(1 : i64) : i64
  %s = llvm.alloca %n x i64 : (i64) -> !llvm.ptr
  llvm.store %x, %s : i64, !llvm.ptr
  %v = llvm.load %s : !llvm.ptr -> i64
  llvm.return %v : i64
}
llvm.func @main(%x: i64, %t: i1, %p: !llvm.ptr) -> i64 {
  %0 = llvm.call @straight(%x, %p) : (i64, !llvm.ptr) -> i64
  %1 = llvm.call @both(%0, %t, %p) : (i64, i1, !llvm.ptr) -> i64
  %2 = llvm.call @straight(%1, %p) : (i64, !llvm.ptr) -> i64
  %3 = llvm.call @both(%2, %t, %p) : (i64, i1, !llvm.ptr) -> i64
  llvm.return %3 : i64
}
"""
"""Bodies to which MLIR's inliner adds operations of its own."""

LOOPS: Final = ("scf.for", "scf.while", "affine.for", "affine.parallel", "scf.parallel", "scf.forall")


def names_around(operation: Any) -> Iterator[str]:
    """What is around an operation in its function, the innermost first."""
    while not is_function(operation := operation.parent):
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
    uses = Counter(callee_of(each) for body in bodies.values() for each in body if _calls(each))
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
        "callee_is_private": int(_is_private(callee)),
        "callee_is_recursive": int(len(component) > 1 or graph.has_edge(name, name)),
        "callee_height": height(graph, name),
        "callee_component_size": len(component),
        "caller_operations": len(bodies[caller]),
        "caller_blocks": _blocks(functions[caller]),
        "caller_calls": sum(map(_calls, bodies[caller])),
        "caller_uses": uses[caller],
        "caller_is_private": int(_is_private(functions[caller])),
        "caller_height": height(graph, caller),
        "functions": len(functions),
    }


def callee_of(call: Any) -> str:
    """The symbol that a call names."""
    return str(call.attributes["callee"].value)


def _calls(operation: Any) -> bool:
    return str(operation.name) in ("func.call", "llvm.call")


def _is_constant(owner: Any) -> bool:
    return hasattr(owner, "operation") and str(owner.operation.name).endswith(".constant")


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
        graph.add_edges_from((name, other) for other in called if other in functions)
    return graph


def functions_of(module: Any) -> dict[str, Any]:
    """The functions of a module that have a body, by name."""
    operations = (each.operation for each in module.body.operations)
    return {
        each.attributes["sym_name"].value: each
        for each in operations
        if is_function(each) and len(each.regions[0].blocks)
    }


def is_function(operation: Any) -> bool:
    """Whether an operation is a function."""
    return str(operation.name) in ("func.func", "llvm.func")


def calls_between(functions: Mapping[str, Any], caller: str, callee: str) -> list[Any]:
    """The calls of one function in another."""
    return [each for each in operations_in(functions[caller]) if _calls(each) and callee_of(each) == callee]


def _is_private(function: Any) -> bool:
    attributes = function.attributes
    return "sym_visibility" in attributes and attributes["sym_visibility"].value != "public"
