# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Searches the kernels of bench/kernels/*.mlir, and runs what is found beside other compilers and numpy.

usage: python -m bench.measure.mlir.tune [KERNEL...] [--budget=SECONDS] [--peers=PYTHON] [--recorded]

`--peers` names the interpreter of a virtual environment with iree-base-compiler, iree-base-runtime,
apache-tvm and numpy; without one of them its column is empty. All that is compared runs on one processor, one
thread each, in turns, run by run; the times are the least processor times, so that other load on the machine
does not count, except in caches. The decisions are kept in
bench/results/mlir-tune; `--budget=0` runs those again without a search, and `--recorded` runs nothing. The
table and the bars are of all kernels that have records.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import passpilot
from bench.lib import RESULTS, ROOT, Bar, command, read, settle, show_rows, write
from passpilot.passes.mlir.schedule.plan import KernelPlan, read_plan
from passpilot.plugin.isolated import run_isolated
from passpilot.training.tuning.kernels.kernel import Kernel
from passpilot.training.tuning.kernels.running import LoadedKernel, check_outputs
from passpilot.training.tuning.kernels.unit import CLANG, KernelUnit

KERNELS: Final = ("matmul-256", "matmul-1024", "matmul-odd", "convolution", "attention", "layer-norm")
FOLDER: Final = "mlir-tune"
ROUNDS: Final = 40
PEERS: Final = ("numpy", "iree", "tvm")
OURS, LOOPS = "passpilot", "loops"
DEADLINE: Final = 600.0
SLOW: Final = 0.05
"""Seconds; what takes longer runs twice."""


@dataclass(frozen=True)
class Runner:
    """One side of the comparison: a function that runs the kernel and returns the nanoseconds."""

    name: str
    run: Callable[[], float]


@contextlib.contextmanager
def peer(python: str, name: str, path: Path, kernel: Kernel) -> Iterator[Runner | None]:
    """A peer in a process of its own; None if it is not installed, or has no program for the kernel."""
    shapes = ",".join("x".join(map(str, argument.shape or ())) for argument in kernel.arguments)
    script = ROOT / "bench" / "measure" / "mlir" / "kernel_peers.py"
    words = [python, str(script), name, str(path), kernel.function, shapes, processor()]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as child:
        assert child.stdin
        assert child.stdout
        try:
            ready = child.stdout.readline()

            def run() -> float:
                assert child.stdin
                assert child.stdout
                child.stdin.write("\n")
                child.stdin.flush()
                return float(child.stdout.readline())

            yield Runner(name, run) if ready else None
        finally:
            child.kill()


def processor() -> str:
    """LLVM's name of this processor."""
    words = [CLANG, "-march=native", "-###", "-c", "-x", "c", os.devnull, "-o", os.devnull]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stderr.split()
    return text[text.index('"-target-cpu"') + 1].strip('"')


def peak() -> float:
    """GFLOP/s of a loop of multiply-adds."""
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/peak"
        source = str(ROOT / "bench" / "kernels" / "peak.c")
        flags = ["-O3", "-march=native", "-ffp-contract=fast", source, "-o", program]
        subprocess.run([CLANG, *flags], check=True)
        return float(subprocess.check_output([program]))


def local(unit: KernelUnit, choice: KernelPlan | None, folder: str, name: str) -> Runner:
    """A plan in this process; its outputs are checked."""
    loaded = LoadedKernel.load(unit.build(choice, f"{folder}/{name}.so"), unit.kernel)
    check_outputs(unit.kernel, loaded.outputs(), unit.expected)
    timer = loaded.timer()
    return Runner(name, lambda: 1e9 * timer())


def compared(path: Path, plan: KernelPlan, python: str) -> dict[str, float]:
    """The least microseconds of every side."""
    unit = KernelUnit(Kernel.read(path))
    unit = replace(unit, expected=run_isolated("bench", unit.reference, DEADLINE))
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        sides = [local(unit, plan, folder, OURS), local(unit, None, folder, LOOPS)]
        for name in PEERS:
            found = stack.enter_context(peer(python, name, path, unit.kernel))
            sides += [found] if found else []
        least = {side.name: side.run() for side in sides}
        for number in range(ROUNDS):
            for side in sides:
                if least[side.name] < SLOW * 1e9 or number == 0:
                    least[side.name] = min(least[side.name], side.run())
    return {name: nanoseconds / 1000 for name, nanoseconds in least.items()}


def measure(name: str, budget: float, python: str) -> None:
    """Search a kernel, unless it has been searched, and compare what is found."""
    path, folder = ROOT / "bench" / "kernels" / f"{name}.mlir", RESULTS / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    decisions = folder / f"{name}.decisions"
    known: dict[str, Any] = read(f"{FOLDER}/{name}.json", {})
    row: dict[str, Any] = {key: known[key] for key in ("plans", "budget") if key in known}
    if budget or not decisions.exists():
        budget = budget or 60.0
        result = passpilot.tune(path, seconds=budget, output=str(decisions))
        row = {"plans": result.compiles, "budget": budget}
        print(result, file=sys.stderr)
    compare = partial(compared, path, read_plan(str(decisions)), python)
    row["flops"] = Kernel.read(path).flops
    row["microseconds"] = run_isolated("bench", compare, DEADLINE)
    write(f"{FOLDER}/{name}.json", row)


def bars(rows: dict[str, dict[str, Any]], top: float) -> list[Bar]:
    """What must hold for the kernels that have rows."""
    times = {name: row["microseconds"] for name, row in rows.items()}
    found = []
    if (large := times.get("matmul-1024")) and "numpy" in large:
        share = large["numpy"] / large[OURS]
        found.append(Bar("matmul of 1024, speed", share, 0.6, "OpenBLAS in one thread", least=True))
    with_iree = [each for each in times.values() if "iree" in each]
    if with_iree and len(times) == len(KERNELS):
        ahead = sum(each[OURS] < each["iree"] for each in with_iree)
        found.append(Bar("kernels ahead of IREE's default", ahead, 3, "6 kernels", least=True))
    slowest = max(each[OURS] / each[LOOPS] for each in times.values())
    found.append(Bar("slowest kernel, time", slowest, 1.0, LOOPS))
    fastest = max(speed(row, OURS) for row in rows.values())
    found.append(Bar("fastest kernel, part of the peak", fastest / top, 1.05))
    return found


def speed(row: dict[str, Any], side: str) -> float:
    """The GFLOP/s of a side."""
    found: float = row["flops"] / row["microseconds"][side] / 1e3
    return found


@command
def main(*names: str, budget: float = 60.0, peers: str = sys.executable, recorded: bool = False) -> None:
    for name in () if recorded else names or KERNELS:
        measure(name, budget, peers)
    rows = {name: row for name in KERNELS if (row := read(f"{FOLDER}/{name}.json", {}))}
    top = max(peak(), read(f"{FOLDER}/peak.json", 0.0))
    write(f"{FOLDER}/peak.json", top)
    sides = (OURS, LOOPS, *PEERS)
    table = [
        [name, *(speed(row, side) if side in row["microseconds"] else None for side in sides)]
        for name, row in rows.items()
    ]
    show_rows(f"GFLOP/s in one thread; peak {top:.0f}", ("kernel", *sides), table)
    settle(*bars(rows, top))
