# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with smaller unwind tables throw, catch, destroy and report crashes as stock ones do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import passpilot, run
from tests.plugin import unwind_debuggers
from tests.plugin.unwind_runs import LEVELS, LTO, MACHINES, outputs, random_outputs, write_program


@pytest.mark.parametrize(
    ("seed", "mode"), list(enumerate(("faults", "calls", "exceptions", "faults", "shared", "shared")))
)
def test_random_programs_do_the_same(seed: int, mode: str, tmp_path: Path) -> None:
    write_program(tmp_path, seed)
    stock, small = outputs(tmp_path, mode, LEVELS[seed], *(LTO if seed == 5 else ()))
    assert small == stock
    assert len(stock) > 300


def test_the_programs_throw_jump_and_crash(tmp_path: Path) -> None:
    """Else the test above says little."""
    write_program(tmp_path, 10)
    stock, small = outputs(tmp_path, "faults", "-Oz", "-flto=thin", "-fuse-ld=lld")
    assert small == stock
    for word in (b"~", b"=", b"!", b"signal ", b"jumped", b"ended", b"\n~6 kept"):
        assert word in stock, word


@pytest.mark.parametrize("seed", [3, 5])
@pytest.mark.parametrize("machine", ["aarch64", "riscv64"])
def test_programs_for_other_machines_do_the_same(machine: str, seed: int, tmp_path: Path) -> None:
    if missing := MACHINES[machine].missing():
        pytest.skip(missing)
    found = random_outputs(seed, tmp_path, machine)
    assert found.wrong == ()
    assert len(found.stock) > 300


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 130))
@pytest.mark.parametrize("machine", list(MACHINES))
def test_many_random_programs_do_the_same(machine: str, seed: int, tmp_path: Path) -> None:
    if missing := MACHINES[machine].missing():
        pytest.skip(missing)
    assert random_outputs(seed, tmp_path, machine).wrong == ()


@pytest.mark.soak
@pytest.mark.parametrize("seed", [1, 6, 8])
def test_debuggers_print_the_same_frames(seed: int, tmp_path: Path) -> None:
    """At the faults, and of core files written there; the program prints libunwind's backtraces, too."""
    if missing := unwind_debuggers.missing():
        pytest.skip(missing)
    write_program(tmp_path, seed)
    stock, small = outputs(tmp_path, "faults", LEVELS[seed % 6], "-DLIBUNWIND", "-lunwind")
    assert small == stock
    frames = [unwind_debuggers.backtraces(tmp_path / name) for name in ("stock", "faults")]
    assert frames[0] == frames[1]
    for tool, found in frames[0].items():
        assert len(found) > 2 * stock.count(b"signal ") > 0, tool


ENDS = """
#include <cstdio>
#include <exception>
#include <cstdlib>
__attribute__((noinline)) void thrown(int n) { if (n) throw n; }
__attribute__((noinline)) int passed(int n) { thrown(n); return n + 1; }
int main(int n, char **) {
  std::set_terminate([] { puts("ended"); fflush(stdout); _Exit(3); });
  try { return passed(n); } catch (int) { puts("caught"); }
  return 0;
}
"""


@pytest.mark.parametrize(("mode", "expected"), [("exceptions", (0, b"caught\n")), ("none", (3, b"ended\n"))])
def test_without_entries_an_exception_ends_the_program(
    mode: str, expected: tuple[int, bytes], tmp_path: Path
) -> None:
    (tmp_path / "a.cpp").write_text(ENDS)
    built = passpilot("c++", f"--unwind={mode}", "-O1", "a.cpp", "-o", "a", cwd=tmp_path)
    assert (built.code, built.err) == (0, "")
    done = run(tmp_path / "a", cwd=tmp_path)
    assert (done.code, done.out) == (expected[0], expected[1])
