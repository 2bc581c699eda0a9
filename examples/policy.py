# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy for small code: `passpilot opt -Oz in.bc --inline=python:examples/policy.py:decide -o out.bc`."""

from passpilot import Observation


def decide(obs: Observation) -> bool:
    """Inline callees that clearly shrink the caller, or that constant arguments may shrink further."""
    limit = 5 if obs["constant_args"] > 0 else -10  # in LLVM's cost units: 5 is one instruction
    return bool(obs["cost_estimate"] < limit)
