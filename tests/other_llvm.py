# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is not tested where passpilot is built with another LLVM than the default, and why."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import lit.formats
import lit.Test

from passpilot.plugin.version import MAJOR

if TYPE_CHECKING:
    from lit.LitConfig import LitConfig

DEFAULT: Final = 22
NAMES: Final = re.compile(rf"\b[a-z+-]+-{DEFAULT}\b|\bLLVM {DEFAULT}\b|\b{DEFAULT}\.1\b|version {DEFAULT}\b")
"""Tools of the default LLVM, and its version."""
STOCK: Final = re.compile(r"^#? ?;? ?(?:RUN|DEFINE):.*(?<!passpilot )%?\bopt ", re.MULTILINE)
LEVELS: Final = re.compile(r"-O[sz]\b|<O[sz]>|= O[sz]\b")
"""Stock opt has no levels for size since LLVM 23."""


def not_tested(file: Path) -> str:
    """Why a test's file is for the default LLVM alone; nothing if it is not, or if this is the default."""
    if MAJOR == DEFAULT:
        return ""
    source = file.read_text(errors="replace")
    if found := NAMES.search(source):
        return f"the file names {found[0]}, and passpilot is built with LLVM {MAJOR}"
    in_python = file.parent.name == "mlir" or (file.parent.name == "mlir-plugin" and "-load=%S" in source)
    if (in_python or "mlir import" in source or "import mlir" in source) and not find_spec("mlir"):
        return "needs MLIR's Python bindings"
    if MAJOR >= 23 and STOCK.search(source) and LEVELS.search(source):
        return f"opt of LLVM {MAJOR} has no levels for size"
    return ""


class ShTest(lit.formats.ShTest):  # type: ignore[misc]
    """lit's format, without the tests that need the default LLVM, or Python bindings for it."""

    def execute(self, test: lit.Test.Test, lit_config: LitConfig) -> lit.Test.Result:
        """Run a test, or say why it is not run."""
        reason = not_tested(Path(test.getSourcePath()))
        return lit.Test.Result(lit.Test.UNSUPPORTED, reason) if reason else super().execute(test, lit_config)
