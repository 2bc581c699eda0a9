# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what a native model costs by the features that it reads, in whole processes of stock opt.

The models are compiled ahead of time and repeat the default's decision, so that all outputs are equal: one
reads nothing else, one also reads the twelve features that need no cost analysis, and one all 38. The bars,
1.03, 1.03 and 1.08, are for the instructions relative to plain opt's. Processor time is printed beside them:
ratios of processes in turns, in so many rounds.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Final

from onnx import helper

from bench.lib import Bar, command, commands_in_turns, ratio, settle, show
from bench.lib.corpus import built
from bench.lib.instructions import instructions
from passpilot.cli.aot import main as aot
from passpilot.features.llvm.inline import FEATURES
from passpilot.plugin.toolchain import llvm_plugin
from tests.corpus.build import bindir
from tests.runners.aot.models import INT64, model

COST: Final = 25
"""So many features come first that need LLVM's cost analysis; `cost_estimate` is another."""
NAMES: Final = tuple(row.spec.name for row in FEATURES)
CHEAP: Final = tuple(name for name in NAMES[COST:] if name != "cost_estimate")
MODELS: Final[dict[str, tuple[tuple[str, ...], float]]] = {
    "the default alone": ((), 1.03),
    f"{len(CHEAP)} features, no cost analysis": (CHEAP, 1.03),
    f"all {len(NAMES)} features": (NAMES, 1.08),
}


def commands(folder: Path, bitcode: Path, level: str) -> dict[str, list[str]]:
    """The compared commands by name; plain opt is the first."""
    opt, rest = str(bindir() / "opt"), [f"-passes=default<{level}>", str(bitcode), "-o"]
    lines = {"opt-22": [opt, *rest, str(folder / "plain.bc")]}
    for number, (name, (features, _)) in enumerate(MODELS.items()):
        path = folder / f"{number}.onnx"
        inputs = [(feature, INT64, [1]) for feature in ("inlining_default", *features)]
        echo = helper.make_node("Identity", ["inlining_default"], ["inlining_decision"])
        path.write_bytes(model([echo], inputs, ["inlining_decision"]).SerializeToString())
        aot([str(path), "-o", str(folder / f"{number}.so")])
        flags = [f"-load-pass-plugin={llvm_plugin()}", f"-passpilot-inline=aot:{folder}/{number}.so"]
        lines[name] = [opt, *flags, *rest, str(folder / f"{number}.bc")]
    return lines


@command
def main(program: str = "zstd", level: str = "Oz", rounds: int = 4) -> None:
    module = built([program])[0].whole(level)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = commands(folder, module, level)
        times = commands_in_turns(runs, rounds)
        counts = instructions(runs)
        outputs = {path.read_bytes() for path in folder.glob("*.bc")}
    rows = {
        who: {"instructions": count / counts["opt-22"], "time": ratio(times[who], times["opt-22"])}
        for who, count in counts.items()
    }
    show(f"{program} at {level}, to opt-22", "a model that reads", rows)
    if len(outputs) != 1:
        sys.exit("expected equal outputs")
    settle(
        *(
            Bar(f"a model that reads {who}, instructions", rows[who]["instructions"], bar, "opt-22")
            for who, (_, bar) in MODELS.items()
        )
    )
