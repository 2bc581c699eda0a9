# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The public name of passpilot.plugin.ir, so that `from passpilot.ir import ...` works."""

import sys

from passpilot.plugin import ir
from passpilot.plugin.ir import *  # for type checkers

sys.modules[__name__] = ir
