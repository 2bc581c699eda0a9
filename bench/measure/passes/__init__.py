# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes in Python, and what the advised passes of the package can gain."""
