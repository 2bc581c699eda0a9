# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""C programs of the corpus as objects for other targets than the host's, and their sizes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from bench.lib.corpus import checked
from passpilot.passes.emit import generate
from passpilot.passes.optimize import optimize
from passpilot.plugin import _core
from passpilot.plugin.compile import PipelineOptions, file_type, llvm_options
from passpilot.plugin.isolated import run_isolated_together
from passpilot.plugin.module import Module
from passpilot.training.rewards import allocated_bytes, code_bytes, xz_bytes
from tests.corpus.build import FIXED_CLOCK, PREOPT
from tests.corpus.fetch import CorpusError, unpack
from tests.corpus.programs import Program, all_programs

T = TypeVar("T")

DEADLINE: Final = 1800.0


class Target(NamedTuple):
    """What clang needs to compile for a target."""

    triples: Sequence[str]
    """The starts of the triples of its family, as a policy names them."""
    flags: Sequence[str]
    headers: str
    """The folder of the C library's headers, which the Debian package brings."""
    package: str
    linux: bool = False
    """Whether code is position-independent and has unwind tables."""
    features: str = ""
    """Those of the module, which say what its ABI is; functions have theirs from clang."""


PICOLIBC: Final = "/usr/lib/picolibc"
EMULATED: Final = ("SIGNAL", "PROCESS_CLOCKS", "MMAN")
ARM: Final = (f"{PICOLIBC}/arm-none-eabi/include", "picolibc-arm-none-eabi")
TARGETS: Final = {
    "Thumb-2": Target(
        ("thumbv7", "thumbv8m.main"), ("--target=thumbv7em-none-eabi", "-mcpu=cortex-m4"), *ARM
    ),
    "Thumb-1": Target(
        ("thumbv6m", "thumbv8m.base"), ("--target=thumbv6m-none-eabi", "-mcpu=cortex-m0"), *ARM
    ),
    "RV32IMC": Target(
        ("riscv32",),
        ("--target=riscv32-unknown-elf", "-march=rv32imc", "-mabi=ilp32"),
        f"{PICOLIBC}/riscv64-unknown-elf/include",
        "picolibc-riscv64-unknown-elf",
    ),
    "RV64GC": Target(
        ("riscv64",),
        ("--target=riscv64-linux-gnu",),
        "/usr/riscv64-linux-gnu/include",
        "libc6-dev-riscv64-cross",
        linux=True,
        features="+m,+a,+f,+d,+c",
    ),
    "wasm32": Target(
        ("wasm",),
        ("--target=wasm32-wasi", *(f"-D_WASI_EMULATED_{name}" for name in EMULATED)),
        "/usr/include/wasm32-wasi",
        "wasi-libc",
    ),
    "AArch64": Target(
        ("aarch64", "arm64"),
        ("--target=aarch64-linux-gnu",),
        "/usr/aarch64-linux-gnu/include",
        "libc6-dev-arm64-cross",
        linux=True,
    ),
}
HEADERS: Final = {
    "setjmp.h": "typedef long jmp_buf[32];\nint setjmp(jmp_buf);\n_Noreturn void longjmp(jmp_buf, int);\n",
    "execinfo.h": "int backtrace(void **, int);\nchar **backtrace_symbols(void *const *, int);\n",
    "sys/unistd.h": "#include <unistd.h>\n",
    "ulong.h": "#include <sys/types.h>\n#define ulong unsigned long\n",
}
"""Declarations for targets whose C library has no such header; only objects are made."""
ADDED: Final = {
    "lcms2": ("-DCMS_NO_PTHREADS=1",),
    "lua": ("-ULUA_USE_POSIX", "-DL_tmpnam=16"),
    "tidy": ("-DSUPPORT_POSIX_MAPPED_FILES=0", "-DPRESERVE_FILE_TIMES=0", "-include", "ulong.h"),
}
"""What a program needs where there is no POSIX."""


class Sizes(NamedTuple):
    """The sums over a program's objects, in bytes, and what a link of them alone loads."""

    allocated: int
    text: int
    stripped: int
    xz: int
    linked: int
    """Of a link without libraries, where calls are relaxed and unwind entries of neighbours are merged."""


def unpacked(names: Sequence[str]) -> list[Program]:
    """Programs of the corpus, which are fetched if need be; the process ends if that fails."""
    programs = [all_programs()[name] for name in names]
    try:
        for program in programs:
            unpack(program)
    except (CorpusError, OSError) as error:
        sys.exit(f"corpus: {error}")
    return programs


def front_end(program: Program, target: Target, folder: Path, count: int = 0) -> list[bytes]:
    """The program's own units as bitcode before optimization; or `count` of them, large and small ones."""
    if not Path(target.headers).exists():
        sys.exit(f"{target.headers} is missing; sudo apt-get install {target.package}")
    for name, text in HEADERS.items():
        path = folder / "headers" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    places = ("-nostdlibinc", "-isystem", target.headers, "-idirafter", str(folder / "headers"))
    added = ("-D_DEFAULT_SOURCE", "-Wno-implicit-function-declaration")
    units = []
    sources = [source for source in program.sources() if not source.startswith("_driver/")]
    if count:
        sources.sort(key=lambda source: (-(program.source / source).stat().st_size, source))
        sources = sources[:: max(1, len(sources) // count)][:count]
    for source in sources:
        flags = (*PREOPT, *FIXED_CLOCK, *target.flags, *places, *added, *program.flags(source))
        words = ("clang-22", "-Oz", *flags, *ADDED.get(program.name, ()), source, "-o", "-")
        done = subprocess.run(words, cwd=program.source, check=False, timeout=DEADLINE, capture_output=True)
        if done.returncode:
            sys.exit(f"{program.name}: {target.triples[0]}: {done.stderr.decode(errors='replace')}")
        units.append(done.stdout)
    return units


def _optimized(units: Sequence[bytes], pipeline: str) -> list[bytes]:
    modules = [Module.read(unit) for unit in units]
    for module in modules:
        at = {"optimizer-last": pipeline} if pipeline else {}
        optimize(module, "default<Oz>", at=at, options=PipelineOptions(as_clang=True))
    return [module.bitcode() for module in modules]


def _linked(target: Target, objects: Sequence[str], image: Path) -> int:
    if "wasm" in target.triples:
        words = ["wasm-ld-22", "--no-entry", "--allow-undefined", "--no-gc-sections", "-O2"]
    else:
        words = ["ld.lld-22", "-e", "0", "--unresolved-symbols=ignore-all", "--noinhibit-exec"]
    subprocess.run(
        [*words, *objects, "-o", str(image)], check=True, timeout=DEADLINE, stderr=subprocess.DEVNULL
    )
    return allocated_bytes(image.read_bytes())


def _sizes(target: Target, modules: Sequence[bytes], options: Sequence[str]) -> Sizes:
    """Generates code in this process, which should end afterwards: LLVM's options stay set."""
    model = ("relocation-model=pic",) if target.linux else ()
    chosen = [each for each in options if target.linux or not each.startswith("unwind=")]  # others warn
    llvm_options([f"-{option}" for option in ("function-sections", "data-sections", *model, *chosen)])
    with tempfile.TemporaryDirectory() as folder:
        objects = [f"{folder}/{number}.o" for number in range(len(modules))]
        codes = []
        for path, module in zip(objects, modules, strict=True):
            wanted = _core.EmitOptions()
            wanted.filetype = file_type("obj")
            wanted.relocation_model = "pic" if target.linux else wanted.relocation_model
            wanted.features = target.features
            codes.append(generate(Module.read(module), wanted).code)
            Path(path).write_bytes(codes[-1])
        linked = _linked(target, objects, Path(folder, "image"))
        subprocess.run(["llvm-strip-22", "--strip-all", *objects], check=True, timeout=DEADLINE)
        bare = b"".join(Path(path).read_bytes() for path in objects)
    allocated, text = sum(map(allocated_bytes, codes)), sum(map(code_bytes, codes))
    return Sizes(allocated, text, len(bare), xz_bytes(bare), linked)


def optimized(units: Sequence[bytes], pipeline: str) -> list[bytes]:
    """Bitcode behind -Oz and a pipeline, made in a child process."""
    return checked(run_isolated_together("targets", [partial(_optimized, units, pipeline)], DEADLINE))[0]


def sizes(target: Target, modules: Sequence[bytes], choices: Sequence[Sequence[str]]) -> list[Sizes]:
    """What options of LLVM make of optimized modules, a child process for each choice of options."""
    runs = [partial(_sizes, target, modules, options) for options in choices]
    return checked(run_isolated_together("targets", runs, DEADLINE, jobs=1))
