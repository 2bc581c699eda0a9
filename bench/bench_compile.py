# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares whole processes in turns: stock opt, and passpilot opt with policies that echo the default.

Prints instructions and processor time (user and system) relative to stock opt's, and the share of LLVM's own
work for the features in the difference; writes bench/results/compile.json. All 38 features are computed for a
Python policy that does not say what it reads; one that says that it reads nothing is compared with a native
echo, for which none is computed either, in the same script. Bars, for the instructions: the first 1.25 times
stock, the second 1.05 times the native echo.

usage: bench_compile.py [PROGRAM [LEVEL [ROUNDS]]]      (zstd Oz 4; the rounds are of the times)
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from bench.bars import Bar, arguments, settle  # noqa: E402
from bench.instructions import instructions  # noqa: E402
from bench.turns import in_turns, ratio  # noqa: E402
from tests.corpus.build import build  # noqa: E402
from tests.corpus.programs import programs  # noqa: E402

POLICY: Final = "def echo(obs):\n    return obs.default()\n"
# Runner objects, as the spec `default` would leave the inliner unchanged. numpy has one thread, as in opt.
ECHO: Final = """\
import os, sys
os.environ["OPENBLAS_NUM_THREADS"] = "1"
from passpilot import InlineAdvisor, Module, make_runner, optimize
from passpilot.features.point import find_point
def reads_nothing(obs):
    return obs.default()
reads_nothing.features = ()
module = Module.read(sys.argv[1])
runner = make_runner("default", find_point("inline"))
advisor = InlineAdvisor(reads_nothing if sys.argv[5:] else runner)
optimize(module, sys.argv[2], [advisor])
module.write(sys.argv[3])
counts = advisor._core.counts
with open(sys.argv[4], "w") as file:
    print(counts["ask_seconds"], counts["default_seconds"], int(counts["asked"]), file=file)
"""


def commands(folder: Path, bitcode: Path, pipeline: str) -> dict[str, list[str | Path]]:
    """The compared commands by name; their outputs go into `folder`."""
    (folder / "echo.py").write_text(POLICY)
    script = folder / "script.py"
    script.write_text(ECHO)
    passpilot = Path(sys.executable).with_name("passpilot")
    common: list[str | Path] = [bitcode, f"-passes={pipeline}"]
    scripted: list[str | Path] = [sys.executable, script, bitcode, pipeline]
    return {
        "opt-22": ["opt-22", *common, "-o", folder / "stock.bc"],
        "passpilot opt": [passpilot, "opt", *common, "-o", folder / "plain.bc"],
        "native echo": [*scripted, folder / "native.bc", folder / "counts"],
        "Python echo": [
            passpilot, "opt", *common, f"--inline=python:{folder}/echo.py:echo", "-o", folder / "python.bc"
        ],
        "Python echo, reads nothing": [*scripted, folder / "brief.bc", folder / "other counts", "python"],
    }  # fmt: skip


def main() -> None:
    """Measure in turns, print the least times and their ratios."""
    given = arguments()
    program, level, rounds = (*given, *("zstd", "Oz", "4")[len(given) :])
    if problems := build([program]):
        sys.exit(f"bench_compile: {problems[0]}")
    bitcode = programs()[program].whole(level)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = commands(folder, bitcode, f"default<{level}>")
        times = in_turns(runs, int(rounds))
        asking, deciding, asked = map(float, (folder / "counts").read_text().split())
        executed = instructions(runs)  # writes the counts again, with the seconds of valgrind
        outputs = {path.read_bytes() for path in folder.glob("*.bc")}
    least = {who: min(values) for who, values in times.items()}
    took = {who: ratio(seconds, times["opt-22"]) for who, seconds in times.items()}
    ratios = {who: count / executed["opt-22"] for who, count in executed.items()}
    to_native = ratios["Python echo, reads nothing"] / ratios["native echo"]
    table = Table(title=f"{program} at {level}, {bitcode.stat().st_size / 1e6:.1f} MB, {rounds} rounds")
    for column in ("who", "instructions", "least s", "time to opt-22"):
        table.add_column(column, justify="left" if column == "who" else "right")
    for who, seconds in least.items():
        table.add_row(who, f"{ratios[who]:.3f}", f"{seconds:.2f}", f"{took[who]:.3f}")
    console = Console()
    console.print(table)
    extra = least["native echo"] - least["opt-22"]
    console.print(
        f"the last to native echo: {to_native:.3f}; outputs {'equal' if len(outputs) == 1 else 'DIFFER'}"
    )
    console.print(
        f"native echo: {asked:.0f} decisions; {extra:.2f} s over stock (fastest runs), of which "
        f"{asking:.3f} s are ours and {deciding:.2f} s LLVM's default decisions (stock takes those, too); "
        "the rest is LLVM's feature extraction and the start of Python"
    )
    results = ROOT / "bench/results"
    results.mkdir(exist_ok=True)
    report = {"seconds": times, "instructions": executed, "ratios": ratios, "python_to_native": to_native}
    (results / "compile.json").write_text(json.dumps(report, indent=1) + "\n")
    if len(outputs) != 1:
        sys.exit(1)
    settle(
        "compile",
        Bar("passpilot opt without an advisor, instructions", ratios["passpilot opt"], 1.05, "opt-22"),
        Bar("a C++ runner repeats the default, instructions", ratios["native echo"], 1.08, "opt-22"),
        Bar("a Python policy repeats the default, instructions", ratios["Python echo"], 1.25, "opt-22"),
        Bar("a Python policy that reads nothing, instructions", to_native, 1.05, "the C++ runner"),
    )


if __name__ == "__main__":
    main()
