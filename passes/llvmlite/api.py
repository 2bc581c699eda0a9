# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot.llvmlite`: advised compilation for Numba and for compilers written with llvmlite.

    optimized = passpilot.llvmlite.optimize(module, "default<O2>", [passpilot.InlineAdvisor(decide)])
    engine.add_module(optimized)

llvmlite contains its own LLVM, separate from passpilot's. Modules pass between the two as bitcode, or as text
if llvmlite's LLVM is older.
"""

from __future__ import annotations

from passpilot.passes.llvmlite.module import emit, optimize
from passpilot.passes.llvmlite.numba import advised_numba
from passpilot.plugin.errors import publish

__all__ = ["advised_numba", "emit", "optimize"]


publish("passpilot.llvmlite", (globals()[name] for name in __all__))
