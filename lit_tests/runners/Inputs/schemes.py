# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A user's scheme: every:N says yes to every Nth question."""

import passpilot


class Every(passpilot.Runner):
    def __init__(self, n, point):
        self.inputs = ()
        self.output = point.advice
        self.n = n
        self.asked = 0

    def evaluate(self):
        self.asked += 1
        return self.asked % self.n == 0


@passpilot.runner_scheme("every", keys=("plus",))
def every(target, options, point, timeout):
    return Every(int(target) + int(options.get("plus", 0)), point)
