# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What clang's internal arguments (`clang -cc1 ...`) say, and those that make an object of a module again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

OUTPUTS: Final = frozenset(
    (
        "-dumpdir",
        "-dependency-file",
        "-dependency-dot",
        "-module-dependency-dir",
        "-MT",
        "-serialize-diagnostic-file",
        "-header-include-file",
        "-diagnostic-log-file",
        "-opt-record-file",
        "-opt-record-passes",
        "-opt-record-format",
        "-split-dwarf-output",
        "-stack-usage-file",
    )
)
"""Arguments whose next one names another output, or belongs to it."""

WITH_VALUE: Final = frozenset(("-target-feature", "-mllvm", "-D", "-U", "-I", "-include", "-isystem"))
"""Arguments whose next one is theirs, though it may look like one of the others: a RISC-V without V has
``-target-feature -v``."""

OUTPUT_FLAGS: Final = ("-sys-header-deps", "-MP", "-MV", "-H", "-v", "-ftime-report", "-print-stats")
OUTPUT_STARTS: Final = ("-ftime-trace", "-stats-file=", "-coverage-notes-file=", "-fembed-bitcode")
"""Other arguments that make clang write more than its output, and how some of them begin."""

ACTIONS: Final = ("-emit-obj", "-emit-llvm-bc", "-emit-llvm", "-S")
"""What clang is to make."""

LTO: Final = ("-emit-llvm-uselists", "-flto-unit", "-disable-llvm-passes")
LTO_STARTS: Final = ("-flto=", "-fthinlto-index=")
"""Arguments that matter only if bitcode is made, or read with an index."""


def value_of(arguments: Sequence[str], name: str) -> str:
    """The last value that follows `name`; empty if there is none."""
    places = [number for number, argument in enumerate(arguments[:-1]) if argument == name]
    return arguments[places[-1] + 1] if places else ""


def optimization_level(arguments: Sequence[str]) -> str:
    """Such as ``Oz``; ``O0`` without an argument."""
    levels = [argument[1:] for argument in arguments if argument.startswith("-O") and len(argument) <= 3]
    return {"O": "O1", "Og": "O1"}.get(levels[-1], levels[-1]) if levels else "O0"


def relocation_model(arguments: Sequence[str]) -> str:
    """Such as ``pic`` or ``static``."""
    return value_of(arguments, "-mrelocation-model") or "pic"


def without_outputs(arguments: Sequence[str]) -> Iterator[str]:
    """The arguments without those for additional outputs, and without the action."""
    rest = iter(arguments)
    for argument in rest:
        if argument in OUTPUTS:
            next(rest, None)
        elif argument in WITH_VALUE:
            yield from (argument, *islice(rest, 1))
        elif argument not in (*OUTPUT_FLAGS, *ACTIONS) and not argument.startswith(OUTPUT_STARTS):
            yield argument


def for_object(arguments: Sequence[str], *, bitcode: bool = False) -> list[str]:
    """The arguments that compile a unit's bitcode to an object; the caller adds input and output.

    With `bitcode`, the object is for link-time optimization.
    """
    kept = [
        argument
        for argument in without_outputs(arguments)
        if argument not in LTO and not argument.startswith(LTO_STARTS)
    ]
    return [*kept, *(("-flto=full", "-flto-unit", "-emit-llvm-bc") if bitcode else ("-emit-obj",)), "-w"]
