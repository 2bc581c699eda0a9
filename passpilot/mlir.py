# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The public name of passpilot.passes.mlir.api, so that `from passpilot.mlir import ...` works."""

import sys

from passpilot.passes.mlir import api as mlir
from passpilot.passes.mlir.api import *  # for type checkers

sys.modules[__name__] = mlir
