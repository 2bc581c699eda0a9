# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decisions as training data: from compilations and logs to shards, and from shards to arrays."""
