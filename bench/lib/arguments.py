# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of a measurement: every argument has a default, and `--check` is always there."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from bench.lib.records import command

if TYPE_CHECKING:
    from collections.abc import Mapping

CHECK: Final = "--check"

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has bytecode, and a checkout gets it
sys.dont_write_bytecode = False


def arguments(description: str | None, defaults: Mapping[str, Any]) -> Any:
    """The values of the command line.

    Args:
        description: the module's docstring, for `--help`.
        defaults: by name. A name with dashes is a flag, another one a word that may be left out. A tuple
            takes several words, `False` makes a flag without a value; others have the type of their default.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m {command()}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(CHECK, action="store_true", help="exit 1 if a figure is beyond its bar")
    for name, default in defaults.items():
        if default is False:
            parser.add_argument(name, action="store_true")
        elif isinstance(default, tuple):
            parser.add_argument(name, nargs="*", default=default, help=f"default: {' '.join(default)}")
        else:
            count = None if name.startswith("-") else "?"
            kind, text = type(default), f"default: {default}"
            parser.add_argument(name, nargs=count, type=kind, default=default, help=text)
    return parser.parse_args()
