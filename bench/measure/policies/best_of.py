# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures `passpilot cc -Oz --best-of=4`: the size of objects, by program, relative to clang-22 -Oz.

Compiles up to UNITS units of each program; by default of the programs for validation, on which the
variants, recipes of `@oz`, were not made. Fails if the geometric mean over the programs is above LIMIT. The
time is that of all compilations of a program, one after the other.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from bench.lib import Bar, command, geometric_means, settle, show, used
from bench.lib.corpus import built, code_size, part
from tests.command import PASSPILOT
from tests.corpus.programs import Program

UNITS: Final = 6
LIMIT: Final = 0.975
COUNT: Final = 4


def measured(program: Program) -> dict[str, float]:
    paths = sorted(program.bitcode("Oz").glob("*.bc"), key=lambda path: path.stat().st_size)
    units = [path for path in paths if path.name != "whole.bc" and not path.name.startswith("_driver")]
    units = units[-1 :: -max(1, len(units) // UNITS)][:UNITS]
    sizes, seconds = {"clang -Oz": 0, "best": 0}, {"clang -Oz": 0.0, "best": 0.0}
    compilers = {"clang -Oz": ("clang-22",), "best": (PASSPILOT, "cc", f"--best-of={COUNT}")}
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "unit.o")
        for unit in units:
            for key, compiler in compilers.items():
                seconds[key] += used([*compiler, "-Oz", "-fPIC", "-c", unit, "-o", target]).elapsed
                sizes[key] += code_size(target)
    size, time = sizes["best"] / sizes["clang -Oz"], seconds["best"] / seconds["clang -Oz"]
    return {"units": len(units), **sizes, "ratio": size, "time": time}


@command
def main(*programs: str) -> None:
    rows = {program.name: measured(program) for program in built(programs or part("validation"))}
    means = geometric_means(rows.values(), ("ratio",))
    show(f"clang and passpilot cc, up to {UNITS} units each", "program", rows, means)
    what = f"size of `cc -Oz --best-of={COUNT}`, {len(rows)} programs"
    settle(Bar(what, means["ratio"], LIMIT, "clang-22 -Oz"), required=True)
