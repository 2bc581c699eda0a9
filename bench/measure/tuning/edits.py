# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the decisions of a tuned program that still match after random edits of its source.

usage: python -m bench.measure.tuning.edits [--compiles=N] [--edits=N] [PROGRAM ...]

Searches PROGRAMs (lua, box2d) with N (10) compilations per unit. Each of the edits (20) starts from the
program's own source and changes one file that has decisions: it inserts lines of comments, adds a function
that calls another one, or renames a variable of a function. `passpilot cc -Oz --decisions` compiles the file
and says what no longer matches. Prints a table, writes bench/results/edits.json, and fails if less than 95 %
match.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from bench.lib.records import ROOT
from passpilot.training.tuning.decision_file import read_decisions
from tests.corpus.export import export
from tests.corpus.programs import Program, programs

LIMIT: Final = 0.95
RESULTS: Final = ROOT / "bench/results/edits.json"
PASSPILOT: Final = Path(sys.executable).with_name("passpilot")
LOST: Final = re.compile(r"decisions for .*: (\d+) of (\d+) no longer match")
FUNCTION: Final = re.compile(
    r"^(?!static|struct|class|enum|union|namespace|extern|typedef)\w[^;{}#]*\)[^;{}#]*\{\n(.*?)^\}\n",
    re.MULTILINE | re.DOTALL,
)
VARIABLE: Final = re.compile(
    r"^ +(?:const )?(?:int|size_t|float|double|char|\w+ \*) ?(\w{2,})(?= = |;)", re.MULTILINE
)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiles", type=int, default=10)
    parser.add_argument("--edits", type=int, default=20)
    parser.add_argument("programs", nargs="*", default=["lua", "box2d"])
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.programs:
            rows += edited(programs()[name], options.compiles, options.edits, Path(scratch))
    table = Table(title="decisions that match after an edit")
    for column in ("program", "edit", "file", "matching", "decisions"):
        table.add_column(column)
    for row in rows:
        table.add_row(*(str(row[column]) for column in ("program", "edit", "file", "matching", "decisions")))
    matching, decisions = (sum(row[column] for row in rows) for column in ("matching", "decisions"))
    table.add_row("all", "", "", str(matching), str(decisions))
    Console(width=110).print(table)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"matching": matching / decisions, "edits": rows}, indent=1) + "\n")
    if matching < LIMIT * decisions:
        got = matching / decisions
        sys.exit(f"bench_edits: expected {LIMIT:.0%} of the decisions to match, got {got:.1%}")


def edited(program: Program, compiles: int, edits: int, scratch: Path) -> list[dict[str, Any]]:
    """Search a program, then compile it with edits, one at a time."""
    corpus, out = scratch / f"{program.name}-corpus", scratch / program.name
    problems = export(corpus, [program.name], "Oz", sections=True)
    if problems:
        sys.exit(f"bench_edits: {problems[0]}")
    command = [str(PASSPILOT), "tune", f"--corpus={corpus}", f"--compiles={compiles}", "-o", str(out)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    file = out / f"{program.name}.decisions"
    tree = shutil.copytree(program.source, scratch / f"{program.name}-tree")
    counts = {unit.name: len(unit.inline) for unit in read_decisions(str(file)) if unit.inline}
    rows = []
    for number in range(edits):
        chance = random.Random(number)
        kind = list(EDITS)[number % len(EDITS)]
        for name in chance.sample(sorted(counts), len(counts)):
            before = (tree / name).read_text(errors="surrogateescape")
            after = EDITS[kind](before, chance)
            if after == before:
                continue
            said = compiled(program, tree, name, after, file)
            if said is not None:
                break
        else:
            sys.exit(f"bench_edits: expected a file of {program.name} that {kind} can edit, got none")
        lost = LOST.search(said)
        row = {"program": program.name, "edit": kind, "file": name, "decisions": counts[name]}
        rows.append({**row, "matching": counts[name] - (int(lost[1]) if lost else 0)})
    return rows


def compiled(program: Program, tree: Path, name: str, text: str, decisions: Path) -> str | None:
    """What the compiler says of an edited file; None if the edit does not compile."""
    path = tree / name
    before = path.read_bytes()
    path.write_text(text, errors="surrogateescape")
    driver = "cc" if path.suffix == ".c" else "c++"
    flags = ["-Oz", "-w", *program.flags(name), f"--decisions={decisions}", "-c", name, "-o", "edited.o"]
    done = subprocess.run([PASSPILOT, driver, *flags], cwd=tree, capture_output=True, text=True, check=False)
    path.write_bytes(before)
    return done.stderr if done.returncode == 0 else None


def comments(text: str, chance: random.Random) -> str:
    """Lines between the functions."""
    ends = [found.end() for found in FUNCTION.finditer(text)]
    for end in sorted(chance.sample(ends, min(3, len(ends))), reverse=True):
        text = text[:end] + "\n/* a line\n   and another */\n" + text[end:]
    return text


def function(text: str, chance: random.Random) -> str:
    """Two functions behind another, one of which calls the other."""
    ends = [found.end() for found in FUNCTION.finditer(text)]
    if not ends:
        return text
    end = chance.choice(ends)
    added = """
int added_by_an_edit(int x) { for (int i = 0; i < x; ++i) x ^= x << 3; return x; }
int added_behind_it(int x) { return added_by_an_edit(x) + added_by_an_edit(x * 3); }
"""
    return text[:end] + added + text[end:]


def variable(text: str, chance: random.Random) -> str:
    """A variable of a function with another name."""
    bodies = [found for found in FUNCTION.finditer(text) if VARIABLE.search(found[1])]
    if not bodies:
        return text
    body = chance.choice(bodies)
    name = chance.choice(VARIABLE.findall(body[1]))
    renamed = re.sub(rf"(?<![\w.>\"]){name}(?![\w\"(])", f"{name}_renamed", body[1])
    return text[: body.start(1)] + renamed + text[body.end(1) :]


EDITS: Final[dict[str, Callable[[str, random.Random], str]]] = {
    "lines": comments,
    "functions": function,
    "renamed": variable,
}


if __name__ == "__main__":
    main()
