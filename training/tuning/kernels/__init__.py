# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Searches the schedules of linalg kernels by running them."""
