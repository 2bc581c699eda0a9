# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ahead-of-time models: an ONNX graph compiled to native code, and the runner that asks it."""
