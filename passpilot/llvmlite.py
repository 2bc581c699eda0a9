# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The public name of passpilot.passes.llvmlite.api, so that `from passpilot.llvmlite import ...` works."""

import sys

from passpilot.passes.llvmlite import api as llvmlite
from passpilot.passes.llvmlite.api import *  # for type checkers

sys.modules[__name__] = llvmlite
