# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os

import passpilot


@passpilot.feature("int64[1]", point="mlir-inline")
def multiplications(site):
    """Multiplications in the callee."""
    return str(site.callee).count("arith.muli")


def few(obs):
    return obs["multiplications"].item() < 2


def small(obs):
    return obs["callee_operations"].item() < 3


def raises(obs):
    return obs["callee_operations"].item() / 0


def dies(obs):
    os._exit(3)
