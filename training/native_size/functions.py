# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions as rows: what of their IR says how large their machine code is, and how large it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from passpilot.passes.emit import generate
from passpilot.passes.optimize import optimize
from passpilot.plugin import _core
from passpilot.plugin.compile import PipelineOptions, file_type
from passpilot.plugin.module import Module
from passpilot.training.rewards import symbol_sizes

if TYPE_CHECKING:
    from passpilot.plugin.errors import Error
    from passpilot.plugin.ir import Function
    from passpilot.training.data.gather import TaughtModule
    from passpilot.training.machines.local import Machines

    Doubles = NDArray[np.float64]

SHAPE: Final = ("blocks", "instructions", "arguments", "phis", "incoming")
"""The features of a function beside its embedding. `incoming` are operands of phis; most cost nothing."""

OPT_LEVEL: Final = 2
"""The level of code generation, llc's default."""

NOWHERE: Final = "available_externally"
"""The linkage of functions whose code another module has."""


@dataclass(frozen=True, slots=True)
class FunctionRows:
    """Functions of modules behind their pipeline.

    Attributes:
        names: of functions.
        counts: float64[N, E], how often a function has each of IR2Vec's entities, by LLVM's weight of them.
        shape: float64[N, S], `SHAPE`.
        sizes: float64[N], the bytes of machine code; zeros if nobody has measured them.
    """

    names: Sequence[str]
    counts: Doubles
    shape: Doubles
    sizes: Doubles

    @staticmethod
    def joined(rows: Sequence[FunctionRows]) -> FunctionRows:
        return FunctionRows(
            [name for part in rows for name in part.names],
            np.concatenate([np.zeros((0, len(_core.ir2vec_entities()))), *(part.counts for part in rows)]),
            np.concatenate([np.zeros((0, len(SHAPE))), *(part.shape for part in rows)]),
            np.concatenate([np.zeros(0), *(part.sizes for part in rows)]),
        )

    def chosen(self, numbers: Sequence[int]) -> FunctionRows:
        """The functions with these numbers."""
        names = [self.names[number] for number in numbers]
        return FunctionRows(names, self.counts[numbers], self.shape[numbers], self.sizes[numbers])

    def sampled(self, most: int) -> FunctionRows:
        """At most so many functions, those whose names have the smallest hashes."""
        if len(self.names) <= most:
            return self
        hashes = [blake2b(name.encode(), digest_size=8).digest() for name in self.names]
        return self.chosen(sorted(sorted(range(len(hashes)), key=hashes.__getitem__)[:most]))


@cache
def _counting() -> _core.IR2VecVocabulary:
    """A vocabulary of unit vectors: its embedding of a function counts the entities."""
    return _core.IR2VecVocabulary(np.eye(len(_core.ir2vec_entities())))


def shape_of(function: Function) -> tuple[int, ...]:
    """`SHAPE` of a function."""
    blocks = phis = incoming = 0
    for block in function.blocks:
        blocks += 1
        here = 0
        for instruction in block.instructions:
            if instruction.opcode != "phi":
                break
            here += 1
        if here:
            phis += here
            incoming += here * len(block.predecessors)
    return blocks, function.instruction_count, sum(1 for _ in function.arguments), phis, incoming


def functions_with_code(module: Module) -> list[Function]:
    """The functions whose code the module has."""
    return [f for f in module.functions if not f.is_declaration and f.linkage != NOWHERE]


def rows_of(module: Module) -> FunctionRows:
    """The functions of a module that has run through its pipeline."""
    found = functions_with_code(module)
    shape = [shape_of(function) for function in found]
    entities = len(_core.ir2vec_entities())
    counts = np.array([_counting().embed(function, False) for function in found]).reshape(-1, entities)
    return FunctionRows(
        [function.name for function in found],
        counts,
        np.array(shape, np.float64).reshape(-1, len(SHAPE)),
        np.zeros(len(found)),
    )


def measured_rows(
    modules: Sequence[TaughtModule],
    machines: Machines,
    deadline: float,
    done: Callable[[int, object], object] = lambda _number, _made: None,
) -> list[FunctionRows | Error]:
    """Compile modules in processes of their own; the functions of each, with their sizes, or its error."""
    runs = [partial(_measured, module) for module in modules]
    return machines.run("train native-size", runs, deadline, done)


def _measured(taught: TaughtModule) -> FunctionRows:
    module = Module.read(taught.path)
    optimize(module, taught.pipeline, [], options=PipelineOptions(as_clang=True))
    rows = rows_of(module)
    options = _core.EmitOptions()
    options.filetype, options.opt_level, options.relocation_model = file_type("obj"), OPT_LEVEL, "pic"
    sizes = symbol_sizes(generate(module, options, []).code)
    kept = [number for number, name in enumerate(rows.names) if name in sizes]
    found = rows.chosen(kept)
    return replace(found, sizes=np.array([sizes[name] for name in found.names], np.float64))
