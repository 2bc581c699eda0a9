# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The IR of a module as Python sees it: what `Module` has of it, and the classes of what is in it.

The classes are the core's. A handle is cheap, two handles of one value are equal, and one whose value has
been erased raises StaleViewError. docs/ir.md has the table of names.
"""

from __future__ import annotations

from passpilot.plugin import _core
from passpilot.plugin._core import (
    Argument,
    BasicBlock,
    CallBase,
    Constant,
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
)
from passpilot.plugin.public import publish

__all__ = [
    "Argument",
    "BasicBlock",
    "CallBase",
    "Constant",
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
        """The nodes of each named metadata, as tuples."""
        return self._core.named_metadata

    @property
    def source_file(self) -> str:
        """The name of the source that the module was compiled from."""
        return self._core.source_file

    @property
    def inline_assembly(self) -> str:
        """The assembly that the module has outside its functions."""
        return self._core.inline_assembly

    def function(self, name: str) -> Function | None:
        """The function of that name, or None."""
        return self._core.function(name)

    def global_value(self, name: str) -> GlobalValue | None:
        """The function, variable, alias or ifunc of that name, or None."""
        return self._core.global_value(name)

    def type(self, text: str) -> Type:
        """The type that LLVM's assembly spells so: ``i32``, ``[4 x ptr]``, ``i32 (ptr, ...)``.

        Raises:
            IRError: there is no such type; says why.
        """
        return self._core.type(text)

    def constant(self, text: str) -> Constant:
        """The constant that LLVM's assembly spells so: ``i32 7``, ``ptr null``, ``ptr @f``.

        Raises:
            IRError: there is no such constant; says why.
        """
        return self._core.constant(text)

    def declare(self, name: str, type: Type | str) -> Function:  # noqa: A002 - LLVM's word for it
        """The function of that name and function type, declared if the module has none.

        Raises:
            IRError: the name is taken, or LLVM accepts no such function.
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
        """A new global variable: internal, or without `initializer` a declaration.

        Raises:
            IRError: the name is taken, or the type and the initializer do not fit.
        """
        return self._core.add_global(name, self._type(type), initializer, is_constant)

    def run(self, pipeline: str) -> bool:
        """Run a pipeline of LLVM's passes, in a module pass, as if it stood in the pass's place.

        Returns:
            Whether a pass has changed the module.

        Raises:
            IRError: no module pass runs, the text is not valid, or the pass has left IR that is not.
            CompilationError: the compilation is to end, as when an advisor has failed.
        """
        return self._core.run(pipeline)

    def _type(self, given: Type | str) -> Type:
        return self.type(given) if isinstance(given, str) else given


publish("passpilot.ir", (globals()[name] for name in __all__))
