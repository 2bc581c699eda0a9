# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cases of bench.sweeps.programs about smaller unwind tables.

- `exceptions MACHINE`: random programs that throw, jump and crash print what they print with stock clang's
  tables, with `faults` and with `shared`, on this machine and on others under qemu. Decisions are backtraces.
- `exceptions x86-64 alone`: the same with `calls` and `exceptions`, of programs that do not crash.
- `crashes`: at all faults of such a program, a handler's backtraces of glibc and of libunwind, those of gdb,
  and those of gdb of core files, are the same with both modes, those of lldb with `faults`. Decisions are
  faults.
- `rows LEVEL`: `passpilot unwind check` finds no difference in the objects of a program of the corpus, of
  csmith, or with frames of all kinds. Decisions are calls and instructions that can fault.
- `rows LEVEL shared`: the same in the program linked by -flto with `shared`.
"""

from __future__ import annotations

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
from tests.plugin.unwind_runs import (
    COLLECTED,
    FULL,
    LEVELS,
    MACHINES,
    compared,
    printed,
    random_outputs,
    write_program,
)

if TYPE_CHECKING:
    from bench.sweeps.trials import Case

EMULATED: Final = tuple(f"exceptions {machine}" for machine in MACHINES if MACHINES[machine].emulator)
ALONE: Final = "exceptions x86-64 alone"
EXCEPTIONS: Final = ("exceptions x86-64",)
CRASHES: Final = "crashes"
RANDOM: Final = "rows random"
ROWS: Final = (*(f"rows{level}".replace("-", " ") for level in LEVELS), "rows O2 with frame pointers")
SHARED: Final = tuple(f"rows {level} shared" for level in ("O2", "O3", "Os", "Oz"))
LINK: Final = ("-flto", *COLLECTED, "-fPIE", "-pie")
TRIALS: Final = (*EXCEPTIONS, ALONE, *EMULATED, CRASHES, RANDOM, *ROWS, *SHARED)
I386: Final = ("-idirafter", "/usr/include/x86_64-linux-gnu")
TARGETS: Final = (
    (),
    ("--target=i686-linux-gnu", *I386),
    ("--target=x86_64-linux-gnux32", *I386),
    ("--target=aarch64-linux-gnu", "-fasynchronous-unwind-tables", "-mbranch-protection=standard"),
)
OWN: Final = ("lldb, core",)
"""Tools that find the first frame by reading code where functions share an entry: docs/unwind.md."""
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
            machine, _, alone = rest.partition(" ")
            found = random_outputs(case.seed, folder, machine, ("calls", "exceptions") if alone else FULL)
            case.decisions = found.stock.count(b"signal ")
            case.left_out = not found.stock
            case.wrong = f"prints something else: {', '.join(found.wrong)}" * bool(found.wrong)
        elif kind == CRASHES:
            _judge_crashes(case, folder)
        elif case.trial == RANDOM:
            _judge_random(case, folder)
        elif case.trial in SHARED:
            _judge_shared(case, folder, f"-{rest.split()[0]}")
        else:
            program = all_programs()[case.program]
            level, *frames = rest.split(" ", 1)
            more = ("-fno-omit-frame-pointer",) * bool(frames)
            for source in program.sources():
                _compare(case, program.source / source, folder, (f"-{level}", *more, *program.flags(source)))


def _judge_crashes(case: Case, folder: Path) -> None:
    write_program(folder, case.seed)
    flags = (LEVELS[case.seed % len(LEVELS)], "-DCRASH=1", "-DLIBUNWIND", "-lunwind")
    stock = printed(folder, "stock", *flags)
    case.decisions, case.left_out = stock.count(b"signal "), not stock
    for mode in FULL[: 0 if case.left_out else None]:
        small = printed(folder, mode, *flags, plugin=case.seed % 2 == 0)
        expected, got = compared(folder, mode, stock, small)
        if expected != got:
            case.wrong = f"prints other backtraces with {mode}"
            return
    if not case.decisions:
        return
    found, *others = (unwind_debuggers.backtraces(folder / name) for name in ("stock", *FULL))
    for mode, other in zip(FULL, others, strict=True):
        tools = [tool for tool in found if mode == "faults" or tool not in OWN]
        wrong = [tool for tool in tools if found[tool] != other[tool] or not found[tool]]
        if wrong:
            case.wrong = f"other frames with {mode}: {', '.join(wrong)}"


def _judge_shared(case: Case, folder: Path, level: str) -> None:
    """Link a program by link-time optimization with both tables."""
    program = all_programs()[case.program]
    objects = []
    for number, source in enumerate(program.sources()):
        objects.append(str(folder / f"{number}.o"))
        clang = "clang" if source.endswith(".c") else "clang++"
        flags = (level, *LINK[:4], "-fPIE", "-w", *program.flags(source))
        _run([str(bindir() / clang), *flags, "-c", source, "-o", objects[-1]], program.source)
    used = (level, *LINK, *objects, *program.libs, "-lm", "-pthread", "-o")
    ours = [str(PASSPILOT), "c++", "--unwind=shared"]
    for name, compiler in (("stock", [str(bindir() / "clang++")]), ("small", ours)):
        _run([*compiler, *used, str(folder / name)], folder)
    _check(case, folder / "stock", folder / "small", case.program)


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
        _run([*compiler, *used, str(folder / f"{name}.o")], root.source if root else folder)
    _check(case, folder / "stock.o", folder / "small.o", source.name)


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"


def _check(case: Case, stock: Path, small: Path, name: str) -> None:
    """Compare the rows of both files."""
    found = check_unwind(str(stock), str(small))
    case.decisions += found.calls + found.faults
    if found.differences or found.dropped:
        first = str(found.differences[0]) if found.differences else "functions without an entry"
        case.wrong = f"{name}: {len(found.differences)} differences, {found.dropped} dropped: {first}"
