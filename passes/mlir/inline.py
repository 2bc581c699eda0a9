# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-inline`: MLIR's inliner; a runner decides on each call, at the decision point `mlir-inline`.

    builtin.module(advised-inline{runner=onnx:model.onnx engine=mark-and-run default-pipeline=cse},cse)

The inliner is that of the plugin for stock mlir-opt. It works on modules of upstream's bindings; a module
of other bindings goes there and back as text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from passpilot.features.mlir.inline import TABLE
from passpilot.passes.advisor import OnError
from passpilot.passes.asking import ASKED, advised
from passpilot.passes.decision_point import DecisionPoint
from passpilot.passes.mlir.apart import run_apart
from passpilot.passes.mlir.api import pass_
from passpilot.passes.mlir.registered_calls import allow_calls, as_calls_of_func
from passpilot.passes.point_advisor import PointAdvisor
from passpilot.plugin.errors import InputError
from passpilot.plugin.mlir.bindings import UPSTREAM, ClashError, bindings
from passpilot.plugin.mlir.exchange import replace, text_of, upstream_copy
from passpilot.plugin.mlir.inliner import inliner

if TYPE_CHECKING:
    from passpilot.plugin.mlir.protocols import Operation

MLIR_INLINE: Final = DecisionPoint[bool].of(TABLE, lambda _: True)
"""The decision: whether to inline a call. By default, yes, as in MLIR's inliner."""


@pass_("advised-inline", anchor="builtin.module")
@dataclass(frozen=True)
class AdvisedInline:
    """Inlines calls as the runner of `mlir-inline` advises; all that MLIR would by default.

    The plugin for stock mlir-opt has the same options, in plugin/native/mlir/advised_inline.cpp; a test
    compares the two.
    """

    runner: str | None = None
    engine: Literal["bottom-up", "mark-and-run"] = "bottom-up"
    default_pipeline: str | None = "canonicalize"
    """Simplifies each function before its calls are visited; None or ``none`` for no passes."""
    max_iterations: int = 4
    log: str | None = None
    on_error: OnError = "fail"
    timeout: float = 10.0

    def __post_init__(self) -> None:
        if not 0 <= self.max_iterations < 2**32:
            raise ValueError(f"expected max-iterations of 0 or more, got {self.max_iterations}")
        if not 0 < self.timeout < math.inf:
            raise ValueError(f"expected a timeout above 0, got {self.timeout}")
        if self.runner is None and (self.log or self.on_error != "fail" or self.timeout != 10.0):
            raise ValueError("expected a runner with log, on-error and timeout, got none; add runner=default")

    def prepare(self, context: object) -> None:
        """Called before the pipeline runs, when dialects can be loaded."""
        if bindings(context).root == UPSTREAM:
            allow_calls(context)

    def run(self, operation: Operation) -> None:
        """Ask the runner of the option `runner`, or the compilation's advisor, about each call."""
        if self.runner is None:
            self._inline(operation)
            return
        with MLIR_INLINE.advisor(
            self.runner, log=self.log, on_error=self.on_error, timeout=self.timeout
        ) as advisor:
            advised("advised-inline", [advisor], lambda: self._inline(operation))

    def _inline(self, operation: Operation) -> None:
        advisor = ASKED.get().get(MLIR_INLINE.name)
        assert advisor is None or isinstance(advisor, PointAdvisor), "the point is one of passes"
        inline = self._inlined if bindings().root == UPSTREAM else self._inlined_as_text
        for error in inline(operation, advisor):
            if advisor is not None:
                advisor.raise_failure()
            raise InputError(error.removeprefix("advised-inline: "))

    def _inlined(self, operation: Operation, advisor: PointAdvisor | None) -> list[str]:
        """Inline; returns the errors."""
        pipeline = "" if self.default_pipeline == "none" else self.default_pipeline or ""
        with as_calls_of_func(operation):
            return inliner().inline(
                operation,
                advisor.session if advisor else 0,
                marks=self.engine == "mark-and-run",
                pipeline=pipeline,
                iterations=self.max_iterations,
            )

    def _inlined_as_text(self, operation: Operation, advisor: PointAdvisor | None) -> list[str]:
        """Inline in a copy that upstream's bindings have parsed, and take over the result."""
        try:
            copy = upstream_copy("advised-inline", operation)
        except ClashError:
            replace(operation, run_apart("advised-inline", operation, f"builtin.module({self._element()})"))
            return []
        allow_calls(copy.context)
        errors = self._inlined(copy, advisor)
        if not errors:
            replace(operation, text_of(copy))
        return errors

    def _element(self) -> str:
        """The pass as pipeline text; who decides is not part of it."""
        first = f"default-pipeline={self.default_pipeline or 'none'}"
        return f"advised-inline{{engine={self.engine} {first} max-iterations={self.max_iterations}}}"
