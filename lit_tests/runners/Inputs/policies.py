# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies for a server; they name the tensors that the compiler must send."""

import passpilot


@passpilot.feature("int64[1]")
def name_length(site):
    """Characters of the callee's name."""
    return len(site.callee.name)


def opposite(obs):
    return not obs.default()


opposite.features = ("inlining_default",)


def short_names(obs):
    return obs["name_length"] <= 3


short_names.features = ("name_length",)


def looks(obs):
    return obs.site.callee.name == "small"


looks.features = ("callee_users",)


def small(obs):
    return obs["callee_basic_block_count"] == 1 and len(obs) == 2


def undeclared(obs):
    return obs["cost_estimate"] < 0


undeclared.features = ("callee_users",)
