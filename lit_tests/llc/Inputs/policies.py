# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies of register allocation."""


def default(obs):
    return obs.default()


def none(obs):
    """Evict nothing, where that is legal."""
    return 32 if obs["mask"][0, 32] else obs.default()


def fails(obs):
    raise ValueError("enough")
