# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The advised allocator asks about fixed programs what it has asked before, and makes the same code of them.

A change that is meant to change a decision or a tensor changes the record, too: see `record.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.passes.allocator import record

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.filterwarnings("ignore:.*greedy allocator takes the function")
@pytest.mark.parametrize("case", record.CASES)
def test_questions_and_code_are_as_recorded(case: str, tmp_path: Path) -> None:
    version, expected = record.recorded()
    if version != record.llvm_version():
        pytest.skip(f"the record is of LLVM {version}")
    seen = record.observed(case, tmp_path)
    for of, held in seen.items():
        assert held.keys() == expected[case, of].keys()
        for name, numbers in held.items():
            exact = of == "code"
            told = expected[case, of][name]
            assert numbers == (told if exact else pytest.approx(told, rel=1e-5)), (of, name)
