# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-pipeline` and `advised-function-pipeline`: what runs next on a module, or function, is advised.

Both belong behind LLVM's own pipeline, as in ``default<Oz>,advised-pipeline``, and look for what it has left;
without a runner they change nothing. Their tables hold what makes code smaller, passes among them that LLVM
has but does not run at -Oz. A table and an embedding of your own are one `Phases` away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from passpilot.features.spec import TensorSpec
from passpilot.passes.python.api import function_pass, module_pass
from passpilot.passes.shipped.phases import Phases
from passpilot.plugin.ir import Function, ModuleIR

if TYPE_CHECKING:
    from passpilot.passes.shipped.phases import Unit

FUNCTION_TABLE: Final = (
    "sroa,early-cse<memssa>,instcombine,simplifycfg",
    "newgvn,dse,adce,instcombine,simplifycfg",
    "reassociate,gvn,dse,adce,instcombine,simplifycfg",
    "separate-const-offset-from-gep,early-cse,nary-reassociate,slsr,early-cse",
    "gvn-sink,simplifycfg",
    "loop-simplify,lcssa,loop(loop-idiom,indvars,loop-deletion),instcombine,simplifycfg",
    "loop-mssa(loop-instsimplify,loop-simplifycfg,licm),instcombine,simplifycfg",
    "constraint-elimination,correlated-propagation,jump-threading,instcombine,simplifycfg",
    "simplifycfg<no-switch-to-lookup;sink-common-insts;hoist-common-insts>,instcombine",
    "mldst-motion,sink,tailcallelim,simplifycfg",
)

TABLE: Final = (
    *(f"function({text})" for text in FUNCTION_TABLE),
    "iroutliner",
    "mergefunc",
    "globalopt,ipsccp,deadargelim,cgscc(argpromotion),globaldce,constmerge",
    "inliner-wrapper,function(sroa,early-cse,instcombine,simplifycfg),globaldce",
)

# fmt: off
OPCODES: Final = (
    "ret", "br", "switch", "unreachable", "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "fadd",
    "fsub", "fmul", "fdiv", "shl", "lshr", "ashr", "and", "or", "xor", "alloca", "load", "store",
    "getelementptr", "trunc", "zext", "sext", "fptosi", "sitofp", "bitcast", "icmp", "fcmp", "phi",
    "call", "select",
)
# fmt: on
"""What the embedding counts, one after the other; all other instructions are counted in its last element."""


def count_opcodes(unit: Unit) -> list[float]:
    """How many instructions of each of `OPCODES` the unit has, and of others."""
    counts = dict.fromkeys((*OPCODES, ""), 0)
    functions = unit.functions if isinstance(unit, ModuleIR) else [unit]
    for function in functions:
        for opcode, count in function.opcode_counts.items():
            counts[opcode if opcode in counts else ""] += count
    return list(map(float, counts.values()))


EMBEDDING: Final = TensorSpec("opcode_counts", "float32", (len(OPCODES) + 1,))
MODULE: Final = Phases("advised-pipeline", TABLE, EMBEDDING, count_opcodes)
FUNCTION: Final = Phases("advised-function-pipeline", FUNCTION_TABLE, EMBEDDING, count_opcodes)


@module_pass("advised-pipeline")
@dataclass(frozen=True)
class AdvisedPipeline:
    """Runs pipelines on the module as the runner of `advised-pipeline` picks them; none by default."""

    budget: int = 12

    def __post_init__(self) -> None:
        _check(self.budget)

    def run(self, module: ModuleIR) -> bool:
        """Run at most `budget` of them."""
        return MODULE.run(module, self.budget)


@function_pass("advised-function-pipeline")
@dataclass(frozen=True)
class AdvisedFunctionPipeline:
    """Runs pipelines on each function as the runner of `advised-function-pipeline` picks; none by default."""

    budget: int = 6

    def __post_init__(self) -> None:
        _check(self.budget)

    def run(self, function: Function) -> bool:
        """Run at most `budget` of them."""
        return FUNCTION.run(function, self.budget)


def _check(budget: int) -> None:
    if budget < 0:
        raise ValueError(f"expected a budget of 0 or more pipelines, got {budget}")
