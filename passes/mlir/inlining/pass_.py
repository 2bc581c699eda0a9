# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-inline`: MLIR's inliner; a runner decides on each call.

builtin.module(advised-inline{runner=onnx:model.onnx engine=mark-and-run default-pipeline=cse},cse)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from passpilot.passes.mlir.api import pass_
from passpilot.passes.mlir.inlining.point import MLIR_INLINE, Engine, inline
from passpilot.plugin.asking import advised

if TYPE_CHECKING:
    from passpilot.plugin.mlir.protocols import Operation


@pass_("advised-inline", anchor="builtin.module")
@dataclass(frozen=True)
class AdvisedInline:
    """Inlines calls as the runner of `mlir-inline` advises; all that MLIR would by default.

    `default-pipeline` simplifies each function before its calls are visited; ``none`` switches it off.
    """

    runner: str | None = None
    engine: Engine = "bottom-up"
    default_pipeline: str = "canonicalize"

    def run(self, operation: Operation) -> None:
        """Ask the runner of the option `runner`, or the compilation's advisor, about each call."""
        pipeline = "" if self.default_pipeline == "none" else self.default_pipeline
        work = partial(inline, operation, engine=self.engine, pipeline=pipeline)
        if self.runner is None:
            work()
            return
        with MLIR_INLINE.advisor(self.runner) as advisor:
            advised("advised-inline", [advisor], work)
