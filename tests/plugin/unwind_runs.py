# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs random programs with stock clang's unwind tables and with smaller ones, here and in emulators."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from bisect import bisect_left
from pathlib import Path
from typing import Final, NamedTuple

from passpilot.plugin.toolchain import llvm_plugin
from tests.command import PASSPILOT
from tests.corpus.build import bindir
from tests.plugin.exception_programs import exception_program
from tests.plugin.unwind_programs import environment

LEVELS: Final = ("-O0", "-O1", "-O2", "-O3", "-Os", "-Oz")
MODES: Final = ("faults", "shared", "calls", "exceptions")
LTO: Final = ("-flto", "-fuse-ld=lld")
PATIENCE: Final = 600.0
CLANG: Final = str(bindir() / "clang++")


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
        (("-fno-omit-frame-pointer",), (), ("-fstack-clash-protection",), ("-fcf-protection",), ())
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
    kind = MACHINES[machine]
    flags = ("-w", "-pthread", *kind.flags, *flags, *(["-DCRASH=1"] if mode in ("faults", "shared") else []))
    ours = (
        [CLANG, f"-fpass-plugin={llvm_plugin()}"] if plugin else [str(PASSPILOT), "c++", f"--unwind={mode}"]
    )
    found = []
    for name, compiler in (("stock", [CLANG]), ("small", ours)):
        used = environment(mode if plugin and name == "small" else "")
        _done([*compiler, *flags, "a.cpp", "-o", name], folder, used)
        found.append(_done([*kind.emulator, f"./{name}"], folder, dict(os.environ)))
    if mode == "shared":
        found = [
            _named(output, folder / name) for output, name in zip(found, ("stock", "small"), strict=True)
        ]
    return found[0], found[1]


def _named(output: bytes, program: Path) -> bytes:
    """An output with the names of functions in its backtraces: where they are depends on their order."""
    nm = [str(bindir() / "llvm-nm"), "--defined-only", "--numeric-sort", str(program)]
    lines = [line.split() for line in _done(nm, program.parent, dict(os.environ)).splitlines()]
    places = [int(line[0], 16) for line in lines if line[1] in b"tTwW"]
    names = [line[2] for line in lines if line[1] in b"tTwW"]
    main = places[names.index(b"main")]
    return re.sub(rb"@(-?\d+)", lambda at: names[bisect_left(places, main + int(at[1])) - 1], output)


def _done(command: list[str], folder: Path, environment: dict[str, str]) -> bytes:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, (command, done.returncode, done.stderr[-1000:])
    assert not done.stderr, done.stderr[-1000:]
    return done.stdout


def compared(seed: int, folder: Path, machine: str = "x86-64") -> tuple[bytes, bytes]:
    """The outputs of a random program; the seed also says how it is compiled."""
    (folder / "a.cpp").write_text(exception_program(seed))
    more = MACHINES[machine].more
    flags = (LEVELS[seed % len(LEVELS)], *more[seed // 2 % len(more)])
    flags += LTO if MODES[seed % len(MODES)] == "shared" and seed % 3 and machine == "x86-64" else ()
    return outputs(folder, MODES[seed % len(MODES)], *flags, machine=machine, plugin=seed % 3 == 0)
