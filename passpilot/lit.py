# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The public name of passpilot.cli.lit, so that `from passpilot.lit import ...` works."""

import sys

from passpilot.cli import lit
from passpilot.cli.lit import *  # for type checkers

sys.modules[__name__] = lit
