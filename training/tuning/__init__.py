# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot tune`: searches the decisions that make one module smallest, and writes them into a file."""
