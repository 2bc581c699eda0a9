# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Module`: LLVM IR in this process."""

from __future__ import annotations

import os
from typing import Protocol

from passpilot.plugin import _core
from passpilot.plugin.errors import InputError
from passpilot.plugin.files import write_file
from passpilot.plugin.ir import ModuleIR


class SupportsBitcode(Protocol):
    """A module of llvmlite's binding layer."""

    name: str

    def as_bitcode(self) -> bytes: ...


class Module(ModuleIR):
    """One LLVM module in its own context; `Module.read` makes it.

    Modules on different threads are independent. A module takes part in one compilation at a time.
    ``Module(source)`` is short for ``Module.read(source)``.
    """

    def __init__(
        self, source: str | os.PathLike[str] | bytes | SupportsBitcode | _core.Module | object
    ) -> None:
        super().__init__(source if isinstance(source, _core.Module) else Module.read(source)._core)

    @classmethod
    def read(
        cls,
        source: str | os.PathLike[str] | bytes | SupportsBitcode | object,
        *,
        name: str | None = None,
        mtriple: str = "",
        data_layout: str = "",
        verify: bool = True,
        strip_debug: bool = False,
        discard_value_names: bool = False,
        for_codegen: bool = False,
    ) -> Module:
        """Parse LLVM assembly or bitcode.

        Args:
            source: a path (``-``: standard input), the bytes of a .ll or .bc file, or a module of llvmlite
                (`llvmlite.ir.Module` or `llvmlite.binding.ModuleRef`).
            name: the module's identifier, if `source` is not a path.
            mtriple: overrides the module's target triple.
            data_layout: overrides the module's data layout.
            verify: run LLVM's verifier, and refuse an invalid module.
            strip_debug: drop debug information first.
            discard_value_names: drop the names of values that are not global.
            for_codegen: read as llc does, not as opt: use the target's own data layout.

        Raises:
            InputError: the source cannot be read or parsed, or the module is invalid.
        """
        options = _core.ParseOptions()
        options.triple, options.data_layout = mtriple, data_layout
        options.verify, options.strip_debug = verify, strip_debug
        options.discard_value_names, options.for_codegen = discard_value_names, for_codegen
        if isinstance(source, (str, os.PathLike)):
            return cls(_core.Module.from_file(os.fspath(source), options))
        data, found = _bytes_of(source)
        return cls(_core.Module.from_memory(data, name or found, options))

    @property
    def name(self) -> str:
        """The module's identifier: the path it was read from."""
        return self._core.name

    @property
    def triple(self) -> str:
        """The target triple; empty if the module has none."""
        return self._core.triple

    @property
    def data_layout(self) -> str:
        """The data layout string."""
        return self._core.data_layout

    def verify(self) -> None:
        """Run LLVM's verifier.

        Raises:
            InputError: the module is invalid; says why.
        """
        if complaints := self._core.verify():
            raise InputError(f"{self.name}: expected a module that verifies, got: {complaints}")

    def __str__(self) -> str:
        return self._core.assembly().decode("utf-8", "surrogateescape")

    def __repr__(self) -> str:
        return f"<Module {self.name!r} {self.triple}>"

    def assembly(self) -> bytes:
        """The module as LLVM assembly, byte for byte as ``opt -S`` prints it."""
        return self._core.assembly()

    def bitcode(self) -> bytes:
        """The module as bitcode, byte for byte as opt writes it."""
        return self._core.bitcode()

    def copy(self) -> Module:
        """A copy of the module in its own context."""
        return Module.read(self.bitcode(), name=self.name, verify=False)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the module to `path`, as assembly if it ends in ``.ll``, else as bitcode.

        Raises:
            InputError: the file cannot be written.
        """
        target = os.fspath(path)
        write_file(target, self.assembly() if target.endswith(".ll") else self.bitcode())


def checked_module(function: str, module: object) -> Module:
    """The module that `optimize` or `emit` got.

    Raises:
        InputError: it is something else; says what to do with that.
    """
    if isinstance(module, Module):
        return module
    got, hint = type(module).__name__, "read one with passpilot.Module.read"
    if isinstance(module, (str, os.PathLike)):
        got, hint = (
            f"the path {os.fspath(module)!r}",
            f"read it: passpilot.Module.read({os.fspath(module)!r})",
        )
    elif type(module).__module__.partition(".")[0] == "llvmlite":
        got, hint = "a module of llvmlite", f"use passpilot.llvmlite.{function}"
    raise InputError(f"{function}: expected a passpilot.Module, got {got}; {hint}")


def _bytes_of(source: object) -> tuple[bytes, str]:
    """The bytes and the name of a source that is not a path."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), "<bytes>"
    if type(source).__module__.partition(".")[0] == "llvmlite":
        name = str(getattr(source, "name", "")) or "<llvmlite>"
        if hasattr(source, "as_bitcode"):
            return source.as_bitcode(), name
        return str(source).encode(), name
    kind = type(source).__name__
    raise InputError(f"Module.read: expected a path, bytes or a module of llvmlite, got {kind}")
