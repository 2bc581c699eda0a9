# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles whole programs with the advised allocator, for two targets: what it leaves to LLVM's greedy one.

Stock llc with the plugin generates code for x86-64 and AArch64 and verifies the machine code. For each
program and target, bench/results/allocator_targets.json gets the number of functions that greedy took; what
is there is not compiled again. Fails if llc does. Without arguments, it compiles all programs of the corpus
that are built, small ones first.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Final

from bench.lib import command, read, write
from bench.sweeps.programs import sizes
from passpilot.plugin.toolchain import llvm_plugin
from passpilot.plugin.version import MAJOR
from tests.corpus.programs import all_programs
from tests.passes.allocation.allocated import TRIPLES, optimized, retargeted

RECORD: Final = "allocator_targets.json"
TARGETS: Final = ("x86-64", "aarch64")


def generated(name: str, target: str, allocator: str) -> subprocess.CompletedProcess[str]:
    """What stock llc says of a program."""
    source = retargeted(optimized(name), target)
    flags = ["-O2", f"-regalloc={allocator}", "-relocation-model=pic", "-filetype=null"]
    target_flags = ["-verify-machineinstrs", f"-mtriple={TRIPLES[target]}"]
    command = [f"llc-{MAJOR}", f"-load={llvm_plugin()}", *flags, *target_flags, str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def left(name: str, target: str) -> int | None:
    """The number of functions that greedy takes; None if llc cannot compile the program with greedy alone."""
    done = generated(name, target, "advised")
    if not done.returncode:
        return done.stderr.count("greedy allocator takes the function")
    if generated(name, target, "greedy").returncode:
        return None  # inline assembly of x86
    sys.exit(f"{name}, {target}: llc ended with {done.returncode}: {done.stderr[-400:]}")


@command
def main(*programs: str) -> None:
    record = read(RECORD, {})
    for name in sizes(programs or all_programs()):
        for target in TARGETS:
            if target not in record.setdefault(name, {}):
                record[name][target] = left(name, target)
                print(f"{name}, {target}: {record[name][target]} functions left to greedy", flush=True)
                write(RECORD, record)
