# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The native runners of the measurements compile, load and answer."""

from __future__ import annotations

from pathlib import Path

from bench.measure.runners.decision import makers, microseconds
from tests.command import program


def test_all_runners_of_the_measurement_answer(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(program())
    for make in makers(tmp_path).values():
        assert microseconds(tmp_path / "in.ll", make) > 0
