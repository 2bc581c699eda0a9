# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
def never(obs):
    return False


def broken(obs):
    raise ValueError("no answer")
