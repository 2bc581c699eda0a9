# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the built libraries and headers without loading them; names LLVM's levels.

`passpilot cc` runs for every file of a build, so this module imports nothing slow.
"""

from __future__ import annotations

import os

from passpilot.plugin.errors import InputError
from passpilot.plugin.version import MAJOR

TYPE_CHECKING = False  # type checkers take it as true
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Final

LEVELS: Final = ("O0", "O1", "O2", "O3", "Os", "Oz")
"""LLVM's optimization levels: ``default<O2>`` is a pipeline."""

CODEGEN_LEVELS: Final = LEVELS[:4]
"""The levels of code generation; the index is `opt_level`."""


def installed(name: str, hint: str = "build passpilot again") -> str:
    """The path of a file or folder that the build has put beside the native core.

    Raises:
        InputError: it is not there.
    """
    from passpilot import plugin

    for folder in plugin.__path__:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    raise InputError(f"passpilot: expected {name} in {plugin.__path__[-1]}, got none; {hint}")


def llvm_plugin(major: int = MAJOR) -> Path:
    """The plugin for LLVM's tools: opt, clang, llc and lld.

    Args:
        major: the version of LLVM. A checkout has an environment for each, beside each other.

    Raises:
        InputError: there is none for this version.
    """
    return _path("libpasspilot.so") if major == MAJOR else _beside(major)[1] / "libpasspilot.so"


def command(major: int) -> Path:
    """The command `passpilot` of the environment for another LLVM.

    Raises:
        InputError: there is none for this version.
    """
    return _beside(major)[0] / "bin/passpilot"


def _beside(major: int) -> tuple[Path, Path]:
    """An environment for another LLVM beside ours, such as .venv-23, and the folder of its native core.

    Raises:
        InputError: there is none for this version.
    """
    import sys
    from pathlib import Path

    ours = Path(sys.prefix)
    default = ours.name.removesuffix(f"-{MAJOR}")
    for name in (f"{default}-{major}", default):
        other = ours.with_name(name)
        for file in other.glob("lib/python3*/*-packages/passpilot/plugin/version.py"):
            if f"MAJOR = {major}\n" in file.read_text():
                return other, file.parent
    raise InputError(
        f"passpilot: expected LLVM {MAJOR}, which it is built with, got {major}; "
        f"PASSPILOT_LLVM={major} tools/setup.sh build makes {ours.with_name(f'{default}-{major}')}"
    )


def mlir_plugin() -> Path:
    """The plugin for mlir-opt.

    Raises:
        InputError: it has not been built.
    """
    packages = f"clang-{MAJOR} libmlir-{MAJOR}-dev"
    return _path("libpasspilot_mlir.so", f"sudo apt-get install {packages}, and build passpilot again")


def mlir_inliner() -> Path:
    """The library that inlines in modules of MLIR's Python bindings.

    Raises:
        InputError: it has not been built.
    """
    packages = f"g++ libmlir-{MAJOR}-dev"
    return _path("libpasspilot_mlir_hosted.so", f"sudo apt-get install {packages}, and build passpilot again")


def c_library() -> Path:
    """The library of the C API; the folders `cmake` and `pkgconfig` are beside it."""
    return _path("libpasspilot_c.so.1")


def include_folder() -> Path:
    """The folder of passpilot.h, passpilot_model.h and passpilot/llvm.h."""
    return _path("include")


def _path(name: str, hint: str = "build passpilot again") -> Path:
    from pathlib import Path

    return Path(installed(name, hint))
