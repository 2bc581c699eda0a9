# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled operators against onnxruntime: random types, shapes, broadcasts, attributes, opsets and values.

Each graph holds several cases and is compiled once; then it answers many random inputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.runners.aot_library import library
from tests.runners.onnx_graphs import CASES, OPSETS, feeds, graph_of
from tests.runners.onnx_reference import assert_close, reference

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

CASES_EACH = 6
INPUTS_EACH = 10


@pytest.mark.parametrize("group", sorted(CASES))
@settings(
    max_examples=2,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    r=st.randoms(use_true_random=True),
    opset=st.sampled_from(OPSETS),
    mcpu=st.sampled_from(("native", "generic")),
)
def test_operators(group: str, tmp_path: Path, r: Random, opset: int, mcpu: str) -> None:
    cases = [CASES[group](r, opset) for _ in range(CASES_EACH)]
    model = graph_of(cases, opset)
    run, compiled = reference(model), library(model, tmp_path, mcpu=mcpu)
    rng = np.random.default_rng(r.randrange(1 << 30))
    for _ in range(INPUTS_EACH):
        fed = feeds(cases, rng)
        wanted, made = run(fed), compiled.run(fed)
        for name, value in wanted.items():
            assert_close(made[name], value, f"{name} of {cases} for {fed}")
    compiled.close()
