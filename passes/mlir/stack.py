# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-stack`: a runner decides which buffers are on the stack.

MLIR's `promote-buffers-to-stack` says which ones may be: it runs on a copy, with a limit of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from passpilot.features.mlir.stack import TABLE, bytes_of, observe
from passpilot.passes.asking import advised
from passpilot.passes.decision_point import DecisionPoint
from passpilot.passes.mlir.api import pass_
from passpilot.passes.mlir.pipeline import run_pipeline
from passpilot.plugin.mlir.bindings import bindings, operations_in

MLIR_STACK: Final = DecisionPoint[bool].of(TABLE, lambda values: bool(values["is_small"]))
"""The decision: whether a buffer is on the stack. By default, as in MLIR's pass."""

MOST: Final = 2**28
"""Bytes that MLIR's pass can count in bits."""


@pass_("advised-stack", anchor="func.func")
@dataclass(frozen=True)
class AdvisedStack:
    """Puts buffers on the stack as the runner of `mlir-stack` advises; the small ones by default."""

    runner: str | None = None
    limit: int = 65536
    """The bytes of a function's buffers on the stack, in all; those that MLIR takes for small may be more."""

    def __post_init__(self) -> None:
        if not 0 <= self.limit <= MOST:
            raise ValueError(f"expected a limit from 0 to {MOST}, got {self.limit}")

    def run(self, function: Any) -> None:
        """Ask the runner of the option `runner`, or the compilation's advisor, about each buffer."""
        if self.runner is None:
            self._promote(_found(function, self.limit))
        elif found := _found(function, self.limit):
            with MLIR_STACK.advisor(self.runner) as advisor:
                advised("advised-stack", [advisor], partial(self._promote, found))

    def _promote(self, found: dict[Any, bool]) -> None:
        before = 0
        for allocation, is_small in found.items():
            size = bytes_of(allocation)
            if is_small or before + size <= self.limit:
                more = {"is_small": is_small, "buffers": len(found), "bytes_before": before}
                if MLIR_STACK.ask({**observe(allocation), **more}, allocation):
                    _to_stack(allocation)
                    before += size


def _found(function: Any, limit: int) -> dict[Any, bool]:
    """The allocations that may be on the stack, and whether MLIR's pass takes them by default."""
    small, possible = _promoted(function, ""), _promoted(function, f"={limit}")
    found = enumerate(_allocations(function))
    return {allocation: number in small for number, allocation in found if number in small | possible}


def _allocations(function: Any) -> list[Any]:
    return [op for op in operations_in(function) if op.name in ("memref.alloc", "memref.alloca")]


def _promoted(function: Any, limit: str) -> set[int]:
    """The numbers of the allocations that MLIR's pass puts on the stack."""
    copy = function.clone(ip=False)
    options = f"{{max-alloc-size-in-bytes{limit}}}" if limit else ""
    run_pipeline(copy, f"func.func(promote-buffers-to-stack{options})")
    pairs = zip(_allocations(function), _allocations(copy), strict=True)
    return {number for number, (old, new) in enumerate(pairs) if old.name != new.name}


def _to_stack(allocation: Any) -> None:
    ir = bindings().ir
    new = ir.Operation.create(
        "memref.alloca",
        results=[allocation.results[0].type],
        operands=list(allocation.operands),
        attributes=dict(allocation.attributes.items()),
        loc=allocation.location,
        ip=ir.InsertionPoint(allocation),
    )
    allocation.results[0].replace_all_uses_with(new.results[0])
    allocation.erase()
