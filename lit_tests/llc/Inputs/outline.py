# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy that fails."""


def fail(obs):
    raise ValueError("no luck")
