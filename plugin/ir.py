# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot.ir`: the classes of LLVM IR, and `ModuleIR`, the part of `Module` that gives access to the IR.

The classes come from the core. Handles are cheap, and two handles of one value are equal. A handle of an
erased value raises `StaleViewError`.
"""

from __future__ import annotations

from passpilot.plugin import _core
from passpilot.plugin._core import (
    Argument,
    BasicBlock,
    CallBase,
    Constant,
    Distribution,
    Function,
    GlobalAlias,
    GlobalValue,
    GlobalVariable,
    InlineCost,
    Instruction,
    IRBuilder,
    Loop,
    Metadata,
    SourceLocation,
    Type,
    Value,
    Vectorization,
)
from passpilot.plugin.errors import publish

__all__ = [
    "Argument",
    "BasicBlock",
    "CallBase",
    "Constant",
    "Distribution",
    "Function",
    "GlobalAlias",
    "GlobalValue",
    "GlobalVariable",
    "IRBuilder",
    "InlineCost",
    "Instruction",
    "Loop",
    "Metadata",
    "ModuleIR",
    "SourceLocation",
    "Type",
    "Value",
    "Vectorization",
]


class ModuleIR:
    """The IR of one module: the part of `Module` that passes use."""

    def __init__(self, core: _core.Module) -> None:
        self._core = core

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleIR) and other._core is self._core

    def __hash__(self) -> int:
        return hash(self._core)

    @property
    def functions(self) -> list[Function]:
        """Definitions and declarations, in the module's order."""
        return self._core.functions

    @property
    def globals(self) -> list[GlobalVariable]:
        """The global variables."""
        return self._core.globals

    @property
    def aliases(self) -> list[GlobalAlias]:
        """The aliases."""
        return self._core.aliases

    @property
    def ifuncs(self) -> list[GlobalValue]:
        """Functions that a resolver chooses when the program is loaded."""
        return self._core.ifuncs

    @property
    def named_metadata(self) -> dict[str, list[object]]:
        """The nodes of the named metadata by name, as tuples."""
        return self._core.named_metadata

    @property
    def source_file(self) -> str:
        """The name of the source file that the module was compiled from."""
        return self._core.source_file

    @property
    def inline_assembly(self) -> str:
        """The module-level inline assembly."""
        return self._core.inline_assembly

    def function(self, name: str) -> Function | None:
        """The function of that name, or None."""
        return self._core.function(name)

    def global_value(self, name: str) -> GlobalValue | None:
        """The function, variable, alias or ifunc of that name, or None."""
        return self._core.global_value(name)

    def type(self, text: str) -> Type:
        """Parse a type of LLVM assembly: ``i32``, ``[4 x ptr]``, ``i32 (ptr, ...)``.

        Raises:
            IRError: the text is not a type; says why.
        """
        return self._core.type(text)

    def constant(self, text: str) -> Constant:
        """Parse a constant of LLVM assembly: ``i32 7``, ``ptr null``, ``[2 x i8] c"ab"``.

        Raises:
            IRError: the text is not a constant; says why.
        """
        return self._core.constant(text)

    def declare(self, name: str, type: Type | str) -> Function:  # noqa: A002 - LLVM's word for it
        """The function of this name and function type; declares it if the module has none.

        Raises:
            IRError: the name is taken, or LLVM does not accept the function.
        """
        return self._core.declare(name, self._type(type))

    def add_global(
        self,
        name: str,
        type: Type | str,  # noqa: A002
        initializer: Constant | None = None,
        *,
        is_constant: bool = False,
    ) -> GlobalVariable:
        """Add a global variable: internal if it has an `initializer`, otherwise a declaration.

        Raises:
            IRError: the name is taken, or the type and the initializer do not fit.
        """
        return self._core.add_global(name, self._type(type), initializer, is_constant)

    def run(self, pipeline: str) -> bool:
        """Run a pipeline of LLVM's passes from inside a module pass.

        Returns:
            Whether a pass has changed the module.

        Raises:
            IRError: no module pass is running, the pipeline text is wrong, or the module is not valid.
            CompilationError: the compilation has to end, for example because an advisor has failed.
        """
        return self._core.run(pipeline)

    def _type(self, wanted: Type | str) -> Type:
        return self.type(wanted) if isinstance(wanted, str) else wanted


publish("passpilot.ir", (globals()[name] for name in __all__))
