# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies, a feature and passes for stock mlir-opt."""

import ctypes
from dataclasses import dataclass

import passpilot
from passpilot import mlir


def small(obs):
    return obs["callee_operations"][0] < 5


def silent(obs):
    raise ValueError("nothing to say")


@passpilot.feature("int64[1]", point="mlir-inline")
def letters(site):
    return len(site.callee_name)


@mlir.pass_("double", anchor="func.func")
@dataclass(frozen=True)
class Double:
    """Double small constants."""

    limit: int = 10

    def run(self, operation):
        ir = mlir.bindings().ir

        def see(each):
            value = each.attributes["value"] if each.name == "arith.constant" else None
            if value is not None and value.value < self.limit:
                each.attributes["value"] = ir.IntegerAttr.get(value.type, 2 * value.value)
            return ir.WalkResult.ADVANCE

        operation.walk(see)


@mlir.pass_("die")
@dataclass(frozen=True)
class Die:
    def run(self, operation):
        ctypes.CDLL(None)._exit(7)
