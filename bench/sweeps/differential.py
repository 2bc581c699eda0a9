# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inlining decisions of stock LLVM's own runner, and passpilot's with the same answers, in whole programs.

Stock opt asks in the interactive mode of its ML advisor, over FIFOs, and `passpilot attach` answers;
`passpilot opt` asks the same policy by itself. The policy answers by three features, and writes down all 37
at every question. Both must ask the same questions with the same features, and make the same bitcode.
`node_count` and `edge_count` may differ: LLVM does not count what the default inlines without a question, at
calls that are recursive or unreachable, and passpilot does. Writes bench/results/differential.json, and exits
1 if anything else differs.

usage: python -m bench.sweeps.differential [PROGRAM ...]      (25 programs of the corpus)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from bench.lib.records import ROOT
from tests.corpus.build import bindir, build
from tests.corpus.programs import all_programs

PROGRAMS: Final = (
    *("cjson", "giflib", "yajl", "jansson", "tinyxml2", "lz4", "libdeflate", "libsvm", "picosat", "bzip2"),
    *("zlib", "lmdb", "meshoptimizer", "libyaml", "md4c", "lodepng", "utf8proc", "lua", "zstd", "cmark-gfm"),
    *("box2d", "re2", "expat", "pugixml", "mujs"),
)
MAY: Final = frozenset({"node_count", "edge_count"})
RESULTS: Final = ROOT / "bench/results/differential.json"
PASSPILOT: Final = str(Path(sys.executable).with_name("passpilot"))
PIPELINE: Final = "-passes=default<Oz>"
POLICY: Final = """\
import atexit
import os

from passpilot import find_point

NAMES = [spec.name for spec in find_point("inline").features if spec.name != "inlining_default"]
OUT = open(os.environ["ANSWERS"], "w")
atexit.register(OUT.close)
print(*NAMES, "answer", file=OUT)


def decide(obs):
    seen = {name: obs[name].item() for name in NAMES}
    size = 3 * seen["cost_estimate"] + seen["callee_basic_block_count"]
    answer = int(size < 40 + 5 * seen["caller_users"])
    print(*seen.values(), answer, file=OUT)
    return answer
"""

Row = dict[str, object]


def main(names: list[str]) -> int:
    """Compare, print, write; returns the exit code."""
    chosen = names or PROGRAMS
    if problems := build(chosen):
        sys.exit(f"bench_differential: {problems[0]}")
    table = Table("program", "questions", "features that differ", "answers", "bitcode")
    rows: dict[str, Row] = {}
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            row = rows[name] = compared(all_programs()[name].whole("Oz"), Path(folder))
        table.add_row(name, *map(str, (row["questions"], row["features"], row["answers"], row["bitcode"])))
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    Console(width=110).print(table)
    wrong = [name for name, row in rows.items() if not is_fine(row)]
    if wrong:
        print(f"bench_differential: expected stock opt's own decisions, got others in {', '.join(wrong)}")
    return 1 if wrong else 0


def is_fine(row: Row) -> bool:
    """Whether only what may differ does."""
    return set(str(row["features"]).split()) <= MAY and row["answers"] == row["bitcode"] == "same"


def compared(source: Path, folder: Path) -> Row:
    """What both say of a module."""
    policy = folder / "policy.py"
    policy.write_text(POLICY)
    runner = f"--inline=python:{policy}:decide"
    opt = str(bindir() / "opt")
    stock = answers(
        [PASSPILOT, "attach", "--timeout=100", runner, "--", opt, PIPELINE], source, folder / "stock"
    )
    ours = answers([PASSPILOT, "opt", PIPELINE, runner], source, folder / "ours")
    names = ours[0]
    different = {
        name
        for one, other in zip(stock, ours, strict=False)
        for name, a, b in zip(names, one, other, strict=True)
        if a != b
    }
    features = " ".join(name for name in names if name in different and name != "answer")
    same = len(stock) == len(ours) and "answer" not in different
    bitcode = (folder / "stock.bc").read_bytes() == (folder / "ours.bc").read_bytes()
    return {
        "questions": len(ours) - 1,
        "features": features,
        "answers": "same" if same else "others",
        "bitcode": "same" if bitcode else "another",
    }


def answers(command: list[str], source: Path, target: Path) -> list[list[str]]:
    """The names of the features, and a row for every question, of a compilation."""
    record = target.with_suffix(".txt")
    environment = {**os.environ, "ANSWERS": str(record)}
    output = [str(source), "-o", str(target.with_suffix(".bc"))]
    subprocess.run([*command, *output], env=environment, check=True, capture_output=True, timeout=1800)
    return [line.split() for line in record.read_text().splitlines()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
