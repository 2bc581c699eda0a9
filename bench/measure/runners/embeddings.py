# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what embeddings and graphs cost a compilation whose model reads them, in stock opt and llc.

The models are compiled ahead of time and repeat the default's decision, so that all outputs of a tool are
equal. They differ in the tensors that they read: every command of a tool loads the same file, which starts
Python. The vocabularies have random vectors. The ratios are of executed instructions, to those with the model
that reads the default alone.

usage: python -m bench.measure.runners.embeddings [program] [dimension]
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from onnx import TensorProto, helper

from bench.lib import Bar, command, settle, show
from bench.lib.corpus import built
from bench.lib.instructions import instructions
from passpilot import find_point
from passpilot.cli.aot import main as aot
from passpilot.plugin.load import load_file
from passpilot.plugin.toolchain import llvm_plugin
from tests import stock
from tests.corpus.build import bindir
from tests.features.llvm.vocabularies import ir2vec_sections, mir2vec_sections, written
from tests.passes.allocation.allocated import optimized
from tests.runners.aot.models import model

BASE: Final = "the default"
READ: Final[dict[str, dict[str, tuple[tuple[str, ...], float]]]] = {
    "inline": {
        BASE: ((), 1.0),
        "IR2Vec of both functions": (("ir2vec_caller", "ir2vec_callee"), 1.1),
    },
    "evict": {
        BASE: ((), 1.0),
        "MIR2Vec of the function": (("mir2vec_function",), 1.15),
        "MIR2Vec of the candidate and the columns": (("mir2vec_candidate", "mir2vec_columns"), 1.2),
        "the graph, 64 rows": (("graph_nodes", "graph_edges", "graph_counts", "graph_columns"), 1.1),
    },
}
"""The tensors by point and name, and the bars."""


def echo(folder: Path, point: str, names: tuple[str, ...]) -> Path:
    """A compiled model that repeats the default's decision and reads these tensors."""
    at = find_point(point)
    types = {"int64": TensorProto.INT64, "float32": TensorProto.FLOAT}
    specs = [at.default, *at.select(names)]
    inputs = [(spec.name, types[spec.dtype], list(spec.shape)) for spec in specs]
    path = folder / f"{point}-{len(list(folder.glob('*.onnx')))}.onnx"
    node = helper.make_node("Identity", [at.default.name], [at.advice.name])
    path.write_bytes(model([node], inputs, [at.advice.name]).SerializeToString())
    library = path.with_suffix(".so")
    assert aot([str(path), "-o", str(library), f"--point={point}"]) == 0
    return library


def ratios(folder: Path, point: str, tool: list[str | Path], load: Path) -> dict[str, float]:
    """Instructions of the tool by what its model reads, to those with a model that reads the default."""
    lines: Mapping[str, list[str | Path]] = {
        name: [
            *tool,
            *(f"-passpilot-load={load}", f"-passpilot-{point}=aot:{echo(folder, point, names)}"),
            *("-o", folder / f"{point}-{number}.out"),
        ]
        for number, (name, (names, _)) in enumerate(READ[point].items())
    }
    counts = instructions(lines)
    assert len({path.read_bytes() for path in folder.glob(f"{point}-*.out")}) == 1, (
        "the echoes change nothing"
    )
    return {name: count / counts[BASE] for name, count in counts.items()}


@command
def main(program: str = "lua", dimension: int = 75) -> None:
    source, code = built([program])[0].whole("Oz"), optimized(program)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        mir = folder / "code.mir"
        stock.run("llc", "-O2", "-stop-before=greedy", code, "-o", mir)
        ir2vec = written(folder / "ir2vec.json", ir2vec_sections(dimension=dimension))
        mir2vec = written(folder / "mir2vec.json", mir2vec_sections(mir, dimension))
        load = folder / "tensors.py"
        load.write_text(
            f"import passpilot\n\npasspilot.ir2vec_features({str(ir2vec)!r})\n"
            f"passpilot.mir2vec_features({str(mir2vec)!r})\npasspilot.graph_features('evict')\n"
        )
        load_file(str(load))
        opt: list[str | Path] = [
            bindir() / "opt",
            f"-load-pass-plugin={llvm_plugin()}",
            "-passes=default<Oz>",
            source,
        ]
        llc: list[str | Path] = [bindir() / "llc", f"-load={llvm_plugin()}", "-O2", "-filetype=obj", code]
        found = {
            "inline": ratios(folder, "inline", opt, load),
            "evict": ratios(folder, "evict", llc, load),
        }
    for point, row in found.items():
        show(
            f"instructions at `{point}`, {program}, {dimension} numbers a vector",
            "a model that reads",
            {what: {f"to {BASE}": value} for what, value in row.items()},
        )
    settle(
        *(
            Bar(f"{what} at `{point}`", found[point][what], bar, f"the model that reads {BASE}")
            for point, rows in READ.items()
            for what, (_, bar) in rows.items()
            if what != BASE
        )
    )
