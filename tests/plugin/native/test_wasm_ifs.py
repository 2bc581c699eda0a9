# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM's option -write-wasm-ifs: programs for WASI print the same with it, and are smaller."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from passpilot.training.rewards import allocated_bytes
from tests.corpus.fetch import unpack
from tests.corpus.programs import all_programs
from tests.plugin.native.stock.tools import run, tool

LIBC: Final = Path("/usr/lib/wasm32-wasi")
CLANG: Final = ("clang-22", "--target=wasm32-wasip1", "-isystem", "/usr/include/wasm32-wasi", "-w")
START: Final = """
import {WASI} from "node:wasi";
import {readFileSync} from "node:fs";
const wasi = new WASI({version: "preview1", args: ["program"], returnOnExit: true});
const program = await WebAssembly.compile(readFileSync(process.argv[2]));
const imports = {wasi_snapshot_preview1: wasi.wasiImport};
process.exitCode = wasi.start(await WebAssembly.instantiate(program, imports));
"""
NODE: Final = ("node", "--no-warnings", "--experimental-wasi-unstable-preview1", "start.mjs")
MORE: Final = ("bzip2", "lz4", "zlib")
SEEDS: Final = (*range(10, 15), *range(33, 45))
"""Of programs by csmith; some others never end."""

pytestmark = pytest.mark.skipif(not LIBC.exists(), reason="needs: sudo apt-get install wasi-libc")


def done(*command: str | Path, cwd: Path) -> bytes:
    """What a command prints, which ends well."""
    ended = run(*command, cwd=cwd)
    assert ended.code == 0, ended.err
    return ended.out


def check(modules: list[Path], folder: Path) -> None:
    """Fail unless a program prints the same with the option as without, and its objects are smaller."""
    (folder / "start.mjs").write_text(START)
    sizes, outputs = [], []
    for options in ((), ("-write-wasm-ifs", "-verify-machineinstrs")):
        objects = []
        for module in modules:
            objects.append(module.with_suffix(".o"))
            ended = tool("llc", *options, "-filetype=obj", module, "-o", objects[-1], cwd=folder)
            assert (ended.code, ended.err) == (0, "")
        done("wasm-ld-22", LIBC / "crt1.o", *objects, f"-L{LIBC}", "-lc", "-o", "program.wasm", cwd=folder)
        sizes.append(sum(allocated_bytes(each.read_bytes()) for each in objects))
        outputs.append(done(*NODE, "program.wasm", cwd=folder))
    assert sizes[1] < sizes[0]
    assert outputs[0] == outputs[1] != b""


@pytest.mark.parametrize("name", ["md4c", *(pytest.param(name, marks=pytest.mark.soak) for name in MORE)])
def test_a_program_prints_the_same(tmp_path: Path, name: str) -> None:
    program = all_programs()[name]
    unpack(program)
    modules: list[Path] = []
    for source in program.sources():
        modules.append(tmp_path / f"{len(modules)}.bc")
        flags = ("-Oz", "-emit-llvm", "-c", source, "-o")
        done(*CLANG, *program.flags(source), *flags, modules[-1], cwd=program.source)
    check(modules, tmp_path)


@pytest.mark.parametrize("seed", [5, *(pytest.param(seed, marks=pytest.mark.soak) for seed in SEEDS)])
def test_a_generated_program_prints_the_same(tmp_path: Path, seed: int) -> None:
    done("csmith", "--seed", str(seed), "--max-funcs", "6", "-o", "random.c", cwd=tmp_path)
    level = ("-Oz", "-Os", "-O2", "-O1")[seed % 4]
    flags = (level, "-g", "-I/usr/include/csmith", "-emit-llvm", "-c", "random.c", "-o", "random.bc")
    done(*CLANG, *flags, cwd=tmp_path)
    check([tmp_path / "random.bc"], tmp_path)
