# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what `advised-pipeline` can gain over -Oz, with random search in place of a model.

Every program of the corpus is compiled by default<Oz> once; from that result, `advised-pipeline` runs with
``random:SEED`` for every seed, and code generation follows. The figures are the bytes of .text of -Oz alone,
of the best seed, and of the median. The best program is linked with its libraries and run: its output must be
the corpus's. Target: the best of 50 at least 2 % below -Oz on two programs. Writes
bench/results/advised_pipeline.json.

usage: bench_advised_pipeline.py [SEEDS [PROGRAM ...]]      (50 picosat libyaml)
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.progress import track
from rich.table import Table

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from passpilot import Module, emit, optimize  # noqa: E402
from passpilot.passes.shipped.pipeline import MODULE  # noqa: E402
from passpilot.plugin.errors import CompilationError  # noqa: E402
from tests.corpus.build import bindir, build  # noqa: E402
from tests.corpus.programs import programs  # noqa: E402
from tests.passes.allocation.allocated import driver_output  # noqa: E402

if TYPE_CHECKING:
    from tests.corpus.programs import Program

DEFAULT: Final = ("picosat", "libyaml")


def code_of(module: Module) -> tuple[int, bytes]:
    """The size of .text and the object."""
    made = emit(module, relocation_model="pic", isolated=True)
    with tempfile.NamedTemporaryFile(suffix=".o") as file:
        file.write(made)
        file.flush()
        rows = subprocess.check_output([bindir() / "llvm-size", "-A", file.name], text=True).splitlines()
    sizes = [int(row.split()[1]) for row in rows if row.startswith(".text")]
    return sum(sizes), made


def advised(start: Module, seed: int) -> Module:
    """A copy of the module after the random sequence of a seed."""
    module = start.copy()
    optimize(module, "advised-pipeline", [MODULE.point.advisor(f"random:{seed}")], isolated=True)
    return module


def measure(program: Program, seeds: int) -> dict[str, float]:
    """The sizes of one program."""
    start = Module.read(program.whole("Oz"))
    optimize(start, "default<Oz>")
    oz, _ = code_of(start.copy())
    sizes = {}
    for seed in track(range(seeds), program.name):
        try:
            sizes[seed], _ = code_of(advised(start, seed))
        except CompilationError as error:
            print(f"{program.name}: seed {seed}: {error}", file=sys.stderr)
    best = min(sizes, key=sizes.__getitem__)
    _, made = code_of(advised(start, best))
    with tempfile.TemporaryDirectory() as folder:
        if (digest := driver_output(program, made, Path(folder))) != program.driver.stdout_sha256:
            sys.exit(f"{program.name}: seed {best}: expected the output of the corpus, got {digest}")
    return {"oz": oz, "best": sizes[best], "seed": best, "median": statistics.median(sizes.values())}


def main() -> None:
    """Measure, print, and write the figures."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    names = sys.argv[2:] or DEFAULT
    if problems := build(names):
        sys.exit("\n".join(problems))
    found = {name: measure(programs()[name], seeds) for name in names}
    table = Table("program", "-Oz", f"best of {seeds}", "saved", "median", title=".text in bytes")
    for name, row in found.items():
        saved = 1 - row["best"] / row["oz"]
        table.add_row(name, f"{row['oz']}", f"{row['best']}", f"{saved:.1%}", f"{row['median']:.0f}")
    Console().print(table)
    results = ROOT / "bench" / "results"
    results.mkdir(exist_ok=True)
    (results / "advised_pipeline.json").write_text(json.dumps({"seeds": seeds, "bytes": found}, indent=1))


if __name__ == "__main__":
    main()
