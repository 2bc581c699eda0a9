# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cycles that llvm-mca gives a function: which lines count, and how often."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from passpilot.passes.report import throughput
from passpilot.passes.report.allocation import processor_flags
from passpilot.passes.report.throughput import MCA, block_throughput
from passpilot.plugin.errors import InputError

FLAGS: Final = ("-mtriple=x86_64-unknown-linux-gnu", "-mcpu=skylake")
DIVIDE: Final = "\tidivq\t%rsi\n"
ASSEMBLY: Final = f"""\
{DIVIDE}
f:                                      # -- Begin function f
\t.cfi_startproc
# %bb.0:
\tnop
.LBB0_1:                                # =>This Inner Loop Header: Depth=1
\t.p2align\t4
# idivq %rsi
{DIVIDE}\tjne\t.LBB0_1
# %bb.2:
\tretq
                                        # -- End function
{DIVIDE}
g:                                      # -- Begin function g
# %bb.0:
{DIVIDE}                                        # -- End function
"""


def cycles(frequencies: dict[str, dict[int, float]], text: str = ASSEMBLY) -> dict[str, float]:
    return block_throughput(text, FLAGS, frequencies)


def test_each_block_counts_as_often_as_it_runs() -> None:
    once = cycles({"g": {0: 1.0}})["g"]
    assert once > 4, "a division takes long"
    assert cycles({}) == {"f": 0, "g": 0}
    loop = cycles({"f": {1: 1.0}})["f"]
    assert loop == pytest.approx(once, rel=0.05), "the comment and the text between functions are left out"
    assert cycles({"f": {1: 10.0}, "g": {0: 0.5}}) == {"f": pytest.approx(10 * loop), "g": once / 2}
    rest = [cycles({"f": {block: 1.0}})["f"] for block in (0, 2)]
    assert cycles({"f": {0: 1.0, 1: 1.0, 2: 1.0}})["f"] == pytest.approx(loop + sum(rest))
    assert min(rest) > 0


def test_without_llvm_mca(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    told = rf"^--report-mca: {MCA} is not on the PATH; install the package llvm-22$"
    with pytest.raises(InputError, match=told):
        cycles({})


def test_a_silent_llvm_mca_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / MCA
    program.write_text("#!/bin/sh\nexec /bin/sleep 1000\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(throughput, "DEADLINE", 0.1)
    with pytest.raises(InputError, match=rf"^{MCA}: expected it to end within 0\.1 s, got silence$"):
        cycles({})


@pytest.mark.parametrize(
    ("given", "triple", "flags"),
    [
        ([], "x86_64-pc-linux-gnu", ["-mcpu=x86-64"]),
        ([], "aarch64-linux-gnu", ["-mcpu=generic"]),
        (["-mattr=+avx2"], "x86_64-pc-linux-gnu", ["-mcpu=x86-64", "-mattr=+avx2"]),
        (["--mcpu", "skylake", "-O3"], "x86_64-pc-linux-gnu", ["-mcpu=skylake"]),
        (["-mattr", "+a", "--mcpu=x"], "aarch64-linux-gnu", ["-mattr=+a", "-mcpu=x"]),
    ],
)
def test_the_processor_is_that_of_the_command_line(given: list[str], triple: str, flags: list[str]) -> None:
    assert processor_flags(triple, given) == flags
