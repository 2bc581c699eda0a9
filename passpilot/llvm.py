# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The public name of passpilot.passes.python.api, so that `from passpilot.llvm import ...` works."""

import sys

from passpilot.passes.python import api as llvm
from passpilot.passes.python.api import *  # for type checkers

sys.modules[__name__] = llvm
