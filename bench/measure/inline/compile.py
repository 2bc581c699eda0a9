# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares whole processes in turns: stock opt, and passpilot opt with policies that repeat the default.

Prints instructions and processor time (user and system) relative to stock opt's, and the share of LLVM's
own work for the features in the difference. All 38 features are computed for a Python policy that does not
say what it reads; one that says that it reads nothing is compared with a native echo, for which none is
computed either, in the same script. Bars, for the instructions: the first 1.25 times stock, the second 1.05
times the native echo. The rounds are of the times.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Final

from bench.lib import Bar, command, commands_in_turns, least, ratio, settle, show
from bench.lib.corpus import built
from bench.lib.instructions import instructions
from tests.command import PASSPILOT

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
NATIVE: Final = "native echo"
BRIEF: Final = "Python echo, reads nothing"


def commands(folder: Path, bitcode: Path, pipeline: str) -> dict[str, list[str | Path]]:
    """The compared commands by name; their outputs go into `folder`."""
    (folder / "echo.py").write_text(POLICY)
    (folder / "script.py").write_text(ECHO)
    common: list[str | Path] = [bitcode, f"-passes={pipeline}", "-o"]
    ours: list[str | Path] = [PASSPILOT, "opt", *common]
    scripted: list[str | Path] = [sys.executable, folder / "script.py", bitcode, pipeline]
    return {
        "opt-22": ["opt-22", *common, folder / "stock.bc"],
        "passpilot opt": [*ours, folder / "plain.bc"],
        NATIVE: [*scripted, folder / "native.bc", folder / "counts"],
        "Python echo": [*ours, folder / "python.bc", f"--inline=python:{folder}/echo.py:echo"],
        BRIEF: [*scripted, folder / "brief.bc", folder / "other counts", "python"],
    }


@command
def main(program: str = "zstd", level: str = "Oz", rounds: int = 4) -> None:
    bitcode = built([program])[0].whole(level)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = commands(folder, bitcode, f"default<{level}>")
        times = commands_in_turns(runs, rounds)
        asking, deciding, asked = map(float, (folder / "counts").read_text().split())
        executed = instructions(runs)  # writes the counts again, with the seconds of valgrind
        outputs = {path.read_bytes() for path in folder.glob("*.bc")}
    fastest = least(times)
    ratios = {who: count / executed["opt-22"] for who, count in executed.items()}
    to_native = ratios[BRIEF] / ratios[NATIVE]
    rows = {
        who: {
            "instructions": ratios[who],
            "least s": fastest[who],
            "time to opt-22": ratio(rounds, times["opt-22"]),
        }
        for who, rounds in times.items()
    }
    size = bitcode.stat().st_size / 1e6
    show(f"{program} at {level}, {size:.1f} MB, {rounds} rounds", "who", rows)
    print(
        f"{NATIVE}: {asked:.0f} decisions; {fastest[NATIVE] - fastest['opt-22']:.2f} s over stock, of which "
        f"{asking:.3f} s are ours and {deciding:.2f} s LLVM's default decisions (stock takes those, too); "
        "the rest is LLVM's feature extraction and the start of Python"
    )
    if len(outputs) != 1:
        sys.exit("the outputs differ")
    settle(
        Bar("passpilot opt without an advisor, instructions", ratios["passpilot opt"], 1.05, "opt-22"),
        Bar("a C++ runner repeats the default, instructions", ratios[NATIVE], 1.08, "opt-22"),
        Bar("a Python policy repeats the default, instructions", ratios["Python echo"], 1.25, "opt-22"),
        Bar("a Python policy that reads nothing, instructions", to_native, 1.05, "the C++ runner"),
    )
