# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes at each level, as short as users write them."""

import sys
from dataclasses import dataclass
from typing import Literal

from passpilot import llvm


def say(*words):
    print(*words, file=sys.stderr)


@llvm.module_pass("say-module")
@dataclass(frozen=True)
class SayModule:
    """Prints how many functions the module defines."""

    def run(self, module):
        say("module:", sum(1 for f in module.functions if not f.is_declaration))
        return False


@llvm.cgscc_pass("say-scc")
@dataclass(frozen=True)
class SayScc:
    def run(self, functions):
        say("scc:", *sorted(f.name for f in functions))
        return False


@llvm.function_pass("say-function")
@dataclass(frozen=True)
class SayFunction:
    limit: int = 3
    mode: Literal["fast", "slow"] = "fast"
    loud: bool = False

    def run(self, function):
        say("function:", function.name, self.limit, self.mode, self.loud)
        return False


@llvm.function_pass("say-always", required=True)
@dataclass(frozen=True)
class SayAlways:
    def run(self, function):
        say("always:", function.name)
        return False


@llvm.loop_pass("say-loop")
@dataclass(frozen=True)
class SayLoop:
    def run(self, loop):
        say("loop:", loop.header.name)
        return False


@llvm.function_pass("mark-cold")
@dataclass(frozen=True)
class MarkCold:
    def run(self, function):
        function.add_attribute("cold")
        return True


@llvm.function_pass("raise-error")
@dataclass(frozen=True)
class RaiseError:
    def run(self, function):
        raise ValueError("no luck with " + function.name)


@llvm.function_pass("answer-none")
@dataclass(frozen=True)
class AnswerNone:
    def run(self, function):
        pass
