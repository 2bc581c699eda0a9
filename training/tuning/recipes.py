# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a search tries on whole modules: simple policies and short pipelines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from passpilot.runners.python import Observation

VECTORS: Final = "function(slp-vectorizer,vector-combine,instcombine<no-verify-fixpoint>,simplifycfg)"
"""Vectors of straight-line code, as clang makes at -Oz, and `default<Oz>` does not."""

SCALARS: Final = "constraint-elimination,correlated-propagation,jump-threading"
SINKING: Final = "simplifycfg<sink-common-insts;hoist-common-insts>,instcombine<no-verify-fixpoint>"
SMALLEST: Final = (
    f"function({SCALARS},slp-vectorizer,vector-combine,instcombine<no-verify-fixpoint>,{SINKING}),"
    "globaldce,mergefunc"
)
"""The passes that made most programs smaller, together."""
HOISTING: Final = (
    "function(simplifycfg<sink-common-insts;hoist-common-insts>,loop-mssa(licm),gvn,dse,"
    "instcombine<no-verify-fixpoint>,simplifycfg),globaldce,mergefunc"
)

TAILS: Final = (
    SMALLEST,
    HOISTING,
    VECTORS,
    "function(constraint-elimination,correlated-propagation,jump-threading,"
    "instcombine<no-verify-fixpoint>,simplifycfg)",
    "mergefunc",
    "function(newgvn,instcombine<no-verify-fixpoint>,simplifycfg)",
    "function(simplifycfg<sink-common-insts;hoist-common-insts>,instcombine<no-verify-fixpoint>)",
    "function(loop-mssa(licm),simplifycfg)",
    "function(jump-threading,correlated-propagation,simplifycfg,aggressive-instcombine)",
    "function(gvn,dse,instcombine<no-verify-fixpoint>,simplifycfg),globaldce,mergefunc",
    "function(reassociate,gvn,sccp,bdce,instcombine<no-verify-fixpoint>,simplifycfg)",
)
"""Pipelines that made some programs smaller behind default<Oz>."""

PLACED: Final = ("apply-ext-tsp-for-size", "disable-machine-licm")
"""Blocks are placed for size; code generation leaves invariant code in loops."""

OUTLINED: Final = (*PLACED, "enable-machine-outliner=always", "enable-linkonceodr-outlining")

OPTIONS: Final = (
    (*OUTLINED, "disable-lsr", "tail-merge-size=2", "optsize-jump-table-density=10"),
    OUTLINED,
    (*PLACED, "disable-lsr", "tail-merge-size=2"),
    (*PLACED, "optsize-jump-table-density=40"),
    (*PLACED, "enable-machine-outliner=optimistic-pgo"),
    (),
)
"""Options of code generation that made some programs smaller; those that helped most come first."""

EVICTION: Final = (
    ("greedy-reverse-local-assignment",),
    ("enable-local-reassign",),
    ("greedy-regclass-priority-trumps-globalness",),
    ("regalloc-csr-first-time-cost=16384",),
    ("regalloc-eviction-max-interference-cutoff=100",),
)
"""Options of LLVM's greedy allocator: the order of live ranges, and what is evicted for what."""

SCHEDULE: Final = (
    ("enable-misched=false",),
    ("pre-RA-sched=list-ilp",),
    ("pre-RA-sched=list-hybrid",),
    ("pre-RA-sched=list-burr",),
)
"""Options of the schedulers before register allocation: without the machine scheduler, or another order."""

BROUGHT: Final = {
    "known": "what an earlier search has found",
    "policy": "the recipe of @oz",
    "unwind": "unwind tables and placement of blocks",
    "pipeline": "pipelines behind the level",
    "inline": "inlining decisions",
    "options": "options of code generation",
    "size": "size levels of functions",
    "unroll": "unrolling",
    "eviction": "register allocation",
    "vectorize": "vectorization",
    "schedule": "order of instructions",
}
"""What a search can change, for people."""

SIZE_LEVELS: Final = ("optsize", "speed")
"""Words of decision files about functions: at -Oz some are smaller where size counts less."""

SPEED_SIZE_LEVELS: Final = ("optsize", "minsize")

UNROLLING: Final = ("unroll=1", "unroll=2")
SPEED_UNROLLING: Final = ("unroll=1", "unroll=2", "unroll=4", "unroll=8")

VECTORIZING: Final = ("vectorize=1",)
SPEED_VECTORIZING: Final = ("vectorize=1", "vectorize=4", "vectorize=8")


@dataclass(frozen=True, slots=True)
class Below:
    """Inlines calls that cost less than `limit` by LLVM's estimate."""

    limit: float

    def __call__(self, obs: Observation) -> bool:
        return bool(obs["cost_estimate"].item() < self.limit)


POLICIES: Final = tuple(map(Below, (float("-inf"), -60, -20, 0, 15, 45)))
"""The first never inlines."""

SPEED_POLICIES: Final = tuple(map(Below, (0, 60, 120, 400, 800)))

SPEED_TAILS: Final = (
    "function(loop-mssa(licm),gvn,dse,instcombine<no-verify-fixpoint>,simplifycfg)",
    "function(loop-unroll<O3>,instcombine<no-verify-fixpoint>,simplifycfg)",
    "function(jump-threading,correlated-propagation,simplifycfg)",
    "function(newgvn,reassociate,instcombine<no-verify-fixpoint>,simplifycfg)",
)
"""Pipelines that may make a program faster behind default<O2>."""
