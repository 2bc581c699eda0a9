# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cases of bench.sweeps.programs about smaller unwind tables.

- `exceptions MACHINE`: random programs that throw, jump and crash print what they print with stock clang's
  tables, on this machine and on others under qemu. Decisions are backtraces.
- `crashes`: at all faults of such a program, a handler's backtraces of glibc and of libunwind, those of gdb,
  and those of gdb and lldb of core files, are the same. Decisions are faults.
- `rows LEVEL`: `passpilot unwind check` finds no difference in the objects of a program of the corpus, of
  csmith, or with frames of all kinds. Decisions are calls and instructions that can fault.
"""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from passpilot.training.evaluation.unwind_check import check_unwind
from tests.command import PASSPILOT
from tests.corpus.build import bindir
from tests.corpus.programs import all_programs
from tests.plugin import unwind_debuggers
from tests.plugin.exception_programs import exception_program
from tests.plugin.unwind_programs import BUILDS, FRAMES
from tests.plugin.unwind_runs import LEVELS, MACHINES, compared, outputs

if TYPE_CHECKING:
    from bench.sweeps.trials import Case

EMULATED: Final = tuple(f"exceptions {machine}" for machine in MACHINES if MACHINES[machine].emulator)
EXCEPTIONS: Final = ("exceptions x86-64",)
CRASHES: Final = "crashes"
RANDOM: Final = "rows random"
ROWS: Final = (*(f"rows{level}".replace("-", " ") for level in LEVELS), "rows O2 with frame pointers")
TRIALS: Final = (*EXCEPTIONS, *EMULATED, CRASHES, RANDOM, *ROWS)
I386: Final = ("-idirafter", "/usr/include/x86_64-linux-gnu")
TARGETS: Final = (
    (),
    ("--target=i686-linux-gnu", *I386),
    ("--target=x86_64-linux-gnux32", *I386),
    ("--target=aarch64-linux-gnu", "-fasynchronous-unwind-tables", "-mbranch-protection=standard"),
)
TABLES: Final = "-fasynchronous-unwind-tables"


def missing(trials: Sequence[str]) -> str:
    """What must be installed for trials, or nothing."""
    if CRASHES in trials:
        return unwind_debuggers.missing()
    names = [name for name in MACHINES if f"exceptions {name}" in trials]
    return "; ".join(filter(None, (MACHINES[name].missing() for name in names)))


def judge(case: Case) -> None:
    """Set what is wrong, and how much has been compared."""
    kind, _, rest = case.trial.partition(" ")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if kind == "exceptions":
            stock, small = compared(case.seed, folder, rest)
            case.decisions = stock.count(b"signal ")
            case.wrong = "" if stock == small else "prints something else"
        elif kind == CRASHES:
            _judge_crashes(case, folder)
        elif case.trial == RANDOM:
            _judge_random(case, folder)
        else:
            program = all_programs()[case.program]
            level, *frames = rest.split(" ", 1)
            more = ("-fno-omit-frame-pointer",) * bool(frames)
            for source in program.sources():
                _compare(case, program.source / source, folder, (f"-{level}", *more, *program.flags(source)))


def _judge_crashes(case: Case, folder: Path) -> None:
    (folder / "a.cpp").write_text(exception_program(case.seed))
    flags = (LEVELS[case.seed % len(LEVELS)], "-DLIBUNWIND", "-lunwind")
    stock, small = outputs(folder, "faults", *flags, plugin=case.seed % 2 == 0)
    case.decisions = stock.count(b"signal ")
    if stock != small:
        case.wrong = "prints other backtraces"
        return
    found = [unwind_debuggers.backtraces(folder / name) for name in ("stock", "small")]
    wrong = [tool for tool, frames in found[0].items() if frames != found[1][tool] or not frames]
    case.wrong = f"other frames: {', '.join(wrong)}" * bool(wrong) * bool(case.decisions)


def _judge_random(case: Case, folder: Path) -> None:
    """Compare the rows of a program that the seed chooses, and its target and flags."""
    chosen = random.Random(case.seed)
    if case.program == "frames":
        target, *flags = chosen.choice(BUILDS)
        (folder / "a.cpp").write_text(FRAMES)
        level = chosen.choice(LEVELS)
        _compare(case, folder / "a.cpp", folder, (f"--target={target}", TABLES, *flags, level))
        return
    flags = [*chosen.choice(TARGETS), chosen.choice(LEVELS), TABLES]
    flags += ["-fno-omit-frame-pointer"] * (case.seed % 3 == 0)
    flags += ["-ffunction-sections", "-fPIC"] * (case.seed % 5 < 2)
    if case.program == "csmith":
        command = ["csmith", "--seed", str(case.seed)]
        source = folder / "a.c"
        source.write_bytes(subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout)
        flags.append("-I/usr/include/csmith")
    else:
        source = folder / "a.cpp"
        source.write_text(exception_program(case.seed))
    _compare(case, source, folder, flags)


def _compare(case: Case, source: Path, folder: Path, flags: Sequence[str]) -> None:
    """Compile a file with both tables, and compare its rows."""
    cxx = "++" if source.suffix != ".c" else ""
    used, root = ("-w", *flags, "-c", str(source), "-o"), all_programs().get(case.program)
    ours = [str(PASSPILOT), "c++" if cxx else "cc", "--unwind=faults"]
    for name, compiler in (("stock", [str(bindir() / f"clang{cxx}")]), ("small", ours)):
        done = subprocess.run(
            [*compiler, *used, str(folder / f"{name}.o")],
            cwd=root.source if root else folder,
            capture_output=True,
            text=True,
            check=False,
            env=os.environ,
        )
        assert done.returncode == 0, f"{source.name}: {done.stderr}"
    found = check_unwind(str(folder / "stock.o"), str(folder / "small.o"))
    case.decisions += found.calls + found.faults
    if found.differences or found.dropped:
        first = str(found.differences[0]) if found.differences else "functions without an entry"
        case.wrong = f"{source.name}: {len(found.differences)} differences, {found.dropped} dropped: {first}"
