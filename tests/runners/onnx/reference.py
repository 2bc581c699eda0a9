# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""onnxruntime's answers on one thread without graph optimization, and the tolerance for compiled models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import onnxruntime

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import onnx
    from numpy.typing import NDArray

    Array = NDArray[np.generic]

EPSILON: Final = {"float32": 1e-5, "float64": 2e-10}
"""Relative to the value, the tensor's largest value, or 0.01; onnxruntime's sigmoid needs this much."""


def reference(model: onnx.ModelProto) -> Callable[[Mapping[str, Array]], dict[str, Array]]:
    """The model as a function of its inputs by name."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [each.name for each in session.get_outputs()]
    return lambda feeds: dict(zip(names, session.run(names, dict(feeds)), strict=True))


def assert_close(made: Array, wanted: Array, what: str) -> None:
    """Check that integers and booleans are equal, floats close, and NaN and infinities at the same places."""
    assert (made.dtype, made.shape) == (wanted.dtype, wanted.shape), what
    if wanted.dtype.kind != "f":
        assert np.array_equal(made, wanted), what
        return
    epsilon = EPSILON[wanted.dtype.name]
    size = np.clip(np.abs(wanted[np.isfinite(wanted)]).max(initial=0), 0.01, 10)
    with np.errstate(all="ignore"):
        near = np.isclose(made, wanted, epsilon, epsilon * size, equal_nan=True)
    assert near.all(), f"{made[~near][:4]} for {wanted[~near][:4]}: {what}"
