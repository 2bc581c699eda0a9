# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ahead-of-time models: compiles an ONNX graph to native code; `passpilot.runners.native` runs it."""
