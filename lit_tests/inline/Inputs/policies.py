# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies for the tests of this folder."""

import passpilot


def echo(obs):
    return obs.default()


def cheap(obs):
    return obs["cost_estimate"] < 0


def not_big(obs):
    return obs.site.callee.name != "big"


def opposite(obs):
    return not obs.default()


def fails_at_big(obs):
    if obs.site.callee.name == "big":
        raise RuntimeError("too big for me")
    return True


class Alternating:
    """Yes at the first decision, then in turns."""

    def __init__(self):
        self.last = False

    def __call__(self, obs):
        self.last = not self.last
        return self.last


@passpilot.policy_factory
def made():
    return lambda obs: obs["callee_users"] > 100
