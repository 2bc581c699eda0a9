# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot plugin-path`: where the plugin is that a stock compiler loads, and the C API."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from passpilot.plugin import _core
from passpilot.cli.parser import Parser
from passpilot.plugin.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EPILOG: Final = """\
examples:
  opt-22 -load-pass-plugin=$(passpilot plugin-path) -passpilot-inline=onnx:model.onnx \\
    -passes='default<O2>' in.bc -o out.bc
  mlir-opt-22 --load-pass-plugin=$(passpilot plugin-path --mlir) in.mlir \\
    --pass-pipeline='builtin.module(advised-inline{runner=random:7})'
  export PKG_CONFIG_PATH=$(passpilot plugin-path --pkgconfigdir)
  cc compiler.c $(pkg-config --cflags --libs passpilot)"""

INSTALL: Final = "sudo apt-get install clang-22 libmlir-22-dev, and build passpilot again"


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code."""
    parser = Parser(
        "passpilot plugin-path",
        description="Print the path of the plugin for stock opt, clang, llc and lld.",
        epilog=EPILOG,
        add_help=False,
    )
    parser.option("help", "h", action="help", help="show this text")
    parser.option("mlir", action="store_true", help="the one for mlir-opt-22")
    parser.option("c", action="store_true", help="libpasspilot_c.so, the C API")
    parser.option("cmakedir", action="store_true", help="the folder for CMake's passpilot_DIR")
    parser.option("pkgconfigdir", action="store_true", help="the folder for PKG_CONFIG_PATH")
    options = parser.parse_args(argv)
    found = [find() for name, find in PLACES.items() if getattr(options, name)]
    if len(found) > 1:
        raise UsageError(f"plugin-path: expected one of --{', --'.join(PLACES)}, got {len(found)} of them")
    print(*(found or [llvm_plugin()]))
    return 0


def llvm_plugin() -> Path:
    """The plugin for LLVM's tools."""
    return Path(_core.__file__).with_name("libpasspilot.so")


def mlir_plugin() -> Path:
    """The plugin for MLIR's tools.

    Raises:
        InputError: it has not been built.
    """
    path = Path(_core.__file__).with_name("libpasspilot_mlir.so")
    if not path.exists():
        raise InputError(f"plugin-path --mlir: expected {path.name} in {path.parent}, got none; {INSTALL}")
    return path


def c_library() -> Path:
    """The C API's library."""
    return Path(_core.__file__).with_name("libpasspilot_c.so")


PLACES: Final[dict[str, Callable[[], Path]]] = {
    "mlir": mlir_plugin,
    "c": c_library,
    "cmakedir": lambda: c_library().with_name("cmake"),
    "pkgconfigdir": lambda: c_library().with_name("pkgconfig"),
}
"""What is found by which option."""
