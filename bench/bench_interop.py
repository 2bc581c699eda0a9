# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`pipe:` in each format against ML-Compiler-Bridge's protocol, spoken to its own Python end; in turns.

Every model is null: it takes its features, as values that it could use, and answers 1. `CompilerInterface`
0.0.2 is the other end of the last two rows, `passpilot serve` of the first three; the compiler's end is ours
throughout. Microseconds per decision: the median of rounds, and the least, as other work on the machine only
adds; and how many times our frames are faster by the least (at least 10 and 2.5, at 50,000 floats 20).
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from passpilot.features.point import Point, find_point
from passpilot.features.spec import TensorSpec
from passpilot.runners.base import Runner, allocate, own_features
from passpilot.runners.spec import make_runner

SECONDS = 0.05
POLICY = "def decide(obs):\n    list(obs.values())\n    return True\n\n\ndecide.features = {names}\n"
SERVE = "import sys; from passpilot.runners.serve import main; sys.exit(main(sys.argv[1:]))"
THEIRS = """
import sys
from compilerinterface.PipeCompilerInterface import PipeCompilerInterface
peer = PipeCompilerInterface(*sys.argv[1:])
peer.reset_pipes()
while True:
    features = peer.evaluate()
    values = list(features.values()) if isinstance(features, dict) else [list(each) for each in features]
    peer.populate_buffer(1)
"""
ROWS = {
    "pipe: bitstream": ("", ""),
    "pipe: json": ("?serdes=json", ""),
    "pipe: protobuf": ("?serdes=protobuf", ""),
    "mlbridge bitstream": ("?protocol=mlbridge&features={names}", "bytes"),
    "mlbridge json": ("?protocol=mlbridge&serdes=json&features={names}", "json"),
}


def floats(count: int) -> tuple[Point, tuple[str, ...]]:
    """A point with one vector, and its name."""
    point = find_point("inline")
    return replace(point, features=(*point.features, TensorSpec("vector", "float32", (count,)))), ("vector",)


def scalars() -> tuple[Point, tuple[str, ...]]:
    point = find_point("inline")
    return point, tuple(spec.name for spec in own_features(point))


def started(base: Path, names: tuple[str, ...], theirs: str) -> subprocess.Popen[bytes]:
    """The model's process."""
    if theirs:
        return subprocess.Popen([sys.executable, "-c", THEIRS, theirs, str(base)], stderr=subprocess.DEVNULL)
    policy = base.with_suffix(".py")
    policy.write_text(POLICY.format(names=names))
    command = [sys.executable, "-c", SERVE, f"python:{policy}:decide", "--pipe", str(base), "--once"]
    return subprocess.Popen(command)


def microseconds(runner: Runner) -> float:
    """The time of one decision."""
    runner.evaluate()
    start, asked = time.perf_counter(), 0
    while time.perf_counter() - start < SECONDS:
        assert runner.evaluate() == 1
        asked += 1
    return (time.perf_counter() - start) / asked * 1e6


def compare(label: str, point: Point, names: tuple[str, ...], rounds: int) -> None:
    """Print a table for one kind of input."""
    models, runners = [], {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for number, (name, (options, theirs)) in enumerate(ROWS.items()):
                base = Path(folder, str(number))
                models.append(started(base, names, theirs))
                text = f"pipe:{base}{options.format(names=','.join(names))}"
                runners[name] = allocate(make_runner(text, point, timeout=60))
            table = [{name: microseconds(runner) for name, runner in runners.items()} for _ in range(rounds)]
        finally:
            for runner in runners.values():
                runner.close()
            for model in models:
                model.terminate()
                model.wait()
    print(label)
    for name in ROWS:
        median = statistics.median(row[name] for row in table)
        least, ours = (min(row[each] for row in table) for each in (name, "pipe: bitstream"))
        print(f"  {name:20} {median:9.1f} us   least {least:9.1f} us   {least / ours:7.1f} of our frames")


def main(rounds: int) -> None:
    """Print all tables."""
    compare("38 int64", *scalars(), rounds)
    for count in (500, 50_000):
        compare(f"{count} float32", *floats(count), rounds)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
