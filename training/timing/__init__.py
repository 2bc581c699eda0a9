# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs programs, checks what they print, and times them in pairs."""
