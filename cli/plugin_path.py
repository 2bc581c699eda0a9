# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot plugin-path`: prints the paths of the plugins for stock compilers and of the C API."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from passpilot.cli.parser import Parser
from passpilot.plugin.errors import UsageError
from passpilot.plugin.toolchain import c_library, llvm_plugin, mlir_plugin
from passpilot.plugin.version import MAJOR

EPILOG: Final = f"""\
examples:
  opt-{MAJOR} -load-pass-plugin=$(passpilot plugin-path) -passpilot-inline=onnx:model.onnx \\
    -passes='default<O2>' in.bc -o out.bc
  mlir-opt-{MAJOR} --load-pass-plugin=$(passpilot plugin-path --mlir) in.mlir \\
    --pass-pipeline='builtin.module(advised-inline{{runner=random:7}})'
  export PKG_CONFIG_PATH=$(passpilot plugin-path --pkgconfigdir)
  cc compiler.c $(pkg-config --cflags --libs passpilot)"""


def main(argv: Sequence[str]) -> int:
    options = make_parser().parse_args(argv)
    found = [find() for name, find in PLACES.items() if getattr(options, name)]
    if len(found) > 1:
        known = ", ".join(f"--{name}" if len(name) > 1 else f"-{name}" for name in PLACES)
        raise UsageError(f"plugin-path: expected one of {known}, got {len(found)} of them")
    if found and options.llvm != MAJOR:
        raise UsageError(f"plugin-path: expected --llvm={MAJOR} with another option, got {options.llvm}")
    print(*(found or [llvm_plugin(options.llvm)]))
    if options.mlir:
        _expect_tool(f"mlir-opt-{MAJOR}", package=f"mlir-{MAJOR}-tools")
    elif not found:
        _expect_tool(
            *(f"{tool}-{options.llvm}" for tool in ("opt", "clang", "llc", "ld.lld")),
            package=f"llvm-{options.llvm}",
        )
    return 0


def _expect_tool(*names: str, package: str) -> None:
    """Warn if no tool can load the plugin; it uses the tool's own LLVM, which no wheel brings along."""
    if not any(map(shutil.which, names)):
        print(
            f"passpilot: warning: plugin-path: no {' or '.join(names)} is on the PATH; "
            f"sudo apt-get install {package}",
            file=sys.stderr,
        )


def make_parser() -> Parser:
    parser = Parser(
        "passpilot plugin-path",
        description="Print the path of the plugin for stock opt, clang, llc and lld.",
        epilog=EPILOG,
    )
    parser.option("mlir", action="store_true", help=f"the one for mlir-opt-{MAJOR}")
    text = f"use this LLVM: print its plugin, of an environment beside this one ({MAJOR})"
    parser.option("llvm", metavar="21|22|23", type=int, default=MAJOR, help=text)
    parser.option("c", action="store_true", help="libpasspilot_c.so.1, the C API")
    parser.option("cmakedir", action="store_true", help="the folder for CMake's passpilot_DIR")
    parser.option("pkgconfigdir", action="store_true", help="the folder for PKG_CONFIG_PATH")
    return parser


PLACES: Final[dict[str, Callable[[], Path]]] = {
    "mlir": mlir_plugin,
    "c": c_library,
    "cmakedir": lambda: c_library().with_name("cmake"),
    "pkgconfigdir": lambda: c_library().with_name("pkgconfig"),
}
"""The functions that find the paths, by option."""
