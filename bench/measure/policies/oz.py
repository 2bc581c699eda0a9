# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`@oz` on test programs: sizes, outputs and instructions against the best flags without it.

usage: python -m bench.measure.policies.oz [PROGRAM...]

R1 and R2 are the references of bench.measure.policies.levers; ours stands against them with the same flags.
"code alone" is the policy with LLVM's own unwind tables. What is measured is kept in
bench/results/oz.json, where the next call goes on; `python -m bench.pages.oz` makes a page of it.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from typing import Any, Final

from bench.lib import Bar, command, read, settle, write
from bench.lib.corpus import built, checked, part
from bench.lib.instructions import executed
from bench.measure.policies.levers import DEADLINE, LINKS, Lever, generated, libraries, optimized
from passpilot.plugin.isolated import run_isolated_together
from passpilot.runners.policy.bundle import find_bundle
from passpilot.training.file_sizes import file_sizes
from tests.corpus.programs import Program

RECORD: Final = "oz.json"
PLAIN: Final = "-Oz"
POLICY: Final = "@oz"
CODE: Final = "@oz, code alone"
BARS: Final = {
    ("R1", POLICY): (0.925, 0.965),
    ("R2", POLICY): (0.96, 0.98),
    ("R1", CODE): (0.98, 0.99),
    ("R2", CODE): (0.98, 0.99),
}
"""The most that the means of the loaded bytes and of the compressed file may be."""


def sides(reference: str) -> dict[str, Lever]:
    """What is compared, by name."""
    recipe = find_bundle(POLICY).recipes[0]
    code = tuple(option for option in recipe.options if not option.startswith("unwind="))
    tables = "unwind=shared" if reference == "R2" else "unwind=faults"  # as unwind=linked chooses
    return {
        PLAIN: Lever(),
        POLICY: Lever(recipe.pipeline, (*code, tables)),
        CODE: Lever(recipe.pipeline, (*code, "unwind=full")),
    }


def command_of(program: Program, image: str) -> list[str]:
    return [image, *(word.replace("{drv}", "_driver") for word in program.driver.args)]


def side(
    program: Program, reference: str, lever: Lever, modules: list[Path], *, counts: bool
) -> dict[str, Any]:
    """The sizes of one side, whether it prints what it should, and the instructions of its run."""
    with tempfile.TemporaryDirectory() as folder:
        objects, image = generated(modules, lever.options, folder), f"{folder}/{program.name}"
        link = ("clang-22", "-fuse-ld=lld", "-pie", *LINKS[reference], *objects, *libraries(program))
        subprocess.run([*link, "-o", image], check=True, timeout=DEADLINE)
        row: dict[str, Any] = file_sizes(image)._asdict()
        words = command_of(program, image)
        printed = subprocess.run(
            words, cwd=program.source, check=True, timeout=DEADLINE, stdout=subprocess.PIPE
        ).stdout
        row["right"] = hashlib.sha256(printed).hexdigest() == program.driver.stdout_sha256
        if counts:
            row["instructions"] = executed(words, program.source)
        return row


def measure(program: Program, reference: str) -> dict[str, dict[str, Any]]:
    """All sides of a program."""
    found = {}
    for name, lever in sides(reference).items():
        with tempfile.TemporaryDirectory() as folder:
            modules = optimized(program, reference, lever.pipeline, Path(folder))
            one = partial(side, program, reference, lever, modules, counts=reference == "R1" and name != CODE)
            (found[name],) = checked(run_isolated_together("oz", [one], DEADLINE))
    return found


def ratios(record: dict[str, Any], reference: str, name: str, metric: str) -> dict[str, float]:
    """By program, against the reference."""
    rows = record.get(reference, {}).items()
    return {
        program: row[name][metric] / row[PLAIN][metric]
        for program, row in rows
        if metric in row.get(name, ())
    }


@command
def main(*programs: str) -> None:
    record = read(RECORD, {})
    for program in built(programs or part("test")):
        for reference in LINKS:
            rows = record.setdefault(reference, {})
            if program.name not in rows:
                rows[program.name] = measure(program, reference)
                write(RECORD, record)
                print(program.name, reference, file=sys.stderr, flush=True)
    bars = []
    for (reference, name), (allocated, xz) in BARS.items():
        for metric, bar in (("allocated", allocated), ("xz", xz)):
            found = ratios(record, reference, name, metric).values()
            bars.append(Bar(f"{metric} of {name}", geometric_mean(found), bar, reference))
            bars.append(Bar(f"{metric} of {name}, the largest", max(found), 1.0, reference))
    counts = ratios(record, "R1", POLICY, "instructions").values()
    bars.append(Bar("instructions", geometric_mean(counts), 1.02, "R1"))
    bars.append(Bar("instructions, the most", max(counts), 1.08, "R1"))
    wrong = sum(
        not each["right"] for rows in record.values() for row in rows.values() for each in row.values()
    )
    settle(*bars, Bar("programs that print something else", wrong, 0))
