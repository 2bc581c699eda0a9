# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whatever is legal gives a correct program: random evictions in a random order, real and generated code."""

from __future__ import annotations

import lzma
import subprocess
from pathlib import Path

import pytest

from passpilot import EvictAdvisor, Module, emit
from passpilot.features.log.reader import read_log
from tests.command import passpilot as command
from tests.corpus.programs import programs
from tests.passes.allocation.allocated import (
    TRIPLES,
    by_llc,
    csmith,
    driver_output,
    emitted,
    link,
    optimized,
    printed,
    random_advisors,
    stressed,
)
from tests.plugin.native.stock.tools import tool

SOAK_SEEDS = range(100)
GENERATED = 1000
"""Programs of each generator in the soak."""
CHUNK = 50


def test_a_range_that_cannot_be_spilled_gets_a_register(tmp_path: Path) -> None:
    """A function of libsvm (BSD) after random unrolling, for which LLVM alone "ran out of registers"."""
    module = lzma.decompress(Path(__file__).with_name("libsvm.bc.xz").read_bytes())
    advisor = EvictAdvisor("random:4")
    code = emit(Module.read(module), advisors=[advisor], relocation_model="pic")
    assert code.startswith(b"\x7fELF")
    assert advisor.stats.decisions > 10_000
    (tmp_path / "libsvm.bc").write_bytes(module)
    flags = ("-relocation-model=pic", "-passpilot-evict=random:4", "-verify-machineinstrs", "-filetype=obj")
    done = tool("llc", "-O2", *flags, "libsvm.bc", "-o", "stock.o", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")


def check_program(name: str, seed: int, folder: Path) -> None:
    program = programs()[name]
    advisors = random_advisors(seed)
    output = driver_output(program, emitted(optimized(name), advisors), folder)
    assert all(advisor.stats.decisions for advisor in advisors)
    assert output == program.driver.stdout_sha256


def check_csmith(seed: int, folder: Path) -> bool:
    """False for the programs that run too long, which csmith makes some of."""
    source = csmith(seed, folder)
    try:
        expected = printed(link(by_llc(source, opt_level=0), folder), timeout=20)
    except subprocess.TimeoutExpired:
        return False
    for opt_level in (1, 2, 3):
        advisors = random_advisors(seed)
        objects = emitted(source, advisors, opt_level=opt_level)
        assert advisors[1].stats.decisions, "each live range has a priority"
        assert printed(link(objects, folder), timeout=60) == expected, (seed, opt_level)
    return True


def check_stress(seed: int, folder: Path) -> bool:
    """Undefined behaviour may not be run: LLVM's machine verifier looks at the code instead."""
    target = list(TRIPLES)[seed % len(TRIPLES)]
    source = stressed(seed, folder, target)
    log = folder / "priority.log"
    advice = [f"--evict=random:{seed}", f"--priority=random:{seed}", f"--log=priority={log}"]
    flags = ["-filetype=obj", "-verify-machineinstrs"]
    plain = command("llc", source, *flags, "-o", folder / "plain.o", cwd=folder)
    done = command("llc", source, *flags, *advice, "-o", folder / "stress.o", cwd=folder)
    assert done.code == plain.code, (seed, target, done.err)
    if done.code:  # the back end itself cannot compile it
        assert done.err == plain.err
        return False
    assert list(read_log(str(log)))
    return True


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "seed"), [("libyaml", 2), ("picosat", 3), ("libsvm", 4)])
def test_program(name: str, seed: int, tmp_path: Path) -> None:
    check_program(name, seed, tmp_path)


@pytest.mark.filterwarnings("ignore:.*was never asked")
@pytest.mark.parametrize("seed", range(1, 4))
def test_csmith(seed: int, tmp_path: Path) -> None:
    assert check_csmith(seed, tmp_path)


@pytest.mark.parametrize("seed", range(1, 6))
def test_stress(seed: int, tmp_path: Path) -> None:
    assert check_stress(seed, tmp_path)


@pytest.mark.soak
@pytest.mark.timeout(36000)
@pytest.mark.parametrize("seed", SOAK_SEEDS)
@pytest.mark.parametrize("name", programs())
def test_every_program(name: str, seed: int, tmp_path: Path) -> None:
    check_program(name, seed, tmp_path)


@pytest.mark.soak
@pytest.mark.timeout(36000)
@pytest.mark.filterwarnings("ignore:.*was never asked")
@pytest.mark.parametrize("first", range(0, GENERATED, CHUNK))
def test_every_csmith(first: int, tmp_path: Path) -> None:
    ran = [check_csmith(seed, tmp_path) for seed in range(first, first + CHUNK)]
    assert sum(ran) > CHUNK / 2


@pytest.mark.soak
@pytest.mark.timeout(36000)
@pytest.mark.parametrize("first", range(0, GENERATED, CHUNK))
def test_every_stress(first: int, tmp_path: Path) -> None:
    compiled = [check_stress(seed, tmp_path) for seed in range(first, first + CHUNK)]
    assert sum(compiled) > CHUNK / 2
