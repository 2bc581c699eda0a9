# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy with link-time optimization: four sizes of validation programs, by those of clang-22 -Oz -flto.

Both programs are linked by lld with --gc-sections --icf=safe, and must print the same. Fails if a program
loads more, or prints something else.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from bench.lib import command, geometric_means, show
from bench.lib.corpus import built, part
from passpilot.training.file_sizes import FileSizes, file_sizes
from tests.command import PASSPILOT
from tests.corpus.programs import Program

FLAGS: Final = ("-Oz", "-flto", "-fPIE", "-w")
LINK: Final = ("-fuse-ld=lld", "-Wl,--gc-sections,--icf=safe", "-pie")
STEADY: Final = 2
"""How often a program runs, to see whether it prints the same each time."""


def linked(program: Program, compiler: list[str], folder: Path, *flags: Any) -> Path:
    """Compile a program's units for the linker, and link them; the arguments are those of `link_command`."""
    subprocess.run(link_command(program, compiler, folder, *flags), check=True, timeout=1800)
    return folder / program.name


def link_command(
    program: Program,
    compiler: list[str],
    folder: Path,
    flags: tuple[str, ...] = FLAGS,
    link: tuple[str, ...] = LINK,
    level: str = "Oz",
) -> list[str]:
    """Compile a program's units for the linker; returns the command that links them."""
    folder.mkdir()
    units = sorted({program.unit(source, level) for source in program.sources()})

    def compiled(unit: Path) -> str:
        target = str(folder / f"{unit.stem}.o")
        command = [*compiler, *flags, "-c", str(unit), "-o", target]
        subprocess.run(command, check=True, timeout=600, stderr=subprocess.DEVNULL)
        return target

    with ThreadPoolExecutor() as pool:
        objects = list(pool.map(compiled, units))
    libraries = [*program.libs, *(["-lstdc++"] if program.lang == "c++" else []), "-lm"]
    return [*compiler, *flags, *link, *objects, *libraries, "-o", str(folder / program.name)]


def printed(program: Program, image: Path) -> set[bytes]:
    """What the program prints in some runs."""
    command = [str(image), *(word.replace("{drv}", "_driver") for word in program.driver.args)]
    return {
        subprocess.run(command, cwd=program.source, capture_output=True, timeout=600, check=True).stdout
        for _ in range(STEADY)
    }


def relative_sizes(image: Path, other: Path) -> dict[str, float]:
    """The four sizes of a program relative to those of another one."""
    own, reference = file_sizes(str(image)), file_sizes(str(other))
    return {size: a / b for size, a, b in zip(FileSizes._fields, own, reference, strict=True)}


def measured(program: Program, policy: str) -> dict[str, Any]:
    """The relative sizes, and whether both sides print the same."""
    with tempfile.TemporaryDirectory() as folder:
        plain = linked(program, ["clang-22"], Path(folder, "plain"))
        small = linked(program, [str(PASSPILOT), "cc", f"--policy={policy}"], Path(folder, "small"))
        sizes = relative_sizes(small, plain)
        expected, got = printed(program, plain), printed(program, small)
    steady = len(expected) == 1
    output = "same" if expected == got else "wrong" if steady else "unsteady, by itself"
    return {**sizes, "output": output}


@command
def main(policy: str = "@oz", *programs: str) -> None:
    rows = {}
    for program in built(programs or part("validation")):
        rows[program.name] = measured(program, policy)
        print(program.name, rows[program.name]["allocated"], file=sys.stderr, flush=True)
    means = geometric_means(rows.values(), FileSizes._fields)
    show(f"{policy} relative to -Oz -flto", "program", rows, means)
    wrong = [name for name, row in rows.items() if row["allocated"] > 1 or row["output"] == "wrong"]
    if wrong:
        sys.exit(f"expected smaller programs with the same output, got others: {', '.join(wrong)}")
