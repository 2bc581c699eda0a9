# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trainers of models, and what they share: settings, models, checkpoints, curves, export."""
