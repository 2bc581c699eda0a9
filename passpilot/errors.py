# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The public name of passpilot.plugin.errors, so that `from passpilot.errors import ...` works."""

import sys

from passpilot.plugin import errors
from passpilot.plugin.errors import *  # for type checkers

sys.modules[__name__] = errors
