# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A pass of MLIR's pipelines in a package of its own, with a decision point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from passpilot import DecisionPoint, TensorSpec, mlir

MARK = DecisionPoint[bool](
    "example-mark",
    features=[TensorSpec("operands", "int64", (1,))],
    advice=TensorSpec("mark", "int64", (1,)),
    default=lambda _: False,
)


@mlir.pass_("example-mark", anchor="func.func")
@dataclass(frozen=True)
class Mark:
    """Marks the operations that the advisor says yes to."""

    name: str = "marked"

    def run(self, function: Any) -> None:
        for each in function.regions[0].blocks[0].operations:
            if MARK.ask({"operands": len(each.operands)}, each):
                each.attributes[self.name] = mlir.bindings().ir.UnitAttr.get(function.context)
