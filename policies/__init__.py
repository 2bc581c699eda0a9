# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policies that come with passpilot: one folder per policy, with its `policy.toml`; no code."""
