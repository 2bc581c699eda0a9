# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy with link-time optimization: the machine code of test programs relative to clang-22 -Oz -flto.

Both programs are linked by lld with --gc-sections, and must print the same. Writes bench/results/lto.json.
Fails if a program is larger, or prints something else.

usage: policies.lto [POLICY [PROGRAM ...]]      (@oz, the test programs of tests/corpus/split.toml)
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict

from rich.console import Console
from rich.table import Table

from bench.lib.records import ROOT
from passpilot.training.rewards import code_bytes
from tests.corpus.build import build
from tests.corpus.programs import all_programs

if TYPE_CHECKING:
    from tests.corpus.programs import Program

PASSPILOT: Final = str(Path(sys.executable).with_name("passpilot"))
FLAGS: Final = ("-Oz", "-flto", "-fPIE", "-w")
LINK: Final = ("-fuse-ld=lld", "-Wl,--gc-sections", "-pie")
RESULTS: Final = ROOT / "bench/results/lto.json"
STEADY: Final = 2
"""How often a program runs, to see whether it prints the same each time."""


class Row(TypedDict):
    """A program: the bytes of its machine code, and whether both sides print the same."""

    clang: int
    policy: int
    ratio: float
    output: str


def built(program: Program, compiler: list[str], folder: Path) -> Path:
    """Compile a program's units for the linker, and link them."""
    folder.mkdir()
    units = sorted({program.unit(source, "Oz") for source in program.sources()})

    def compiled(unit: Path) -> str:
        target = str(folder / f"{unit.stem}.o")
        command = [*compiler, *FLAGS, "-c", str(unit), "-o", target]
        subprocess.run(command, check=True, timeout=600, stderr=subprocess.DEVNULL)
        return target

    with ThreadPoolExecutor() as pool:
        objects = list(pool.map(compiled, units))
    linked = folder / program.name
    libraries = [*program.libs, *(["-lstdc++"] if program.lang == "c++" else []), "-lm"]
    command = [*compiler, *FLAGS, *LINK, *objects, *libraries, "-o", str(linked)]
    subprocess.run(command, check=True, timeout=1800)
    return linked


def printed(program: Program, linked: Path) -> set[bytes]:
    """What the program prints in some runs."""
    command = [str(linked), *(each.replace("{drv}", "_driver") for each in program.driver.args)]
    return {
        subprocess.run(command, cwd=program.source, capture_output=True, timeout=600, check=True).stdout
        for _ in range(STEADY)
    }


def main(policy: str = "@oz", *names: str) -> None:
    """Measure, print, write."""
    split = tomllib.loads((ROOT / "tests/corpus/split.toml").read_text())
    chosen = names or tuple(split["parts"]["test"])
    if problems := build(chosen):
        sys.exit(f"bench_lto: {problems[0]}")
    table = Table(title=f"-Oz -flto and {policy}: machine code, bytes")
    for column in ("program", "clang", policy, "ratio", "output"):
        table.add_column(column, justify="left" if column in ("program", "output") else "right")
    rows: dict[str, Row] = {}
    for name in chosen:
        program = all_programs()[name]
        with tempfile.TemporaryDirectory() as folder:
            plain = built(program, ["clang-22"], Path(folder) / "plain")
            small = built(program, [PASSPILOT, "cc", f"--policy={policy}"], Path(folder) / "small")
            sizes = [code_bytes(each.read_bytes()) for each in (plain, small)]
            expected, got = printed(program, plain), printed(program, small)
        steady = len(expected) == 1
        output = "same" if expected == got else "wrong" if steady else "unsteady, by itself"
        rows[name] = {"clang": sizes[0], "policy": sizes[1], "ratio": sizes[1] / sizes[0], "output": output}
        table.add_row(name, f"{sizes[0]:,}", f"{sizes[1]:,}", f"{sizes[1] / sizes[0]:.4f}", output)
        print(f"{name}: {sizes[1] / sizes[0]:.4f}", file=sys.stderr, flush=True)
    mean = math.exp(sum(math.log(row["ratio"]) for row in rows.values()) / len(rows))
    table.add_row("geometric mean", "", "", f"{mean:.4f}", "")
    Console(width=110).print(table)
    if not names:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps({"policy": policy, "mean": mean, "programs": rows}, indent=1) + "\n")
    wrong = [name for name, row in rows.items() if row["ratio"] > 1 or row["output"] == "wrong"]
    if wrong:
        sys.exit(f"bench_lto: expected smaller programs with the same output, got others: {', '.join(wrong)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
