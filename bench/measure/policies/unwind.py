# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Smaller unwind tables: the bytes of validation programs relative to clang-22 with the same flags.

Both programs have a section for every function and variable, are linked by lld with --gc-sections and
--icf=safe, and with `shared` by -flto; they must print the same. `passpilot unwind check` must find no
difference between them. The pass may take a hundredth of the instructions of llc. With `shared` a link may
take a twentieth more than stock lld's with the plugin, whose start is measured by `inline.cc`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from bench.lib import Bar, command, geometric_means, settle, show
from bench.lib.corpus import built, part
from bench.lib.instructions import instructions
from bench.measure.policies.lto import LINK, link_command, linked, printed
from passpilot.plugin import _core
from passpilot.plugin.toolchain import llvm_plugin
from passpilot.training.evaluation.unwind_check import check_unwind
from passpilot.training.file_sizes import file_sizes
from tests.command import PASSPILOT
from tests.corpus.programs import Program, all_programs

SECTIONS: Final = ("-ffunction-sections", "-fdata-sections", "-fPIE", "-w")
BARS: Final = {("Oz", "faults"): 0.945, ("O2", "faults"): 0.97, ("Oz", "shared"): 0.90}
"""The most that the mean of the allocated bytes may be."""
RATIOS: Final = ("allocated", "tables", "xz")


def sizes(image: Path) -> dict[str, int]:
    """The bytes that are loaded, those of unwind tables, and the stripped file compressed."""
    sections = _core.object_sections(image.read_bytes())
    tables = sum(len(data) for name, _, data in sections if name.startswith(".eh_frame"))
    found = file_sizes(str(image))
    return {"allocated": found.allocated, "tables": tables, "xz": found.xz}


def build(level: str, mode: str) -> tuple[str, ...]:
    """The compiler's flags of both programs."""
    return (f"-{level}", *["-flto"] * (mode == "shared"), *SECTIONS)


def measured(program: Program, level: str, mode: str) -> dict[str, Any]:
    """The sizes relative to stock clang's, what the programs print, and the differences of the tables."""
    flags = build(level, mode)
    with tempfile.TemporaryDirectory() as folder:
        stock = linked(program, ["clang-22"], Path(folder, "stock"), flags, LINK, level)
        compiler = [str(PASSPILOT), "cc", f"--unwind={mode}"]
        small = linked(program, compiler, Path(folder, "small"), flags, LINK, level)
        before, after = sizes(stock), sizes(small)
        at = "faults" if mode in ("faults", "shared") else "calls"
        found = check_unwind(str(stock), str(small), at=at, fewer_entries=mode in ("exceptions", "none"))
        expected, got = printed(program, stock), printed(program, small)
    wrong = len(expected) == 1 and expected != got
    ratios = {name: after[name] / before[name] for name in RATIOS}
    places = {"stops": found.calls + found.faults, "differences": len(found.differences)}
    return {**ratios, **places, "output": "wrong" if wrong else "same"}


def slower(program: Program, level: str, mode: str) -> float:
    """The instructions of llc with smaller tables, or of a link, relative to those with the plugin alone."""
    modes = ("full", mode)
    if mode != "shared":
        llc = ("llc-22", f"-load={llvm_plugin()}", "-filetype=obj", "-o", "/dev/null", program.whole(level))
        counts = instructions({each: [*llc, f"-passpilot-unwind={each}"] for each in modes})
    else:
        with tempfile.TemporaryDirectory() as folder:
            counts = instructions(
                {
                    each: link_command(
                        program,
                        [str(PASSPILOT), "cc", f"--unwind={each}"],
                        Path(folder, each),
                        build(level, mode),
                        (*LINK, "-Wl,--threads=1"),
                        level,
                    )
                    for each in modes
                }
            )
    return counts[mode] / counts["full"]


def bars(level: str, mode: str, programs: tuple[str, ...]) -> list[Bar]:
    """Measure programs with a mode, and print their table."""
    rows = {}
    for program in built(programs or part("validation")):
        rows[program.name] = measured(program, level, mode)
        print(program.name, rows[program.name], file=sys.stderr, flush=True)
    means = geometric_means(rows.values(), RATIOS)
    show(f"-{level} with --unwind={mode}, relative to clang-22", "program", rows, means)
    worst = [max(row[name] for row in rows.values()) for name in ("allocated", "xz")]
    largest = max(rows, key=lambda name: rows[name]["stops"])
    cost = slower(all_programs()[largest], level, mode)
    slow = ("link", 1.05, "lld-22") if mode == "shared" else ("compilation", 1.01, "llc-22")
    return [
        Bar(
            f"{mode}: allocated bytes, -{level}", means["allocated"], BARS.get((level, mode), 1.0), "clang-22"
        ),
        Bar(f"{mode}: the worst program's", worst[0], 1.0, "clang-22"),
        Bar(f"{mode}: the worst program's, compressed", worst[1], 1.0, "clang-22"),
        Bar(f"{mode}: differences of rows", sum(row["differences"] for row in rows.values()), 0),
        Bar(
            f"{mode}: programs that print something else",
            sum(r["output"] == "wrong" for r in rows.values()),
            0,
        ),
        Bar(f"{mode}: instructions of a {slow[0]}", cost, *slow[1:]),
    ]


@command
def main(level: str = "Oz", modes: str = "faults", *programs: str) -> None:
    """Measure with modes, as ``faults,shared``."""
    settle(*(bar for mode in modes.split(",") for bar in bars(level, mode, programs)))
