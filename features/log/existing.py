# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`is_other_file`: whether a log would replace a file that is no log, such as the source.

`plugin/native/runtime/log_file.cpp` follows the same rule.
"""

from __future__ import annotations

import os


def is_other_file(path: str) -> bool:
    """Whether it is a file that does not begin as a log does."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(1) not in (b"", b"{")
    except OSError:
        return False  # who writes the log says what is wrong
