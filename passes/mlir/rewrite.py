# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`rewrite_greedily`: applies rewrite patterns, written as Python functions, until none matches any more.

The bindings' rewrite drivers are compiled without exceptions, so an exception in a pattern would end the
process. This module catches it and raises it again after the driver has returned.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any

from passpilot.plugin.errors import PassError
from passpilot.plugin.failures import did_you_mean
from passpilot.plugin.mlir.bindings import bindings, operations_in, using
from passpilot.plugin.mlir.exchange import usable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from passpilot.plugin.mlir.protocols import Operation

    Pattern = Callable[[Any, Any], object]


def rewrite_greedily(
    operation: Operation, patterns: Mapping[str, Pattern], *, limit: int = 1_000_000
) -> None:
    """Apply patterns to all operations inside `operation`, and fold, until nothing changes.

    Args:
        operation: the operation whose regions are rewritten.
        patterns: a function for each operation name, such as ``arith.addi``. It takes an operation of this
            name and the bindings' ``PatternRewriter``, and returns whether it has rewritten: True or False.
        limit: the number of rewrites after which the patterns count as endless.

    Raises:
        Exception: the exception of a pattern; no pattern is applied after it.
        PassError: no dialect has an operation of this name, a pattern returned something else, or the
            patterns do not come to an end.
    """
    rewriting = _Rewriting(limit)
    with usable("rewrite_greedily", operation) as target, using(bindings(target)) as mlir:
        pattern_set = mlir.rewrite.RewritePatternSet(target.context)
        for name, pattern in patterns.items():
            _check_name(name, target)
            pattern_set.add(name, partial(rewriting.misfits, name, pattern))
        try:
            mlir.rewrite.apply_patterns_and_fold_greedily(target, pattern_set.freeze())
        except RuntimeError as error:
            rewriting.raised = rewriting.raised or _endless(str(error))
        if rewriting.raised is not None:
            raise rewriting.raised


class _Rewriting:
    """One run of the patterns; `raised` is the exception that ended it."""

    def __init__(self, limit: int) -> None:
        self.raised: BaseException | None = None
        self._limit = self._left = limit

    def misfits(self, name: str, pattern: Pattern, operation: Any, rewriter: Any) -> bool:
        """Apply a pattern; returns True, as the bindings expect, if it has *not* rewritten anything."""
        if self.raised is not None:
            return True
        try:
            return not self._rewrites(name, pattern(operation, rewriter))
        except BaseException as error:  # noqa: BLE001  (rewrite_greedily() raises it again)
            self.raised = error
            return True

    def _rewrites(self, name: str, answer: object) -> bool:
        if not isinstance(answer, bool):
            got = type(answer).__name__
            raise PassError(
                f"pattern for {name}: expected True or False, whether it has rewritten, got {got}"
            )
        self._left -= answer
        if self._left < 0:
            raise _endless(f"{self._limit} rewrites")
        return answer


def _check_name(name: str, target: Any) -> None:
    """Refuses a name that fits no operation; a context that allows unknown dialects has any of theirs."""
    context, known = target.context, False
    dialect, dot, _ = name.partition(".")
    with contextlib.suppress(ValueError):  # no such dialect
        if dot:
            context.get_dialect_descriptor(dialect)  # loads it, so that its operations are known
            known = True
    free = context.allow_unregistered_dialects
    if context.is_registered_operation(name) or (free and not known):
        return
    present = {operation.name for operation in operations_in(target)}
    if free and name in present:
        return
    raise PassError(
        f"rewrite_greedily: expected names of operations, got {name!r}{did_you_mean(name, present)}"
    )


def _endless(got: str) -> PassError:
    message = f"expected patterns that come to an end, got {got} and some that still fit"
    return PassError(f"rewrite_greedily: {message}")
