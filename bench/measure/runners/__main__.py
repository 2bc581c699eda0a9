# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares all ways to ask a model: the cost of one decision, and of whole compilations.

decisions     microseconds per decision (median, p90), bytes on the wire and cold start, for every runner and
              codec; a Python model answers 0 to 38 scalars and to the 21 tensors of an eviction, and sums
              vectors of 500 to 50,000 floats; also ONNX and ahead-of-time perceptrons
compilations  whole `opt -Oz` and `llc -O2` with one policy by ONNX, ahead of time, pipe and gRPC, as ratios
              to the stock tools; the policy follows LLVM's default, so that all outputs are equal; also
              stock opt in MLGO's interactive mode, answered by `passpilot attach`
scores        a model that scores one column of an eviction, asked about all legal ones at once or one by one
graph         `llc -O2` with a policy that reads 153,300 floats of the interference graph at every decision

All contenders run in turns, so that noise affects all of them. How much memory runners take in the long run
is what `python -m bench.sweeps.runners` measures.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

from bench.lib.command_line import command
from bench.measure.runners.compilations import compilations, graph, scores
from bench.measure.runners.decisions import decisions

PARTS: Final[dict[str, Callable[[], None]]] = {
    "decisions": decisions,
    "compilations": compilations,
    "scores": scores,
    "graph": graph,
}


@command
def main(*parts: str) -> None:
    if unknown := [part for part in parts if part not in PARTS]:
        sys.exit(f"expected parts among {', '.join(PARTS)}, got {unknown[0]}")
    for part in parts or PARTS:
        PARTS[part]()
