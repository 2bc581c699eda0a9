# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs random programs with stock clang's unwind tables and with smaller ones, here and in emulators."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from bisect import bisect_left
from pathlib import Path
from typing import Final, NamedTuple

from passpilot.plugin.toolchain import llvm_plugin
from tests.command import PASSPILOT
from tests.corpus.build import bindir
from tests.plugin.exception_programs import FRAMES_OF_C, exception_program
from tests.plugin.unwind_programs import environment

LEVELS: Final = ("-O0", "-O1", "-O2", "-O3", "-Os", "-Oz")
FULL: Final = ("faults", "shared")
"""Modes with which a program can crash, too."""
CLANG: Final = str(bindir() / "clang++")
SOURCES: Final = ("-xc++", "a.cpp", "-xc", "c.c", "-xnone")
LTO: Final = ("-flto", "-fuse-ld=lld")
COLLECTED: Final = (
    "-ffunction-sections",
    "-fdata-sections",
    "-fuse-ld=lld",
    "-Wl,--gc-sections",
    "-Wl,--icf=safe",
)
LINKS: Final = ((), (), (), LTO, (*LTO, *COLLECTED), ("-flto=thin", "-fuse-ld=lld"), COLLECTED)
"""Ways to link that take turns on x86-64."""
PATIENCE: Final = 600.0


class Machine(NamedTuple):
    """How programs are compiled for a kind of machine, and run."""

    more: tuple[tuple[str, ...], ...]
    """Flags that take turns."""
    flags: tuple[str, ...] = ()
    emulator: tuple[str, ...] = ()
    library: str = ""
    packages: str = ""

    def missing(self) -> str:
        """What must be installed first, or nothing."""
        if not self.emulator or (shutil.which(self.emulator[0]) and Path(self.library).exists()):
            return ""
        return f"expected {self.emulator[0]} and {self.library}; apt-get install {self.packages}"


def _emulated(arch: str, package: str, *more: tuple[str, ...]) -> Machine:
    root = f"/usr/{arch}-linux-gnu"
    return Machine(
        more,
        (f"--target={arch}-linux-gnu", "-fuse-ld=lld"),
        (f"qemu-{arch}", "-L", root),
        f"{root}/lib/libstdc++.so.6",
        f"qemu-user libc6-dev-{package}-cross libstdc++-12-dev-{package}-cross",
    )


ASYNC: Final = "-fasynchronous-unwind-tables"
MACHINES: Final = {
    "x86-64": Machine(
        (
            (),
            ("-fno-omit-frame-pointer",),
            ("-fstack-clash-protection", "-fcf-protection"),
            ("-fstack-protector-all", "-mno-red-zone"),
            ("-fPIC", "-mllvm", "-enable-machine-outliner=always"),
            ("-fsplit-machine-functions", "-mllvm", "-mfs-split-ehcode"),
            ("-mstackrealign", "-fno-pie", "-no-pie"),
        )
    ),
    "aarch64": _emulated(
        "aarch64",
        "arm64",
        ("-mbranch-protection=standard", ASYNC),
        ("-mbranch-protection=standard", "-mbranch-protection=bti", ASYNC),
        ("-fstack-clash-protection", ASYNC),
        ("-mbranch-protection=standard",),
        ("-fno-omit-frame-pointer", ASYNC),
    ),
    "riscv64": _emulated(
        "riscv64",
        "riscv64",
        (ASYNC,),
        ("-msave-restore", ASYNC),
        ("-fno-omit-frame-pointer",),
        (),
        ("-mno-relax",),
    ),
}


def outputs(
    folder: Path, mode: str, *flags: str, machine: str = "x86-64", plugin: bool = False
) -> tuple[bytes, bytes]:
    """What a.cpp prints with stock clang's tables, and with those of a mode.

    Passpilot's compiler or stock clang with the plugin writes the latter.
    """
    crashes = ("-DCRASH=1",) * (mode in FULL)
    found = [
        printed(folder, name, *crashes, *flags, machine=machine, plugin=plugin) for name in ("stock", mode)
    ]
    return compared(folder, mode, *found)


def printed(
    folder: Path,
    mode: str,
    *flags: str,
    machine: str = "x86-64",
    plugin: bool = False,
    inputs: tuple[str, ...] = SOURCES,
) -> bytes:
    """What a.cpp prints with the tables of a mode, or `stock`. The program gets the mode's name.

    It is nothing where stock clang's own program dies, as some do for RISC-V.
    """
    kind, stock = MACHINES[machine], mode == "stock"
    compiler = (
        [CLANG, *[f"-fpass-plugin={llvm_plugin()}"] * (plugin and not stock)]
        if stock or plugin
        else [str(PASSPILOT), "c++", f"--unwind={mode}"]
    )
    variables = environment(mode if plugin and not stock else "")
    _done([*compiler, *kind.flags, *_used(flags), *inputs, "-o", mode], folder, variables)
    return _done([*kind.emulator, f"./{mode}"], folder, dict(os.environ), dies=stock)


def _used(flags: tuple[str, ...]) -> list[str]:
    """A link that sees all, and tables for exceptions alone, rely on what C promises."""
    promises = any(flag.startswith("-flto") for flag in flags) or "-DCRASH=1" not in flags
    return ["-w", "-pthread", *flags, *["-fexceptions"] * promises]


def compared(folder: Path, mode: str, stock: bytes, small: bytes) -> tuple[bytes, bytes]:
    """Both outputs, in a form in which they are the same if nothing is wrong.

    Where functions are depends on their order, which `shared` changes; there they have their names.
    """
    if mode != "shared":
        return stock, small
    return _named(stock, folder / "stock"), _named(small, folder / mode)


def _named(output: bytes, program: Path) -> bytes:
    """An output with the names of functions in its backtraces."""
    nm = [str(bindir() / "llvm-nm"), "--defined-only", "--numeric-sort", str(program)]
    names: dict[int, bytes] = {}
    for line in _done(nm, program.parent, dict(os.environ)).splitlines():
        address, kind, name = line.split()
        if kind in b"tTwW":
            names[int(address, 16)] = min(name, names.get(int(address, 16), name))
    places = list(names)
    main = next(place for place, name in names.items() if name == b"main")
    return re.sub(rb"@(-?\d+)", lambda at: names[places[bisect_left(places, main + int(at[1])) - 1]], output)


def _done(command: list[str], folder: Path, environment: dict[str, str], dies: bool = False) -> bytes:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, timeout=PATIENCE, check=False
    )
    if dies and done.returncode < 0:
        return b""
    assert done.returncode == 0, (command, done.returncode, done.stderr[-1000:])
    assert not done.stderr, done.stderr[-1000:]
    return done.stdout


def write_program(folder: Path, seed: int) -> None:
    (folder / "a.cpp").write_text(exception_program(seed))
    (folder / "c.c").write_text(FRAMES_OF_C)


class Outputs(NamedTuple):
    """What a random program prints."""

    stock: bytes
    """Nothing if stock clang's program dies."""
    wrong: tuple[str, ...]
    """The modes with which it prints something else."""


def random_outputs(
    seed: int, folder: Path, machine: str = "x86-64", modes: tuple[str, ...] = FULL
) -> Outputs:
    """Runs a random program; the seed also says how it is compiled.

    Stock clang optimizes it once, for all modes.
    """
    write_program(folder, seed)
    chosen = random.Random(f"{machine} {seed}")
    link = chosen.choice(LINKS) if machine == "x86-64" else ()
    more, crash = chosen.choice(MACHINES[machine].more), ("-DCRASH=1",) * (modes == FULL)
    flags = (chosen.choice(LEVELS), *more, *link, *crash)
    kind = MACHINES[machine].flags
    _done([CLANG, *kind, *_used(flags), "-emit-llvm", "-c", *SOURCES], folder, environment(""))
    is_lto = any(flag.startswith("-flto") for flag in flags)
    inputs = ("a.o", "c.o") if is_lto else ("-Xclang", "-disable-llvm-passes", "a.bc", "c.bc")
    outputs: dict[str, bytes] = {}
    for mode in ("stock", *modes):
        outputs[mode] = printed(
            folder, mode, *flags, machine=machine, plugin=chosen.random() < 0.3, inputs=inputs
        )
        if not outputs["stock"]:
            return Outputs(b"", ())
    pairs = ((mode, compared(folder, mode, outputs["stock"], outputs[mode])) for mode in modes)
    return Outputs(outputs["stock"], tuple(mode for mode, (expected, got) in pairs if expected != got))
