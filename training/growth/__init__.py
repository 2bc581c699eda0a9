# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the bytes of a program are, and how they grow from one build to the next."""
