# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the commands that print have in common."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def quiet_pipe() -> Iterator[None]:
    """Print to standard output within, and stop without a word when its reader, such as `head`, goes away."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes once more at its exit: what is left must have somewhere to go.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
