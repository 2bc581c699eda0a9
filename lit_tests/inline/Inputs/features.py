# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A feature of one's own, and a policy that reads it."""

import passpilot


@passpilot.feature("int64[1]")
def name_length(site):
    """Characters of the callee's name."""
    return len(site.callee.name)


def short_names(obs):
    return obs["name_length"] <= 3


short_names.features = ("name_length",)
