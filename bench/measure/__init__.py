# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Side-by-side measurements, by what is measured."""
