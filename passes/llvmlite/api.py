# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot.llvmlite`: advised compilation for compilers that are written with llvmlite, and for Numba.

    optimized = passpilot.llvmlite.optimize(module, "default<O2>", [passpilot.InlineAdvisor(decide)])
    engine.add_module(optimized)

llvmlite has an LLVM of its own, linked into it, which knows nothing of the one that passpilot runs in:
modules cross over as bitcode, and as text to a llvmlite with an older LLVM.
"""

from __future__ import annotations

from passpilot.passes.llvmlite.module import emit, optimize
from passpilot.passes.llvmlite.numba import advised_numba
from passpilot.plugin.public import publish

__all__ = ["advised_numba", "emit", "optimize"]


publish("passpilot.llvmlite", (globals()[name] for name in __all__))
