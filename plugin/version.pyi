# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# CMake writes the module from version.py.in.
from typing import Final

MAJOR: Final[int]
"""The major version of LLVM that passpilot was built with: tools are `opt-{MAJOR}`, `clang-{MAJOR}`, ..."""

__version__: Final[str]
"""The version of passpilot."""
