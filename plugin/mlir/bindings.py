# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bindings()`: MLIR's Python bindings, from whichever installed package contains them.

All packages contain upstream's modules under different package names, and all but jaxlib export the C API.
Only this module knows the names. It imports the bindings at the first call.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final, NoReturn

from passpilot.plugin.errors import InputError
from passpilot.plugin.extras import install

if TYPE_CHECKING:
    from passpilot.plugin.mlir.protocols import Operation

VARIABLE: Final = "PASSPILOT_MLIR"
"""The environment variable that names the package to use."""


@dataclass(frozen=True, slots=True)
class _Package:
    distribution: str
    library: str
    """The library that exports the C API, which `passpilot.mlir` needs to run passes; empty if none does."""
    lowers: bool = False
    """Whether it can lower to the llvm dialect."""


PACKAGES: Final[Mapping[str, _Package]] = {
    "mlir": _Package("xtc-mlir-python-bindings", "libMLIRPythonCAPI.so*", lowers=True),
    "torch_mlir": _Package("torch-mlir", "libTorchMLIRAggregateCAPI.so*", lowers=True),
    "iree.compiler": _Package("iree-base-compiler", "libIREECompiler.so*"),
    "jaxlib.mlir": _Package("jaxlib", ""),
}

UPSTREAM: Final = "mlir"
"""The package that upstream's own bindings have."""

ROOTS: Final = tuple(root for root, package in PACKAGES.items() if package.library)
"""The packages in which passes can run; by default, in the first installed one."""


@dataclass(frozen=True)
class Bindings:
    """MLIR's Python bindings: the name of their package, and their modules."""

    root: str
    ir: ModuleType
    passmanager: ModuleType

    @cached_property
    def rewrite(self) -> ModuleType:
        """The module of rewrite patterns."""
        return _imported(f"{self.root}.rewrite")

    def dialect(self, name: str) -> ModuleType:
        """The module of a dialect, such as ``func``."""
        return _imported(f"{self.root}.dialects.{name}")

    @cached_property
    def version(self) -> str:
        """The version of the installed package."""
        return bindings_version(self.root)

    @cached_property
    def capi(self) -> Path:
        """The shared library with MLIR's C API that the modules above use.

        Raises:
            InputError: the package has none.
        """
        folder = Path(str(_folder(self.root)))
        pattern = PACKAGES[self.root].library
        if not pattern:
            raise InputError(f"{self.root}: it exports no C API of MLIR; passes run on copies of its modules")
        if found := sorted((folder / "_mlir_libs").glob(pattern)):
            return found[0]
        raise InputError(f"{self.root}: expected _mlir_libs/{pattern} in {folder}, got none; {_INSTALL}")


def bindings_version(root: str) -> str:
    """The version of an installed package; ``unknown`` if it was built, but not installed."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = distribution(PACKAGES[root].distribution)
    except PackageNotFoundError:
        return "unknown"
    is_this = _folder(root) == Path(str(found.locate_file(root.replace(".", "/"))))
    return found.version if is_this else "unknown"


_INSTALL: Final = f"run: {install('mlir')}"


_foreign = False


def enter_foreign_tool() -> None:
    """Replace the bindings: this interpreter runs in a compiler, with which their LLVM would clash."""
    global _foreign
    _foreign = True


class _AbsentModule(ModuleType):
    """Stands for a module of the bindings, or a name in it, where they cannot be imported.

    A file of passes may fetch names when it is loaded; its passes run in another process, which has the
    bindings.

    Raises:
        InputError: it is called.
    """

    def __getattr__(self, name: str) -> _AbsentModule:
        if name.startswith("__"):
            raise AttributeError(name)
        return _AbsentModule(f"{self.__name__}.{name}")

    def __call__(self, *_: object, **__: object) -> NoReturn:
        raise _clash(self.__name__)


class _AbsentBindings(Bindings):
    """Stands for the bindings in a compiler's process; its modules are `_AbsentModule`."""

    def __init__(self) -> None:
        super().__init__("mlir", _AbsentModule("ir"), _AbsentModule("passmanager"))

    @property
    def rewrite(self) -> ModuleType:
        return _AbsentModule("rewrite")

    def dialect(self, name: str) -> ModuleType:
        return _AbsentModule(name)

    @property
    def version(self) -> str:
        raise _clash("version")

    @property
    def capi(self) -> Path:
        raise _clash("capi")


def _clash(name: str) -> InputError:
    message = "their LLVM would clash with that of the compiler in this process"
    return InputError(
        f"MLIR's Python bindings: {name}: {message}; use it in a pass, or in `passpilot mlir-opt`"
    )


_USED: Final = ContextVar[Bindings | None]("passpilot.mlir.bindings", default=None)


def bindings(of: object = None) -> Bindings:
    """MLIR's Python bindings: a package's, or those that an object belongs to.

    In a compiler's process that is not passpilot's, they can be named, but not used.

    Args:
        of: the name of a package, such as ``torch_mlir``, or a module or operation of one. Without it, they
            are those of the operation that the calling pass runs on; outside of a pass, those of the package
            that PASSPILOT_MLIR names, or else of the first installed package.

    Raises:
        InputError: there is none, it cannot be imported, or `of` belongs to no bindings.
    """
    if _foreign:
        return _AbsentBindings()
    if of is None:
        return _USED.get() or bindings_of(_chosen())
    if not isinstance(of, str):
        return bindings_of(_root_of(of))
    if of not in PACKAGES:
        raise InputError(f"mlir.bindings: expected a package among {', '.join(PACKAGES)}, got {of!r}")
    return bindings_of(of)


@contextmanager
def using(mlir: Bindings) -> Iterator[Bindings]:
    """Make `bindings()` these in the block."""
    token = _USED.set(mlir)
    try:
        yield mlir
    finally:
        _USED.reset(token)


def _root_of(wrapper: object) -> str:
    """The package that an object's class, or a base of it, comes from: JAX has contexts of its own."""
    for kind in type(wrapper).__mro__:
        for root in PACKAGES:
            if kind.__module__.startswith(f"{root}."):
                return root
    got = f"{type(wrapper).__module__}.{type(wrapper).__name__}"
    raise InputError(f"mlir.bindings: expected an object of {', '.join(PACKAGES)}, got {got}")


class ClashError(InputError):
    """A package cannot be imported beside another one."""


@cache
def bindings_of(root: str) -> Bindings:
    """The bindings of a package.

    Raises:
        ClashError: another package is in the way.
        InputError: it cannot be imported.
    """
    if other := _in_the_way(root):
        message = f"expected its own {other.name} in this process, got that of another package, {other}"
        raise ClashError(f"{root}: {message}; use the two packages in two processes")
    try:
        with _numpy_on_use():
            return Bindings(root, _imported(f"{root}.ir"), _imported(f"{root}.passmanager"))
    except ImportError as error:
        run = _INSTALL if root in ROOTS else f"run: pip install {PACKAGES[root].distribution}"
        raise InputError(f"{root}: expected MLIR's Python bindings, got: {error}; {run}") from error


def _in_the_way(root: str) -> Path | None:
    """A library in this process that the libraries of a package would use in place of their own.

    For the system's linker, libraries of one name are the same. An LLVM of the same version may be used.
    """
    folder = _folder(root)
    own = {path.name for path in (folder / "_mlir_libs").glob("lib*.so*")} if folder else set[str]()
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        loaded = {Path(line.split(maxsplit=5)[5].rstrip("\n")) for line in maps if ".so" in line}
    for path in loaded:
        if path.name in own and folder not in path.parents:  # of another package
            return path
        if path.name == "libLLVM.so" and root == UPSTREAM and not _is_version(path, bindings_version(root)):
            return path
    return None


def _is_version(llvm: Path, version: str) -> bool:
    """Whether the LLVM in a library, which is in this process, has the version of a package."""
    parts = [ctypes.c_uint() for _ in range(3)]
    ctypes.CDLL(str(llvm)).LLVMGetVersion(*map(ctypes.byref, parts))
    return version.split(".")[:3] in (["unknown"], [str(part.value) for part in parts])


def _imported(name: str) -> ModuleType:
    """Import a module of bindings, whose libraries prefer their own LLVM."""
    flags = sys.getdlopenflags()
    sys.setdlopenflags(load_mode(flags))
    try:
        return import_module(name)
    finally:
        sys.setdlopenflags(flags)


def load_mode(mode: int) -> int:
    """The mode to load a library of MLIR's in: if all libraries of this process see an LLVM, this one has to
    look for symbols among its own dependencies first.
    """
    return mode | os.RTLD_DEEPBIND if hasattr(ctypes.CDLL(None), "LLVMGetVersion") else mode


class _NumpyOnUse(ModuleType):
    """Stands for numpy in the bindings, which use it only to make constant tensors."""

    def __getattr__(self, name: str) -> object:
        if sys.modules.get("numpy") is self:
            del sys.modules["numpy"]
        return getattr(import_module("numpy"), name)


@contextmanager
def _numpy_on_use() -> Iterator[None]:
    """Let the bindings import numpy without loading it, which takes longer than loading MLIR."""
    if "numpy" in sys.modules:
        yield
        return
    stand_in = sys.modules["numpy"] = _NumpyOnUse("numpy")
    try:
        yield
    finally:
        if sys.modules.get("numpy") is stand_in:
            del sys.modules["numpy"]


def operations_in(root: Operation) -> Sequence[Operation]:
    """The operation and all operations nested in it, in pre-order."""
    ir = bindings().ir
    found: list[Operation] = []

    def see(operation: Operation) -> object:
        found.append(operation)
        return ir.WalkResult.ADVANCE

    root.walk(see, ir.WalkOrder.PRE_ORDER)
    return found


@cache
def are_wanted() -> bool:
    """Whether a package of bindings is installed, or PASSPILOT_MLIR names one."""
    return bool(os.environ.get(VARIABLE)) or any(map(_is_there, ROOTS))


@cache
def _chosen() -> str:
    wanted = os.environ.get(VARIABLE)
    if wanted and wanted not in ROOTS:
        raise InputError(f"{VARIABLE}: expected a package among {', '.join(ROOTS)}, got {wanted!r}")
    for root in [wanted] if wanted else ROOTS:
        if _is_there(root):
            return root
    who = "MLIR's Python bindings"
    if wanted:
        message = f"expected the package {wanted} that {VARIABLE} names, got none"
        raise InputError(f"{who}: {message}; install {PACKAGES[wanted].distribution}, or unset {VARIABLE}")
    raise InputError(f"{who}: expected one of the packages {', '.join(ROOTS)}, got none; {_INSTALL}")


def _is_there(root: str) -> bool:
    """Whether the package contains bindings; PyPI's empty placeholders called ``mlir`` do not."""
    folder = _folder(root)
    return folder is not None and (folder / "ir.py").is_file()


def _folder(root: str) -> Path | None:
    """Where a package is; it is not imported, as others may be in its way. None if it is not installed."""
    try:
        spec = find_spec(root)
    except ModuleNotFoundError:
        return None
    places = spec and spec.submodule_search_locations
    return Path(next(iter(places))) if places else None


def is_mlir_name(name: str) -> bool:
    """Whether the name is a pass or pipeline of MLIR, or a word of its pipeline grammar.

    The MLIR is that of imported bindings, if there are any: others may not fit into the process. False in a
    tool that has loaded the plugin; there, the plugin checks names with the tool's own MLIR. False without
    bindings, too: passes can be registered, but not run.

    Raises:
        InputError: the bindings cannot be imported.
    """
    if _foreign or not are_wanted():
        return False
    from passpilot.plugin.mlir.capi import is_pass

    loaded = next((root for root in ROOTS if f"{root}.ir" in sys.modules), "")
    return name == "any" or is_pass(name, bindings_of(loaded or _chosen()))
