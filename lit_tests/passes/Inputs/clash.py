# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two passes of one name."""

from dataclasses import dataclass

from passpilot import llvm


@llvm.function_pass("same-name")
@dataclass(frozen=True)
class One:
    def run(self, function):
        return False


@llvm.function_pass("same-name")
@dataclass(frozen=True)
class Two:
    def run(self, function):
        return False
