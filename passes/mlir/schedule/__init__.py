# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules of linalg kernels: what is decided, and the transform dialect's script that does it."""
