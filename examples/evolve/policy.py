# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The function that evolution begins with: `openevolve` rewrites what stands between the two marks."""


# EVOLVE-BLOCK-START
def decide(obs):
    """Inline what makes the program smaller."""
    size = obs["cost_estimate"].item() - 10 * (obs["callee_users"] <= 1)
    if obs["constant_args"] > 0 and obs["callee_basic_block_count"] < 4:
        size = size - 15
    return size < -5


# EVOLVE-BLOCK-END
