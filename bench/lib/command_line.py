# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command of a module: `python -m` calls a function with what the command line says."""

from __future__ import annotations

import argparse
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

CHECK: Final = "--check"

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has bytecode, and a checkout gets it
sys.dont_write_bytecode = False


def running() -> str:
    """The running module as `python -m` names it, such as ``bench.measure.runners.pipe``."""
    spec = sys.modules["__main__"].__spec__
    return spec.name.removesuffix(".__main__") if spec else Path(sys.argv[0]).stem


def command(main: Callable[..., None]) -> Callable[..., None]:
    """Make a function the command of its module, and call it if this is the module that runs.

    Its parameters have defaults and are words of the command line in their order; `*names` takes all that
    follow. Those behind a `*` are flags. `--check` is always there: `settle` looks at it.
    """
    if main.__module__ != "__main__":
        return main
    parameters = inspect.signature(main).parameters
    parser = argparse.ArgumentParser(
        prog=f"python -m {running()}",
        description=sys.modules["__main__"].__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if "check" not in parameters:
        parser.add_argument(CHECK, action="store_true", help="exit 1 if a figure is beyond its bar")
    for name, parameter in parameters.items():
        flag, default = f"--{name.replace('_', '-')}", parameter.default
        kind, text = type(default), f"default: {default}"
        if parameter.kind is parameter.VAR_POSITIONAL:
            parser.add_argument(name, nargs="*")
        elif default is False:
            parser.add_argument(flag, action="store_true")
        elif parameter.kind is parameter.KEYWORD_ONLY:
            parser.add_argument(flag, type=kind, default=default, help=text)
        else:
            parser.add_argument(name, nargs="?", type=kind, default=default, help=text)
    values = vars(parser.parse_args())
    words: list[object] = []
    flags = {}
    for name, parameter in parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            words += values[name]
        elif parameter.kind is parameter.KEYWORD_ONLY:
            flags[name] = values[name]
        else:
            words.append(values[name])
    main(*words, **flags)
    return main
