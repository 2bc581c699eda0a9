# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures `passpilot cc -Oz --best-of=4`: four sizes of validation programs, relative to clang-22 -Oz.

Both programs have a section for every function and variable, and are linked by lld with --gc-sections
--icf=safe. The variants, recipes of `@oz`, were not made on these programs. Fails if the mean of what is
loaded is above LIMIT.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from bench.lib import Bar, command, geometric_means, settle, show
from bench.lib.corpus import built
from bench.measure.policies.lto import LINK, linked, relative_sizes
from bench.measure.policies.unwind import SECTIONS
from passpilot.training.file_sizes import FileSizes
from tests.command import PASSPILOT
from tests.corpus.programs import Program

PROGRAMS: Final = ("cjson", "fmt", "jansson", "muparser", "yajl", "yaml-cpp")
LIMIT: Final = 0.975
COUNT: Final = 4


def measured(program: Program) -> dict[str, float]:
    flags = ("-Oz", *SECTIONS)
    with tempfile.TemporaryDirectory() as folder:
        plain = linked(program, ["clang-22"], Path(folder, "plain"), flags, LINK)
        ours = [str(PASSPILOT), "cc", f"--best-of={COUNT}"]
        return relative_sizes(linked(program, ours, Path(folder, "best"), flags, LINK), plain)


@command
def main(*programs: str) -> None:
    rows = {program.name: measured(program) for program in built(programs or PROGRAMS)}
    means = geometric_means(rows.values(), FileSizes._fields)
    show(f"cc -Oz --best-of={COUNT} relative to clang-22 -Oz", "program", rows, means)
    what = f"`cc -Oz --best-of={COUNT}`, {len(rows)} programs"
    bars = [Bar(f"allocated bytes of {what}", means["allocated"], LIMIT, "R1")]
    bars += [Bar(f"{size} of {what}", means[size], 1.0, "R1") for size in ("text", "stripped", "xz")]
    settle(*bars, required=True)
