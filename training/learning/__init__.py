# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trainers of policies, and what they share: settings, models, checkpoints, curves, export."""
