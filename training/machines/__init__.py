# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What compiles for trainers and searches: the processors of this machine, or a Ray cluster."""
