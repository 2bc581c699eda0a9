# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what `advised-pipeline` can gain over -Oz, with random search in place of a model.

Every program of the corpus is compiled by default<Oz> once; from that result, `advised-pipeline` runs with
``random:SEED`` for every seed, and code generation follows. The figures are the bytes of .text of -Oz alone,
of the best seed, and of the median, and with each of the pipelines of `HEADS` in front of default<Oz>. The
best programs are linked with their libraries and run: their output must be the corpus's. Target: the best of
50 at least 2 % below -Oz on two programs. Writes bench/results/advised_pipeline.json.

usage: bench_advised_pipeline.py [SEEDS [PROGRAM ...]]      (50 picosat libyaml; 0 seeds: only `HEADS`)
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
from passpilot.features.llvm.phases import HEADS  # noqa: E402
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
    return text_size(made), made


def text_size(made: bytes) -> int:
    """The size of .text of an object, with the sections of single functions."""
    with tempfile.NamedTemporaryFile(suffix=".o") as file:
        file.write(made)
        file.flush()
        rows = subprocess.check_output([bindir() / "llvm-size", "-A", file.name], text=True).splitlines()
    sizes = [int(row.split()[1]) for row in rows if row.startswith(".text")]
    return sum(sizes)


def advised(start: Module, seed: int) -> Module:
    """A copy of the module after the random sequence of a seed."""
    module = start.copy()
    optimize(module, "advised-pipeline", [MODULE.point.advisor(f"random:{seed}")], isolated=True)
    return module


def check(program: Program, how: str, made: bytes) -> None:
    """Link an object of the program and run it."""
    with tempfile.TemporaryDirectory() as folder:
        if (digest := driver_output(program, made, Path(folder))) != program.driver.stdout_sha256:
            sys.exit(f"{program.name}: {how}: expected the output of the corpus, got {digest}")


def headed(program: Program, head: str) -> int:
    """The size of .text of a program with a pipeline in front of default<Oz>."""
    module = Module.read(program.whole("Oz"))
    choice = MODULE.table.index(head) + 1
    at = {"pipeline-start": "advised-pipeline{budget=1}"}
    optimize(module, "default<Oz>", [MODULE.point.advisor(f"const:{choice}")], at=at)
    size, made = code_of(module)
    check(program, head, made)
    return size


def measure(program: Program, seeds: int) -> dict[str, float]:
    """The sizes of one program."""
    start = Module.read(program.whole("Oz"))
    optimize(start, "default<Oz>")
    oz, _ = code_of(start.copy())
    heads = {head: headed(program, head) for head in HEADS}
    if not seeds:
        return {"oz": oz, **heads}
    sizes = {}
    for seed in track(range(seeds), program.name):
        try:
            sizes[seed], _ = code_of(advised(start, seed))
        except CompilationError as error:
            print(f"{program.name}: seed {seed}: {error}", file=sys.stderr)
    best = min(sizes, key=sizes.__getitem__)
    _, made = code_of(advised(start, best))
    check(program, f"seed {best}", made)
    median = statistics.median(sizes.values())
    return {"oz": oz, **heads, "best": sizes[best], "seed": best, "median": median}


def main() -> None:
    """Measure, print, and write the figures."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    names = sys.argv[2:] or DEFAULT
    if problems := build(names):
        sys.exit("\n".join(problems))
    found = {name: measure(programs()[name], seeds) for name in names}
    columns = [name for name in next(iter(found.values())) if name not in ("oz", "seed")]
    table = Table("program", "-Oz", *columns, title=f".text in bytes, and relative to -Oz; {seeds} seeds")
    for name, row in found.items():
        sizes = (f"{row[each]:.0f} ({row[each] / row['oz']:.3f})" for each in columns)
        table.add_row(name, f"{row['oz']}", *sizes)
    means = (statistics.geometric_mean(row[each] / row["oz"] for row in found.values()) for each in columns)
    table.add_row("geometric mean", "1", *(f"{mean:.3f}" for mean in means))
    Console(width=120).print(table)
    results = ROOT / "bench" / "results"
    results.mkdir(exist_ok=True)
    (results / "advised_pipeline.json").write_text(json.dumps({"seeds": seeds, "bytes": found}, indent=1))


if __name__ == "__main__":
    main()
