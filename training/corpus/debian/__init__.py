# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the packages of a Debian distribution, and makes corpora of what they compile."""
