# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The variants of `passpilot cc --best-of=N`, the most useful first; bench/bench_best_of.py measures them."""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take it as true
if TYPE_CHECKING:
    from typing import Final

OUTLINE: Final = ("-mllvm", "-enable-machine-outliner=always")


class Variant:
    """One way to compile: clang's command with more flags, and a pipeline at its end or a policy's recipe."""

    __slots__ = ("flags", "pipeline", "policy")

    def __init__(self, pipeline: str = "", flags: tuple[str, ...] = (), policy: str = "") -> None:
        self.pipeline: Final = pipeline
        self.flags: Final = flags
        self.policy: Final = policy
        """The policy in place of the user's, as ``@oz?recipe=2``; empty for the user's own."""


VARIANTS: Final = (
    Variant(),
    Variant("", OUTLINE),
    Variant(
        "function(constraint-elimination,correlated-propagation,jump-threading,"
        "instcombine<no-verify-fixpoint>,simplifycfg)",
        OUTLINE,
    ),
    Variant("function(gvn,dse,instcombine<no-verify-fixpoint>,simplifycfg),globaldce,mergefunc", OUTLINE),
)
