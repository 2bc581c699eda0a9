# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packages of Debian, chosen by a rule, built with and without advice, and tried by their own tests."""
