# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes, workers and trainers."""
