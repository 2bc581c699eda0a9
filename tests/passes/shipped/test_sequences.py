# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No pipeline of the shipped tables changes what a program prints, whatever runs before and after it."""

from __future__ import annotations

import pytest

from passpilot.passes.shipped.pipeline import MODULE
from tests.passes.shipped.sequences import SEQUENCES, of_seeds

SEEDS = 400
"""Each pipeline is in more than 500 of their sequences."""
CHUNK = 50


def test_a_few_sequences() -> None:
    result = of_seeds(1, 2)
    assert result.wrong == []
    assert result.sequences == SEQUENCES


@pytest.mark.soak
@pytest.mark.timeout(36000)
@pytest.mark.parametrize("first", range(1, SEEDS + 1, CHUNK))
def test_many_sequences(first: int) -> None:
    result = of_seeds(first, first + CHUNK)
    assert result.wrong == []
    assert min(result.pipelines[text] for text in MODULE.table) > 500 * CHUNK / SEEDS
