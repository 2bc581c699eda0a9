# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trainers that learn from rewards of compilations: evolution and reinforcement."""
