# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilations as environments of Gymnasium; `passpilot.training.registration` registers them."""
