# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-inline`: MLIR's inliner; a runner decides on each call.

builtin.module(advised-inline{runner=onnx:model.onnx engine=mark-and-run default-pipeline=cse},cse)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from passpilot.passes.advisor import OnError
from passpilot.passes.asking import advised
from passpilot.passes.mlir.api import pass_
from passpilot.passes.mlir.inlining.bottom_up import ITERATIONS
from passpilot.passes.mlir.inlining.point import MLIR_INLINE, Engine, inline

if TYPE_CHECKING:
    from passpilot.plugin.mlir.protocols import Operation


@pass_("advised-inline", anchor="builtin.module")
@dataclass(frozen=True)
class AdvisedInline:
    """Inlines calls as the runner of `mlir-inline` advises; all that MLIR would by default.

    The plugin for stock mlir-opt has the same options, in plugin/native/mlir/advised_inline.cpp; a test
    compares the two.
    """

    runner: str | None = None
    engine: Engine = "bottom-up"
    default_pipeline: str | None = "canonicalize"
    """Simplifies each function before its calls are visited; None or ``none`` for no passes."""
    max_iterations: int = ITERATIONS
    log: str | None = None
    on_error: OnError = "fail"
    timeout: float = 10.0

    def __post_init__(self) -> None:
        if self.max_iterations < 0:
            raise ValueError(f"expected max-iterations of 0 or more, got {self.max_iterations}")
        if not 0 < self.timeout < math.inf:
            raise ValueError(f"expected a timeout above 0, got {self.timeout}")
        if self.runner is None and (self.log or self.on_error != "fail" or self.timeout != 10.0):
            raise ValueError("expected a runner with log, on-error and timeout, got none; add runner=default")

    def run(self, operation: Operation) -> None:
        """Ask the runner of the option `runner`, or the compilation's advisor, about each call."""
        pipeline = "" if self.default_pipeline == "none" else self.default_pipeline or ""
        work = partial(
            inline, operation, engine=self.engine, pipeline=pipeline, max_iterations=self.max_iterations
        )
        if self.runner is None:
            work()
            return
        with MLIR_INLINE.advisor(
            self.runner, log=self.log, on_error=self.on_error, timeout=self.timeout
        ) as advisor:
            advised("advised-inline", [advisor], work)
