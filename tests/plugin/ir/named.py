# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tests look up by its name in the IR."""

from __future__ import annotations

from passpilot.plugin import ir
from passpilot.plugin.module import Module


def function(module: Module, name: str) -> ir.Function:
    found = module.function(name)
    assert found is not None
    return found


def block(f: ir.Function, name: str) -> ir.BasicBlock:
    return next(each for each in f.blocks if each.name == name)


def instruction(f: ir.Function, name: str) -> ir.Instruction:
    return next(each for each in f.instructions if each.name == name)
