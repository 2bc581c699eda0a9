# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot eval`: compiles, links and runs the programs of a corpus with several policies and baselines."""
