# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The logs of passpilot, read by MLGO's own reader: it must find what passpilot's finds.

The reader is `compiler_opt.rl.log_reader` of ml-compiler-opt, from PyPI, with TensorFlow, in an environment
of its own in the user's cache (some 2 GB). Its package asks for Python 3.10 at most; the reader runs on later
ones, too. LLVM's own copy of it, llvm/lib/Analysis/models/log_reader.py, is in no package: mlgo-utils has
tools for corpora alone. Every decision of three logs is compared, tensor by tensor. Writes
bench/results/mlgo-reader.json, and exits 1 if anything differs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from bench.lib import command, show, write
from bench.lib.corpus import built
from passpilot import EvictAdvisor, InlineAdvisor, Module, PriorityAdvisor, emit, optimize
from passpilot.features.log.reader import read_log
from tests.corpus.programs import Program, cache_home
from tests.passes.allocation.allocated import optimized

READER: Final = "ml-compiler-opt==0.0.1.dev202401270006"
NEEDS: Final = "tensorflow-cpu==2.21.0"
INSTALLS: Final = 1800
READS: Final = 600
"""Deadlines in seconds."""
THEIRS: Final = """\
import json
import sys

from compiler_opt.rl.log_reader import read_log, read_log_as_sequence_examples

for record in read_log(sys.argv[1]):
    tensors = {value.spec.name: list(value) for value in record.feature_values}
    print(json.dumps([record.context, record.observation_id, tensors]))
examples = read_log_as_sequence_examples(sys.argv[1]).values()
print(sum(len(example.feature_lists.feature_list[sys.argv[2]].feature) for example in examples))
"""


def python() -> Path:
    """The interpreter of the environment that has MLGO's reader."""
    home = cache_home() / "mlgo"
    done, interpreter = home / "done", home / "bin" / "python"
    if not done.exists() or done.read_text() != READER + NEEDS:
        venv.create(home, with_pip=True, clear=True)
        pip = [str(interpreter), "-m", "pip", "install", "-q"]
        for packages in ([NEEDS], ["--no-deps", "--ignore-requires-python", READER]):
            subprocess.run([*pip, *packages], check=True, timeout=INSTALLS)
        done.write_text(READER + NEEDS)
    return interpreter


def write_logs(program: Program, folder: Path) -> dict[str, Path]:
    """The logs of a program's decisions, by decision point."""
    logs = {point: folder / f"{point}.log" for point in ("inline", "evict", "priority")}
    with InlineAdvisor("random:1", size_budget=100, log=str(logs["inline"])) as inline:
        optimize(Module.read(program.whole("Oz")), "default<Oz>", [inline])
    with (
        EvictAdvisor("random:1", log=str(logs["evict"])) as evict,
        PriorityAdvisor("random:1", log=str(logs["priority"])) as priority,
    ):
        emit(Module.read(optimized(program.name)), advisors=[evict, priority])
    return logs


def ours(log: Path) -> list[list[Any]]:
    """What passpilot reads: the context, the number and the tensors of every decision."""
    rows = []
    for decision in read_log(log):
        tensors = {name: value.ravel().tolist() for name, value in decision.tensors.items()}
        rows.append([decision.context, decision.index, tensors])
    return rows


def compare(point: str, log: Path) -> dict[str, int]:
    """How many decisions and values a log has, and how many decisions are read differently."""
    found = ours(log)
    advice = read_log(log).features[-1].name
    command = [str(python()), "-c", THEIRS, str(log), advice]
    done = subprocess.run(command, capture_output=True, text=True, timeout=READS, check=False)
    if done.returncode:
        sys.exit(f"{point}: {done.stderr[-600:]}")
    *theirs, counted = map(json.loads, done.stdout.splitlines())
    different = sum(repr(a) != repr(b) for a, b in zip_longest(found, theirs))  # some features are NaN
    values = sum(len(values) for *_, tensors in found for values in tensors.values())
    return {"decisions": len(found), "values": values, "different": different + abs(counted - len(found))}


@command
def main(name: str = "lz4") -> None:
    (program,) = built([name])
    with tempfile.TemporaryDirectory() as folder:
        rows = {point: compare(point, log) for point, log in write_logs(program, Path(folder)).items()}
    show(f"logs of {program.name}, read by MLGO's reader", "point", rows)
    write("mlgo-reader.json", {"program": program.name, "reader": READER, "points": rows})
    if any(row["different"] or not row["decisions"] for row in rows.values()):
        sys.exit(1)
