# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A reader that asks the IR view for everything it has, for tests that reading leaves no trace."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from passpilot.features.llvm.graphs import call_graph, control_flow_graph
from passpilot.plugin import ir
from passpilot.plugin.errors import InputError
from passpilot.plugin.module import Module

KINDS: Final = ("throughput", "latency", "code-size", "size-and-latency")


def properties_of(kind: type) -> tuple[str, ...]:
    """The names of the properties of its instances; printing takes long, and is asked of functions alone."""
    names = (each for each in dir(kind) if isinstance(getattr(kind, each), property))
    printed = issubclass(kind, ir.GlobalValue)
    return tuple(each for each in names if printed or each != "as_operand")


PROPERTIES: Final = {
    kind: properties_of(kind)
    for kind in (Module, *(getattr(ir, name) for name in ir.__all__))
    if isinstance(kind, type)
}


def read_all(unit: object) -> int:
    """Ask for all of a pass's unit; how many answers there were."""
    if isinstance(unit, Module):
        return read_module(unit)
    if isinstance(unit, ir.Loop):
        things = (unit, *unit.subloops, *unit.blocks, *unit.header.instructions)
        return sum(map(read, things))
    return sum(map(read_function, unit if isinstance(unit, tuple) else (unit,)))


def read_module(module: Module) -> int:
    count = read(module)
    for each in (*module.globals, *module.aliases, *module.ifuncs):
        count += read(each)
    call_graph(module)
    return count + sum(map(read_function, module.functions))


def read_function(function: ir.Function) -> int:
    """Everything of the function, its arguments, loops, blocks and instructions."""
    if function.is_declaration:
        return read(function)
    control_flow_graph(function, frequencies=True)
    things = (*function.arguments, *function.blocks, *function.loops, *function.instructions)
    return read(function) + sum(map(read, things)) + sum(1 for _ in questions(function))


def questions(function: ir.Function) -> Iterator[object]:
    """What takes arguments: of neighbours, lest the number of pairs explode."""
    for block in function.blocks:
        for successor in block.successors:
            yield block.probability_to(successor)
            yield block.dominates(successor)
    pointers: list[ir.Value] = []
    for instruction in function.instructions:
        yield [instruction.cost(kind) for kind in KINDS]
        yield instruction.dominates(function.entry_block.terminator)  # type: ignore[union-attr]
        pointers += [each for each in instruction.operands if each.type.kind == "pointer"]
    for a, b in pairwise(pointers):
        yield function.alias(a, b, 4, None)


def read(thing: object) -> int:
    """All properties; how many have a value."""
    return sum(answered(thing, name) for name in PROPERTIES[type(thing)])


def answered(thing: object, name: str) -> bool:
    try:
        getattr(thing, name)
    except InputError:
        return False  # a declaration, a call without a body to look at
    return True
