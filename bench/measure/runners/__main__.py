# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares all ways to ask a model: the cost of one decision, and of whole compilations.

usage: runners [decisions] [memory] [compilations] [scores] [graph]      (default: all)

decisions     microseconds per decision (median, p90), bytes on the wire and cold start, for every runner and
              codec; a Python model answers 0 to 38 scalars and to the 21 tensors of an eviction, and sums
              vectors of 500 to 50,000 floats; also ONNX and ahead-of-time perceptrons
memory        growth of both processes over 10^6 decisions, or 10^5 for runners that take over 20 µs
compilations  whole `opt -Oz` and `llc -O2` with one policy by ONNX, ahead of time, pipe and gRPC, as ratios
              to the stock tools; the policy follows LLVM's default, so that all outputs are equal; also
              stock opt in MLGO's interactive mode, answered by `passpilot attach`
scores        a model that scores one column of an eviction, asked about all legal ones at once or one by one
graph         `llc -O2` with a policy that reads 153,300 floats of the interference graph at every decision

All contenders run in turns, so that noise affects all of them. Writes bench/results/runners.json.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Final

from bench.lib.records import ROOT
from bench.measure.runners import compilations as runner_compilations
from bench.measure.runners import decisions as runner_decisions

if TYPE_CHECKING:
    from collections.abc import Callable

PARTS: Final[dict[str, Callable[[], object]]] = {
    "decisions": runner_decisions.decisions,
    "memory": runner_decisions.memory,
    "compilations": runner_compilations.compilations,
    "scores": runner_compilations.scores,
    "graph": runner_compilations.graph,
}


def main() -> None:
    """Run the chosen parts, and keep the other parts' results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("part", nargs="*", choices=(*PARTS, []), metavar="PART")
    parts = parser.parse_args().part or list(PARTS)
    path = ROOT / "bench/results" / "runners.json"
    path.parent.mkdir(exist_ok=True)
    results = json.loads(path.read_text()) if path.exists() else {}
    for part in parts:
        results[part] = PARTS[part]()
        path.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
