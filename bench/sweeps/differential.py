# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inlining decisions of stock LLVM's own runner, and passpilot's with the same answers, in whole programs.

Stock opt asks in the interactive mode of its ML advisor, over FIFOs, and `passpilot attach` answers;
`passpilot opt` asks the same policy by itself. The policy answers by three features, and writes down all 37
at every question. Both must ask the same questions with the same features, and make the same bitcode.
`node_count` and `edge_count` may differ: LLVM does not count what the default inlines without a question, at
calls that are recursive or unreachable, and passpilot does. Writes bench/results/differential.json, and exits
1 if anything else differs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from bench.lib import command, show, write
from bench.lib.corpus import built
from tests.command import PASSPILOT
from tests.corpus.build import bindir

PROGRAMS: Final = (
    *("cjson", "giflib", "yajl", "jansson", "tinyxml2", "lz4", "libdeflate", "libsvm", "picosat", "bzip2"),
    *("zlib", "lmdb", "meshoptimizer", "libyaml", "md4c", "lodepng", "utf8proc", "lua", "zstd", "cmark-gfm"),
    *("box2d", "re2", "expat", "pugixml", "mujs"),
)
MAY: Final = frozenset({"node_count", "edge_count"})
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


def answers(command: list[str | Path], source: Path, target: Path) -> list[list[str]]:
    """The names of the features, and a row for every question, of a compilation."""
    record = target.with_suffix(".txt")
    environment = {**os.environ, "ANSWERS": str(record)}
    output: list[str | Path] = [source, "-o", target.with_suffix(".bc")]
    subprocess.run([*command, *output], env=environment, check=True, capture_output=True, timeout=1800)
    return [line.split() for line in record.read_text().splitlines()]


def compared(source: Path, folder: Path) -> dict[str, Any]:
    policy = folder / "policy.py"
    policy.write_text(POLICY)
    runner = f"--inline=python:{policy}:decide"
    attached: list[str | Path] = [
        PASSPILOT,
        "attach",
        "--timeout=100",
        runner,
        "--",
        bindir() / "opt",
        PIPELINE,
    ]
    stock = answers(attached, source, folder / "stock")
    ours = answers([PASSPILOT, "opt", PIPELINE, runner], source, folder / "ours")
    names = ours[0]
    different = {
        name
        for row, other in zip(stock, ours, strict=False)
        for name, a, b in zip(names, row, other, strict=True)
        if a != b
    }
    same = len(stock) == len(ours) and "answer" not in different
    bitcode = (folder / "stock.bc").read_bytes() == (folder / "ours.bc").read_bytes()
    return {
        "questions": len(ours) - 1,
        "features": " ".join(name for name in names if name in different and name != "answer"),
        "answers": "same" if same else "others",
        "bitcode": "same" if bitcode else "another",
    }


@command
def main(*programs: str) -> None:
    rows = {}
    for program in built(programs or PROGRAMS):
        with tempfile.TemporaryDirectory() as folder:
            rows[program.name] = compared(program.whole("Oz"), Path(folder))
        write("differential.json", rows)
    show("stock LLVM's own runner and ours; the features that differ", "program", rows)
    wrong = [
        name
        for name, row in rows.items()
        if not set(row["features"].split()) <= MAY or not row["answers"] == row["bitcode"] == "same"
    ]
    if wrong:
        sys.exit(f"expected stock opt's own decisions, got others in {', '.join(wrong)}")
