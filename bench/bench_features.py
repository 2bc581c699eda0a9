# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what a native model costs by the features that it reads, in whole processes of stock opt.

The models are compiled ahead of time and repeat the default's decision, so that all outputs are equal: one
reads nothing else, one also reads the twelve features that need no cost analysis, and one all 38. The bars,
1.03, 1.03 and 1.08, are for the instructions relative to plain opt's. Processor time is printed beside them:
ratios of processes in turns. Writes bench/results/features.json.

usage: bench_features.py [PROGRAM [LEVEL [ROUNDS]]]      (zstd Oz 4; the rounds are of the times)
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import onnx
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from bench.bars import Bar, arguments, settle  # noqa: E402
from bench.instructions import instructions  # noqa: E402
from bench.turns import in_turns, ratio  # noqa: E402
from passpilot.cli.aot import main as aot  # noqa: E402
from passpilot.features.llvm.inline import FEATURES  # noqa: E402
from passpilot.plugin.toolchain import llvm_plugin  # noqa: E402
from tests.corpus.build import bindir, build  # noqa: E402
from tests.corpus.programs import programs  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

COST: Final = 25
"""So many features come first that need LLVM's cost analysis; `cost_estimate` is another."""
NAMES: Final = tuple(row.spec.name for row in FEATURES)
CHEAP: Final = tuple(name for name in NAMES[COST:] if name != "cost_estimate")
MODELS: Final[dict[str, tuple[tuple[str, ...], float]]] = {
    "the default alone": ((), 1.03),
    f"{len(CHEAP)} features, no cost analysis": (CHEAP, 1.03),
    f"all {len(NAMES)} features": (NAMES, 1.08),
}


def echo(names: Sequence[str]) -> onnx.ModelProto:
    """A model that reads these features, and answers the default's decision."""
    make, kind = onnx.helper, onnx.TensorProto.INT64
    inputs = [make.make_tensor_value_info(name, kind, [1]) for name in ("inlining_default", *names)]
    answer = make.make_tensor_value_info("inlining_decision", kind, [1])
    node = make.make_node("Identity", ["inlining_default"], [answer.name])
    graph = make.make_graph([node], "echo", inputs, [answer])
    return make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9)


def commands(folder: Path, bitcode: Path, level: str) -> dict[str, list[str]]:
    """The compared commands by name; plain opt is the first."""
    plain = [str(bindir() / "opt"), f"-passes=default<{level}>", str(bitcode)]
    made = {"opt-22": [*plain, "-o", str(folder / "plain.bc")]}
    for number, (name, (features, _)) in enumerate(MODELS.items()):
        model = folder / f"{number}.onnx"
        model.write_bytes(echo(features).SerializeToString())
        aot([str(model), "-o", str(folder / f"{number}.so")])
        flags = [f"-load-pass-plugin={llvm_plugin()}", f"-passpilot-inline=aot:{folder}/{number}.so"]
        made[name] = [plain[0], *flags, *plain[1:], "-o", str(folder / f"{number}.bc")]
    return made


def main() -> None:
    """Measure in turns, print, write, and compare with the bars."""
    given = arguments()
    program, level, rounds = (*given, *("zstd", "Oz", "4")[len(given) :])
    if problems := build([program]):
        sys.exit(f"bench_features: {problems[0]}")
    bitcode = programs()[program].whole(level)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = commands(folder, bitcode, level)
        times = in_turns(runs, int(rounds))
        counts = instructions(runs)
        outputs = {path.read_bytes() for path in folder.glob("*.bc")}
    ratios = {who: count / counts["opt-22"] for who, count in counts.items()}
    took = {who: ratio(values, times["opt-22"]) for who, values in times.items()}
    table = Table("a model that reads", "instructions", "time", title=f"{program} at {level}, to opt-22")
    for who, value in ratios.items():
        table.add_row(who, f"{value:.4f}", f"{took[who]:.3f}")
    Console().print(table)
    path = ROOT / "bench/results/features.json"
    path.write_text(
        json.dumps({"program": program, "level": level, "seconds": times, "instructions": counts}) + "\n"
    )
    if len(outputs) != 1:
        sys.exit("bench_features: expected equal outputs")
    settle(
        "features",
        *(
            Bar(f"a model that reads {who}, instructions", ratios[who], bar, "opt-22")
            for who, (_, bar) in MODELS.items()
        ),
    )


if __name__ == "__main__":
    main()
