# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled operators against onnxruntime: random types, shapes, broadcasts, attributes, opsets and values.

Each graph holds several cases and is compiled once; then it answers many random inputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runners.aot.library import examples, library
from tests.runners.onnx.graphs import CASES, F32, I64, OPSETS, Case, Input, constant, feeds, graph_of
from tests.runners.onnx.reference import assert_close, reference

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

CASES_EACH = 4
INPUTS_EACH = 10


few, many = map(examples, (2, 40))
every_group = pytest.mark.parametrize("group", sorted(CASES))
random_graphs = given(
    r=st.randoms(use_true_random=True),
    opset=st.sampled_from(OPSETS),
    mcpu=st.sampled_from(("native", "generic")),
)


def check_operators(group: str, tmp_path: Path, r: Random, opset: int, mcpu: str) -> None:
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


test_operators = every_group(few(random_graphs(check_operators)))
test_many_operators = pytest.mark.soak(every_group(many(random_graphs(check_operators))))


def test_tensors_without_elements(tmp_path: Path) -> None:
    empty, one = Input(F32, (0, 3)), Input(F32, (1, 3))
    cases = [
        Case("Relu", [empty], [F32]),
        Case("Concat", [empty, one, empty], [F32], {"axis": 0}),
        Case("Transpose", [empty], [F32]),
        Case("Add", [empty, one], [F32]),
        Case("Tile", [empty, constant([2, 2])], [F32]),
        Case("MatMul", [Input(F32, (2, 0)), empty], [F32]),
    ]
    model = graph_of(cases, 17)
    fed = feeds(cases, np.random.default_rng(0))
    made = library(model, tmp_path).run(fed)
    for name, value in reference(model)(fed).items():
        assert_close(made[name], value, name)


def test_a_table_of_one_row(tmp_path: Path) -> None:
    """Zero is the only valid index."""
    table = constant([[1.5, -2.5]], F32)
    model = graph_of([Case("Gather", [table, Input(I64, (1,))], [F32])], 17)
    made = library(model, tmp_path)
    assert made.run({"x0_1": np.array([-1])})["y0_0"].tolist() == [[1.5, -2.5]]
    assert made.status({"x0_1": np.array([1])})[0] == 1
