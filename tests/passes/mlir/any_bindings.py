# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A module of the package ROOT, which the test puts first: passes, a pattern, decisions, lowering."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pytest

from passpilot import MLIR_INLINE, mlir
from passpilot.errors import InputError

ROOT = globals()["ROOT"]
mlir.bindings(ROOT)  # as a program that has a module of it; later, others may be in the way
TEXT = """
func.func private @leaf(%a: i32) -> i32 {
  %c = arith.constant 3 : i32
  %r = arith.addi %a, %a : i32
  %s = arith.muli %r, %c : i32
  return %s : i32
}
func.func @top(%a: i32) -> i32 {
  %0 = call @leaf(%a) : (i32) -> i32
  %1 = call @leaf(%0) : (i32) -> i32
  return %1 : i32
}
"""


def shift(operation: Any, rewriter: Any) -> bool:
    """Makes a sum a shift."""
    ir, kind, value = mlir.bindings().ir, operation.results[0].type, operation.operands[0]
    with rewriter.ip, operation.location:
        attributes = {"value": ir.IntegerAttr.get(kind, 1)}
        one = ir.Operation.create("arith.constant", [kind], attributes=attributes).results[0]
        rewriter.replace_op(operation, ir.Operation.create("arith.shli", [kind], [value, one]))
    return True


@mlir.pass_("shift", anchor="func.func")
@dataclass(frozen=True)
class Shift:
    def run(self, function: Any) -> None:
        print(mlir.bindings().root)
        mlir.rewrite_greedily(function, {"arith.addi": shift})


def new_context() -> Any:
    """A context that knows func and arith."""
    if ROOT != "jaxlib.mlir":
        return import_module(f"{ROOT}.ir").Context()
    return import_module("jax._src.interpreters.mlir").make_ir_context()


module = mlir.bindings(ROOT).ir.Module.parse(TEXT, new_context())
assert mlir.bindings(module) is mlir.bindings(module.body.operations[0]) is mlir.bindings(ROOT)
asked: list[tuple[str, int]] = []


def decide(obs: Any) -> bool:
    asked.append((obs.site.caller_name, str(obs.site.callee).count("arith.shli")))
    return len(asked) == 1


with MLIR_INLINE.advisor(decide) as advisor:
    mlir.run_pipeline(module, "builtin.module(func.func(shift),advised-inline,mark-module)", [advisor])
assert asked[0] == ("top", 1), asked
counts = [str(module).count(word) for word in ("call @leaf", "arith.shli", "arith.addi")]
assert counts == [1, 2, 0], module
text = mlir.lower(module)
assert (text.count("call i32 @leaf("), text.count("= shl i32")) == (1, 2), text
before = str(module)
with pytest.raises(InputError, match="default-pipeline"):
    mlir.run_pipeline(module, "builtin.module(advised-inline{default-pipeline=nosuch})")
assert str(module) == before
for wrong in (3, "xdsl", object):
    with pytest.raises(InputError, match=r"^mlir\.bindings: expected "):
        mlir.bindings(wrong)
