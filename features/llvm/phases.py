# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees of a module or function when it chooses the pipeline to run next.

The pipelines make code smaller, most of them after LLVM's -Oz. Some use passes of LLVM that are not part of
-Oz. Those of `HEADS` make code smaller in front of -Oz.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from passpilot.features.point import Feature, row
from passpilot.features.spec import TensorSpec
from passpilot.features.table import PointTable, choice_table

if TYPE_CHECKING:
    from passpilot.plugin.ir import Function, ModuleIR

    Unit: TypeAlias = ModuleIR | Function

_INSTCOMBINE: Final = "instcombine<no-verify-fixpoint>"

FUNCTION_PIPELINES: Final = (
    f"sroa,early-cse<memssa>,{_INSTCOMBINE},simplifycfg",
    f"newgvn,dse,adce,{_INSTCOMBINE},simplifycfg",
    f"reassociate,gvn,dse,adce,{_INSTCOMBINE},simplifycfg",
    "separate-const-offset-from-gep,early-cse,nary-reassociate,slsr,early-cse",
    "gvn-sink,simplifycfg",
    f"loop-simplify,lcssa,loop(loop-idiom,indvars,loop-deletion),{_INSTCOMBINE},simplifycfg",
    f"loop-mssa(loop-instsimplify,loop-simplifycfg,licm),{_INSTCOMBINE},simplifycfg",
    f"constraint-elimination,correlated-propagation,jump-threading,{_INSTCOMBINE},simplifycfg",
    f"simplifycfg<no-switch-to-lookup;sink-common-insts;hoist-common-insts>,{_INSTCOMBINE}",
    "mldst-motion,sink,tailcallelim,simplifycfg",
)
"""The pipelines for functions; choice 1 is the first."""

HEADS: Final = ("default<Os>", "default<O1>")
"""LLVM's own pipelines for modules: in front of default<Oz>, one of them often makes the code smaller."""

MODULE_PIPELINES: Final = (
    *(f"function({text})" for text in FUNCTION_PIPELINES),
    "mergefunc",
    "globalopt,ipsccp,deadargelim,cgscc(argpromotion),globaldce,constmerge",
    f"inliner-wrapper,function(sroa,early-cse,{_INSTCOMBINE},simplifycfg),globaldce",
    *HEADS,
)
"""The pipelines for modules; choice 1 is the first."""

_CHEAP: Final = ("gvn-sink,simplifycfg", FUNCTION_PIPELINES[8])
_LARGEST: Final = 50_000

FUNCTION_LIMITS: Final = {text: _LARGEST for text in FUNCTION_PIPELINES if text not in _CHEAP}
"""Pipelines whose time grows faster than a function: the most instructions of a function that they get.

With 47,000 instructions in one function they take up to 1.7 s, with four times as many up to 30 s.
"""

MODULE_LIMITS: Final = {
    **{f"function({text})": most for text, most in FUNCTION_LIMITS.items()},
    MODULE_PIPELINES[len(FUNCTION_PIPELINES) + 2]: _LARGEST,
    **dict.fromkeys(HEADS, _LARGEST),
}
"""The same for the pipelines for modules."""

# fmt: off
OPCODES: Final = (
    "ret", "br", "switch", "unreachable", "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "fadd",
    "fsub", "fmul", "fdiv", "shl", "lshr", "ashr", "and", "or", "xor", "alloca", "load", "store",
    "getelementptr", "trunc", "zext", "sext", "fptosi", "sitofp", "bitcast", "icmp", "fcmp", "phi",
    "call", "select",
)
# fmt: on
"""The opcodes that the embedding counts, in its order; its last element counts all other instructions."""


def count_opcodes(unit: Unit) -> list[float]:
    """The unit's instructions per opcode of `OPCODES`, then the count of all others."""
    from passpilot.plugin.ir import Function

    counts = dict.fromkeys((*OPCODES, ""), 0)
    functions = [unit] if isinstance(unit, Function) else unit.functions
    for function in functions:
        for opcode, count in function.opcode_counts.items():
            counts[opcode if opcode in counts else ""] += count
    return list(map(float, counts.values()))


EMBEDDING: Final = TensorSpec("opcode_counts", "float32", (len(OPCODES) + 1,))


def phase_table(name: str, embedding: TensorSpec, pipelines: int) -> PointTable:
    """The table of a point that sees `embedding` and chooses one of `pipelines` pipelines; choice 0 stops."""
    rows = (
        Feature(embedding, "the unit as it is now"),
        row("size", "instructions that it has now"),
        row("initial_size", "instructions that it had before the first"),
        row("step", "pipelines that have run on it"),
        row("last", "the choice before; 0 at first"),
        row("mask", "1: may be chosen; 0: would change nothing, or take too long", shape=(1, pipelines + 1)),
    )
    return choice_table(name, "phase", pipelines + 1, rows)


MODULE_TABLE: Final = phase_table("advised-pipeline", EMBEDDING, len(MODULE_PIPELINES))
FUNCTION_TABLE: Final = phase_table("advised-function-pipeline", EMBEDDING, len(FUNCTION_PIPELINES))
