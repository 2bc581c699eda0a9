# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One pass, as another distribution would offer it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import passpilot

if TYPE_CHECKING:
    from passpilot.plugin.ir import Function


@passpilot.llvm.function_pass("example-count")
@dataclass(frozen=True)
class Count:
    """Prints the size of each function above a limit."""

    above: int = 0

    def run(self, function: Function) -> bool:
        """Print the count."""
        if function.instruction_count > self.above:
            print(function.name, function.instruction_count, file=sys.stderr)
        return False
