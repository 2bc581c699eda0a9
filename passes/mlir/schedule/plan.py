# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`KernelPlan`: the decisions for a function of linalg operations, and their file.

A script in MLIR's transform dialect carries the plan out in three steps, and the operations are numbered
anew in every step, in the order of the text:

1. **Fusion** of elementwise operations into their consumers, if `fuse` says so; `softmax` is decomposed.
2. **Structure.** The contractions of `packs` get packed operands; then the loops of `root` tile the last
   operation, and all its producers move into them.
3. **Operations.** Every operation is tiled, and its innermost tile becomes vectors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from passpilot.plugin.files import replace_file
from passpilot.plugin.json_and_toml import read_toml, typed_record

HEAD: Final = "# passpilot kernel decisions 1"


@dataclass(frozen=True, slots=True)
class OperationPlan:
    """The decisions for one operation; a sequence has one number per loop."""

    tile: tuple[int, ...] = field(default=(), metadata={"low": 0, "high": 1 << 20, "most": 12})
    """The sizes of tiles that fit a cache; 0 for a loop that is not tiled, empty for no such tiles."""
    interchange: tuple[int, ...] = field(default=(), metadata={"low": 0, "high": 11, "most": 12})
    """The loops over these tiles, outermost first; empty for the order of the operation."""
    vector: tuple[int, ...] = field(default=(), metadata={"low": 0, "high": 4096, "most": 12})
    """The sizes of the innermost tiles, which become vectors; 0 for the whole loop, empty for scalar code."""
    unroll: int = field(default=1, metadata={"low": 1, "high": 64})
    """How often the innermost loop is unrolled."""
    threads: int = field(default=1, metadata={"low": 1, "high": 4096})
    """How many threads share the outermost loop without a reduction."""


@dataclass(frozen=True, slots=True)
class KernelPlan:
    """The decisions for a function."""

    function: str
    fuse: bool = True
    """Whether elementwise operations are fused into their consumers."""
    packs: Mapping[str, tuple[int, ...]] = field(
        default_factory=dict, metadata={"low": 0, "high": 4096, "most": 12}
    )
    """The packed tile of operations by their number: one size per loop, 0 for a loop that is not packed."""
    root: OperationPlan = OperationPlan()
    """The loops around the last operation, into which its producers are fused; none without a tile."""
    operations: tuple[OperationPlan, ...] = field(default=(), metadata={"most": 1000})
    """The plans of the operations after fusion and packing; those that are missing stay scalar code."""

    def with_operation(self, number: int, plan: OperationPlan) -> KernelPlan:
        """The same with another plan for one operation."""
        operations = [*self.operations, *[OperationPlan()] * (number + 1 - len(self.operations))]
        operations[number] = plan
        return replace(self, operations=tuple(operations))

    @property
    def structure(self) -> KernelPlan:
        """The same without the operations' own plans."""
        return replace(self, operations=())


def write_plan(path: str, plan: KernelPlan, notes: Sequence[str], names: Sequence[str]) -> None:
    """Write a plan; `names` are those of the operations, for people.

    Raises:
        InputError: the file cannot be written.
    """
    lines = [HEAD, *(f"# {note}" for note in notes)]
    lines += [
        f"function = {json.dumps(plan.function, ensure_ascii=False)}",
        f"fuse = {str(plan.fuse).lower()}",
    ]
    if plan.packs:
        lines += ["", "[packs]", *(f"{number} = {list(sizes)}" for number, sizes in plan.packs.items())]
    if plan.root.tile:
        lines += ["", "[root]", *_rows(plan.root)]
    for number, operation in enumerate(plan.operations):
        name = f"  # {number}: {names[number]}" if number < len(names) else ""
        lines += ["", f"[[operations]]{name}", *_rows(operation)]
    replace_file(path, "\n".join(lines) + "\n")


def read_plan(path: str) -> KernelPlan:
    """Read a plan that `passpilot tune` or a person has written.

    Raises:
        InputError: the file cannot be read, or is no plan.
    """
    return typed_record(read_toml(path), KernelPlan, path, strict=True)


def _rows(plan: OperationPlan) -> list[str]:
    lists = [
        f"{name} = {list(value)}"
        for name, value in (
            ("tile", plan.tile),
            ("interchange", plan.interchange),
            ("vector", plan.vector),
        )
        if value
    ]
    counts = [
        f"{name} = {value}"
        for name, value in (("unroll", plan.unroll), ("threads", plan.threads))
        if value > 1
    ]
    return lists + counts
