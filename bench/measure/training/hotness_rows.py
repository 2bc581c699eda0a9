# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How often every block of a program ran in its driver, and what a model may see of the block before.

Units are simplified (`PREPARE`), instrumented, linked and run; opt puts the counts into them. Features are of
the unit without counts.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from math import log10
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.measure.policies.levers import libraries
from bench.measure.policies.oz import command_of
from passpilot.features.llvm.hotness import PREDICATES
from passpilot.features.llvm.size import calls_by_callee
from passpilot.features.llvm.size import observe as observe_function
from passpilot.plugin.ir import BasicBlock, CallBase, Function, Instruction
from passpilot.plugin.module import Module
from tests.corpus.programs import Program

PREPARE: Final = "function(simplifycfg,sroa,early-cse)"
COUNTS: Final = re.compile(r",? !prof !\d+")
WORDS: Final = {
    "fails": r"err|fail|warn|panic|abort|die|fatal|throw|except|assert|bad|invalid|corrupt",
    "prints": r"print|dump|show|format|debug|log|usage|trace|stat|report|write|output|message|describe",
    "begins": r"init|create|new|open|setup|alloc|start|begin|make|config|option|load|register|C[123]E",
    "ends": r"free|destroy|close|delete|clean|release|finish|end$|final|shutdown|reset|clear|D[012]Ev",
    "accesses": r"get|set|is_|has|find|size|at$|next|push|pop",
}
"""What a name may say of a function; a C++ name is mangled."""
CALLEES: Final = {
    "calls_output": r"printf|puts|putc|fputs|write|ostream",
    "calls_exit": r"^(abort|_?exit|__assert_fail|__cxa_(throw|allocate_exception)|longjmp|_ZSt\d+__throw)",
    "calls_memory": r"^(malloc|calloc|realloc|free|_Zn[wa]|_Zd[la])",
    "calls_strings": r"mem(cpy|set|move|cmp|chr)|str(len|cmp|chr|cpy|ncmp)",
    "calls_files": r"^(fopen|fclose|fread|fseek|open|close|read|fgets|getc)",
}
OPCODES: Final = (
    "load",
    "store",
    "call",
    "invoke",
    "br",
    "switch",
    "phi",
    "icmp",
    "getelementptr",
    "fmul",
    "add",
)
ENDS: Final = ("ret", "unreachable", "switch", "invoke", "resume")
TURNS: Final = 8
"""How far what is known of a function goes along calls."""
LIMIT: Final = 1e9
SILENT: Final = ("bullet",)
"""Programs that end before their counts are written."""

Values = dict[str, float]


class Rows(NamedTuple):
    """The blocks of a program."""

    names: list[str]
    """The features."""
    features: NDArray[np.float32]
    """Shape (blocks, features)."""
    executed: NDArray[np.float64]
    """Instructions that the block ran, in all."""
    sizes: NDArray[np.float64]
    """Instructions of the block."""
    functions: NDArray[np.int64]
    """The number of the block's function."""


def tool(*words: str | Path, **options: Any) -> None:
    subprocess.run([*map(str, words)], check=True, timeout=900, stderr=subprocess.DEVNULL, **options)


def profiled(program: Program, folder: Path) -> list[tuple[Path, Path]]:
    """Run a program once: its units before optimization, without and with counts."""
    folder.mkdir(parents=True, exist_ok=True)
    units = [folder / f"{number}.bc" for number, _ in enumerate(program.sources())]
    objects = []
    for unit, source in zip(units, program.sources(), strict=True):
        tool("opt-22", f"-passes={PREPARE}", program.unit(source, "O2"), "-o", unit)
        counting, code = unit.with_suffix(".counting"), unit.with_suffix(".o")
        tool("opt-22", "-disable-vp", "-passes=pgo-instr-gen,instrprof,default<O1>", unit, "-o", counting)
        tool("llc-22", "-O1", "-filetype=obj", "-relocation-model=pic", counting, "-o", code)
        counting.unlink()
        objects.append(code)
    clang = "clang++-22" if program.lang == "c++" else "clang-22"
    exe, raw, counts = folder / "program", folder / "raw", folder / "counts"
    tool(clang, "-fuse-ld=lld", "-pie", "-fprofile-generate", *objects, *libraries(program), "-o", exe)
    environment = {**os.environ, "LLVM_PROFILE_FILE": str(raw)}
    tool(*command_of(program, str(exe)), cwd=program.source, env=environment, stdout=subprocess.DEVNULL)
    tool("llvm-profdata-22", "merge", raw, "-o", counts)
    counted = [unit.with_suffix(".counted.bc") for unit in units]
    for unit, into in zip(units, counted, strict=True):
        tool("opt-22", "-passes=pgo-instr-use", f"-pgo-test-profile-file={counts}", unit, "-o", into)
    for code in objects:
        code.unlink()
    return list(zip(units, counted, strict=True))


def rows(program: Program, folder: Path) -> Rows:
    """The blocks of a program; kept in the folder for the next call."""
    kept = folder / f"{program.name}.npz"
    if not kept.exists():
        found: list[Values] = []
        for unit, counted in profiled(program, folder / program.name):
            found += unit_rows(unit, counted, f"{unit.stem}:")
        functions = {
            name: number for number, name in enumerate(dict.fromkeys(row["function"] for row in found))
        }
        names = sorted(found[0].keys() - {"function", "executed", "size"})
        np.savez(
            kept,
            names=names,
            features=np.array([[row[name] for name in names] for row in found], np.float32),
            executed=np.array([row["executed"] for row in found]),
            sizes=np.array([row["size"] for row in found]),
            functions=np.array([functions[row["function"]] for row in found]),
        )
    with np.load(kept) as arrays:
        return Rows(list(map(str, arrays["names"])), *(arrays[name] for name in Rows._fields[1:]))


def unit_rows(unit: Path, counted: Path, prefix: str) -> Iterator[dict[str, Any]]:
    """The blocks of a unit. Counting splits edges, so they are those of the counted unit, without its counts.

    opt marks functions as cold by their counts: what is marked is read in the unit before.
    """
    before, ran = Module.read(unit), Module.read(counted)
    same = Module.read(COUNTS.sub("", str(ran)).encode())
    seen = functions_of(before)
    cold = {function.name for function in before.functions if is_cold(function.attributes)}
    for function, known in zip(ran.functions, same.functions, strict=True):
        if function.is_declaration or function.name not in seen:
            continue
        entered = function.entry_count or 0
        name = prefix + function.name if function.linkage in ("internal", "private") else function.name
        shared = seen[function.name]
        for block, alike in zip(function.blocks, known.blocks, strict=True):
            size = len(block.instructions)
            yield {
                **shared,
                **block_values(alike, cold, shared["runs"]),
                "function": name,
                "executed": entered * block.frequency * size if entered else 0.0,
                "size": size,
            }


def is_cold(attributes: object) -> bool:
    return not {"cold", "noreturn"}.isdisjoint(attributes)  # type: ignore[arg-type]


@cache
def says(pattern: str, name: str) -> bool:
    return re.search(pattern, name, re.IGNORECASE) is not None


def logarithm(value: float) -> float:
    return log10(min(max(value, 1e-9), LIMIT))


def block_values(block: BasicBlock, cold: set[str], runs: float) -> Values:
    """What is known of a block."""
    instructions = block.instructions
    calls = [inst for inst in instructions if isinstance(inst, CallBase)]
    callees = [call.callee for call in calls]
    named = [callee.name for callee in callees if callee is not None]
    opcodes = [inst.opcode for inst in instructions]
    before, last = block.predecessors, opcodes[-1]
    values = {
        "frequency": logarithm(block.frequency),
        "runs_here": logarithm(block.frequency * 10 ** min(runs, 9.0)),
        "depth": block.loop_depth,
        "instructions_here": len(instructions),
        "predecessors": len(before),
        "successors": len(block.successors),
        "indirect_calls_here": callees.count(None),
        "cold_calls_here": sum(name in cold for name in named),
        "exits_here": sum(says(CALLEES["calls_exit"], name) for name in named),
        "outputs_here": sum(says(CALLEES["calls_output"], name) for name in named),
        "fails_here": sum(says(WORDS["fails"], name) for name in named),
        "strings_here": sum(is_text(operand) for inst in instructions for operand in inst.operands),
        "is_landing_pad": opcodes[0] == "landingpad" or "landingpad" in opcodes[:3],
    }
    values |= {f"{opcode}_here": opcodes.count(opcode) for opcode in OPCODES}
    values |= {f"ends_with_{end}": last == end for end in ENDS}
    return values | entrance(block, before)


def entrance(block: BasicBlock, before: list[BasicBlock]) -> Values:
    """The condition on which a block runs, if one block goes to it."""
    values = {"predicate": -1.0, "is_true": -1.0, "with_zero": -1.0, "of_call": -1.0, "probability": 1.0}
    if (
        len(before) != 1
        or before[0].terminator.opcode not in ("br", "condbr")
        or len(before[0].successors) != 2
    ):
        return values
    terminator = before[0].terminator
    condition = terminator.operands[0]
    values["probability"] = before[0].probability_to(block)
    values["is_true"] = before[0].successors[0] == block
    if isinstance(condition, Instruction) and condition.opcode == "icmp":
        values["predicate"] = PREDICATES.index(condition.predicate or "")
        values["with_zero"] = any(getattr(operand, "is_null", False) for operand in condition.operands)
        values["of_call"] = any(isinstance(operand, CallBase) for operand in condition.operands)
    return values


def is_text(value: object) -> bool:
    """Whether it is a constant string of printable characters."""
    data = getattr(getattr(value, "initializer", None), "data", None)
    if not data or len(data) < 5 or data[-1:] != b"\0":
        return False
    return bool(sum(32 <= byte < 127 for byte in data) > 0.9 * (len(data) - 1))


def functions_of(module: Module) -> Mapping[str, Values]:
    """What is known of the functions with a body: themselves, and what calls say of them."""
    functions = [function for function in module.functions if not function.is_declaration]
    calls = calls_by_callee(module.functions)
    total = sum(function.instruction_count for function in functions)
    found: dict[str, Values] = {}
    for position, function in enumerate(functions):
        values: dict[str, Any] = dict(observe_function(function, calls.get(function, ())))
        found[function.name] = {
            **{name: float(value) for name, value in values.items() if name != "mask"},
            **own_values(function, calls.get(function, [])),
            "module_share": function.instruction_count / total,
            "position": position / len(functions),
        }
    edges = [
        (call.block.function.name, callee.name, call.block.frequency, call.block.loop_depth)
        for callee in functions
        for call in calls.get(callee, ())
        if call.block.function.name in found
    ]
    for name, values in along_calls(found, edges).items():
        found[name] |= values
    return found


def own_values(function: Function, calls: list[CallBase]) -> Values:
    """What a function's name, its callees and its callers say."""
    named = [call.callee.name for call in function.call_sites if call.callee is not None]
    attributes = function.attributes
    return {
        **{f"name_{word}": says(text, function.name) for word, text in WORDS.items()},
        **{key: sum(says(text, name) for name in named) for key, text in CALLEES.items()},
        "is_main": function.name == "main",
        "is_constructor": says("GLOBAL__sub|__cxx_global", function.name),
        "callers": len({call.block.function.name for call in calls}),
        "other_users": len(function.users) - len(calls),
        "is_copy": "odr" in function.linkage or "linkonce" in function.linkage,
        "arguments": len(function.arguments),
        "is_hinted": "inlinehint" in attributes,
        "is_kept_out": "noinline" in attributes,
        "is_dead_end": "noreturn" in attributes,
    }


def along_calls(found: Mapping[str, Values], edges: list[tuple[str, str, float, int]]) -> dict[str, Values]:
    """How often a function runs if all that others can call run once; depths of loops around and below it."""
    base = {name: 0.0 if row["is_local"] and not row["other_users"] else 1.0 for name, row in found.items()}
    runs = dict(base)
    around = dict.fromkeys(base, 0.0)
    below = {name: row["loop_depth"] for name, row in found.items()}
    rarity = dict.fromkeys(base, 9.0)
    far = {name: 0.0 if base[name] else 99.0 for name in base}
    for _ in range(TURNS):
        now = dict(base)
        for caller, callee, frequency, depth in edges:
            if caller != callee:
                now[callee] = min(LIMIT, now[callee] + runs[caller] * min(frequency, 1e6))
                around[callee] = max(around[callee], min(8, around[caller] + depth))
                below[caller] = max(below[caller], min(8, depth + below[callee]))
                far[callee] = min(far[callee], far[caller] + 1)
            rarity[callee] = min(rarity[callee], -logarithm(frequency))
        runs = now
    return {
        name: {
            "runs": logarithm(runs[name]),
            "heat": logarithm(runs[name] * found[name]["work"] / max(1, found[name]["instructions"])),
            "loops_around": around[name],
            "loops_below": below[name],
            "rarest_call": rarity[name],
            "distance": far[name],
        }
        for name in base
    }
