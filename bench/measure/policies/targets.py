# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`@oz` on targets other than x86-64: the objects of ten C programs, against clang's -Oz.

usage: python -m bench.measure.policies.targets [TARGET...]

The levers of targets were chosen on training programs (`python -m tools.policies oz`). Three of the ten
programs are of the corpus's test part, and the others of its validation part. An object has a section for
every function and variable; "linked" is what a link of a program's objects alone loads. What is measured is
kept in bench/results/targets.json, where the next call goes on.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Final, TypeAlias

from bench.lib import Bar, command, geometric_means, read, settle, show, write
from bench.lib.targets import TARGETS, Sizes, front_end, optimized, sizes, unpacked
from passpilot.passes.policy import ChosenPolicy
from passpilot.plugin.module import Module

RECORD: Final = "targets.json"
PROGRAMS: Final = (
    *("cjson", "expat", "jansson", "libyaml", "qhull", "tidy", "yajl"),
    *("lcms2", "metis", "wavpack"),
)
"""Those of validation and those of test. c-ares and lmdb need sockets and files in memory."""
BARRED: Final = ("Thumb-2", "RV32IMC", "wasm32", "AArch64")

Record: TypeAlias = dict[str, dict[str, dict[str, dict[str, int]]]]
"""The sizes by target, program and side."""


def measure(name: str, target: str, known: dict[str, dict[str, int]]) -> None:
    """Add the sizes of a program's objects by -Oz and by the policy, unless they are known."""
    (program,) = unpacked([name])
    policy = ChosenPolicy.find("@oz", "optimize")
    with tempfile.TemporaryDirectory() as folder:
        units = front_end(program, TARGETS[target], Path(folder))
    options = policy.options(Module.read(units[0]).triple)
    for side, pipeline, chosen in (("-Oz", "", []), ("@oz", policy.pipeline, options)):
        if side not in known:
            (each,) = sizes(TARGETS[target], optimized(units, pipeline), [chosen])
            known[side] = each._asdict()


def ratios(record: Record, target: str) -> dict[str, dict[str, float]]:
    """The sizes of `@oz` relative to -Oz, by program."""
    return {
        program: {size: sides["@oz"][size] / sides["-Oz"][size] for size in Sizes._fields}
        for program, sides in record[target].items()
    }


@command
def main(*targets: str) -> None:
    record: Record = read(RECORD, {})
    bars = []
    for target in targets or TARGETS:
        rows = record.setdefault(target, {})
        for program in PROGRAMS:
            if "@oz" not in rows.setdefault(program, {}):
                measure(program, target, rows[program])
                write(RECORD, record)
                print(target, program, file=sys.stderr, flush=True)
        found = ratios(record, target)
        means = geometric_means(found.values(), Sizes._fields)
        show(f"{target}: objects of @oz relative to -Oz", "program", found, means)
        if target in BARRED:
            bars.append(Bar("allocated, the mean", means["allocated"], 0.975, target))
        bars.append(
            Bar("allocated, the largest", max(row["allocated"] for row in found.values()), 1.0, target)
        )
    settle(*bars)
