# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`onnx_session`: a model in onnxruntime on one thread, with onnxruntime's telemetry off."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import onnxruntime


def quiet_onnxruntime() -> Any:
    """The package onnxruntime.

    Without the variable, it writes an id of the device and events to send under the user's cache folder. The
    call stops that where somebody else has imported it before.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime


def onnx_session(model: bytes, *, optimized: bool = True) -> onnxruntime.InferenceSession:
    """A session that starts no threads, so that children may fork."""
    onnxruntime = quiet_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
