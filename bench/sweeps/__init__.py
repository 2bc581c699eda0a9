# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sweeps over many programs and runners that look for wrong answers."""
