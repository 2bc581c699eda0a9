# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes in Python for MLIR's pipelines."""

import sys
import threading
from dataclasses import dataclass
from typing import Literal

import passpilot
from passpilot import mlir

BOTH = threading.Barrier(2, timeout=10)
MARK = passpilot.DecisionPoint(
    "mark",
    features=[passpilot.TensorSpec("operands", "int64", (1,))],
    advice=passpilot.TensorSpec("yes", "int64", (1,)),
    default=lambda values: False,
)


@mlir.pass_("say", anchor="func.func")
@dataclass(frozen=True)
class Say:
    """Says which function it is on."""

    limit: int = 3
    mode: Literal["fast", "slow"] = "fast"
    loud: bool = False

    def run(self, function):
        print("say", function.attributes["sym_name"].value, self.limit, self.mode, self.loud, file=sys.stderr)


@mlir.pass_("meet", anchor="func.func")
@dataclass(frozen=True)
class Meet:
    """Waits for itself in another thread."""

    def run(self, function):
        BOTH.wait()


@mlir.pass_("raise-error", anchor="func.func")
@dataclass(frozen=True)
class RaiseError:
    """Raises."""

    def run(self, function):
        if function.attributes["sym_name"].value == "big":
            raise ValueError("no luck")


@mlir.pass_("refuse")
@dataclass(frozen=True)
class Refuse:
    """Refuses multiplications."""

    def run(self, operation):
        for each in found(operation, "arith.muli"):
            each.location.emit_error("expected sums only")
            mlir.signal_pass_failure()


@mlir.pass_("ask", anchor="func.func")
@dataclass(frozen=True)
class Ask:
    """Marks operations."""

    def run(self, function):
        for each in function.regions[0].blocks[0].operations:
            if MARK.ask({"operands": len(each.operands)}, each):
                each.attributes["marked"] = mlir.bindings().ir.UnitAttr.get(function.context)


@mlir.pass_("strength", anchor="func.func")
@dataclass(frozen=True)
class Strength:
    """Makes sums of a value with itself shifts."""

    def run(self, function):
        mlir.rewrite_greedily(function, {"arith.addi": shifted})


def shifted(operation, rewriter):
    """The rewrite pattern of `Strength`."""
    left, right = operation.operands
    if left != right:
        return False
    arith = mlir.bindings().dialect("arith")
    with rewriter.ip, operation.location:
        new = arith.shli(left, arith.constant(left.type, 1))
    rewriter.replace_op(operation, [new])
    return True


def found(operation, name):
    """All operations of a name inside one."""
    ir = mlir.bindings().ir
    kept = []

    def visit(each):
        if each.name == name:
            kept.append(each)
        return ir.WalkResult.ADVANCE

    operation.walk(visit)
    return kept


def wide(obs):
    """A policy that marks operations of two operands."""
    return obs["operands"] == 2


def broken(obs):
    """A policy that raises."""
    raise RuntimeError("too hard for me")


@mlir.pass_("break", anchor="func.func")
@dataclass(frozen=True)
class Break:
    """Erases the terminators of functions, which MLIR's verifier does not take."""

    def run(self, function):
        for block in function.regions[0]:
            list(block.operations)[-1].operation.erase()
