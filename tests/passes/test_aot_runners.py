# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compilation with a compiled model is the one with the model itself, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from passpilot.cli.aot import main
from passpilot.features.log.reader import read_log
from passpilot.passes.llvm_advisors import EvictAdvisor
from tests.command import passpilot
from tests.passes.allocation.pressure import allocated
from tests.runners.aot.models import column_scorer, small_mlp

if TYPE_CHECKING:
    from collections.abc import Callable


def test_inlining_of_a_real_program(corpus: Callable[[str, str], Path], tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(small_mlp().SerializeToString())
    assert main([str(tmp_path / "m.onnx"), "-o", str(tmp_path / "m.so"), "-mcpu=native"]) == 0
    made = {}
    for spec in ("onnx:m.onnx", "aot:m.so"):
        flags = [
            "-passes=default<Oz>",
            f"--inline={spec}?map=x:*",
            "--size-budget=1.5",
            f"--log={spec}.log",
            "-o",
            "-",
        ]
        done = passpilot("opt", corpus("picosat", "Oz"), *flags, cwd=tmp_path)
        assert done.code == 0
        made[spec] = done.out
    assert made["onnx:m.onnx"] == made["aot:m.so"]
    answers = read_log(tmp_path / "aot:m.so.log").to_arrays()["inlining_decision"]
    assert set(answers.ravel().tolist()) == {0, 1}


def test_evictions(pressed: Path, pressed_by_llc: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(column_scorer().SerializeToString())
    assert main([str(tmp_path / "m.onnx"), "-o", str(tmp_path / "m.so"), "--point=evict"]) == 0
    codes = []
    for spec in ("onnx:m.onnx", "aot:m.so"):
        scheme, _, name = spec.partition(":")
        with EvictAdvisor(f"{scheme}:{tmp_path}/{name}") as advisor:
            codes.append(allocated(pressed, advisor))
            assert advisor.stats.decisions > 0
    assert codes[0] == codes[1]
    assert codes[0] != pressed_by_llc
