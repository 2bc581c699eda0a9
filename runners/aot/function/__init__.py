# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a decision function in Python to native code: its text is parsed and never run."""
