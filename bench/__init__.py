# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measurements, sweeps, and the pages of their records.

From the root of the checkout, `python -m bench.measure.runners.pipe` runs bench/measure/runners/pipe.py.
"""
