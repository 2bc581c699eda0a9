# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The registries of Python passes, `LLVM` and `MLIR`.

The decorators of `passpilot.llvm` and `passpilot.mlir` register passes; passes of other distributions are
found by entry points when their name is used. Registration refuses a name that the compiler or another pass
has, a class that is not a frozen dataclass, a field that cannot be an option, and a `run` that does not take
one unit of IR.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from passpilot.passes.python.names import NAME, is_llvm_name
from passpilot.passes.python.options import Option, options_of
from passpilot.plugin.errors import RegistrationError
from passpilot.plugin.mlir.bindings import is_mlir_name
from passpilot.plugin.registry import Registry

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@dataclasses.dataclass(frozen=True, slots=True)
class PassDefinition:
    """A registered Python pass: its class and its properties.

    `level` is the unit that it runs on. In LLVM: ``module``, ``cgscc``, ``function`` or ``loop``. In MLIR:
    the name of an operation, or empty for any operation.
    """

    name: str
    level: str
    kind: type
    required: bool
    options: tuple[Option, ...]
    doc: str
    origin: str

    def __str__(self) -> str:
        options = " ".join(map(str, self.options))
        return f"{self.name}{{{options}}}" if options else self.name


class PassRegistry(Registry[PassDefinition]):
    """The Python passes for one compiler.

    Args:
        api: the public module whose decorators register here.
        group: the entry-point group for other distributions; an entry is ``NAME = "module:Class"``.
        own: the shipped passes, as entries of the same form.
        compiler: the compiler's name, for messages.
        is_native: whether a name belongs to the compiler itself.
    """

    def __init__(
        self,
        api: str,
        group: str,
        own: Mapping[str, str],
        compiler: str,
        is_native: Callable[[str], bool],
    ) -> None:
        super().__init__("pass", own=own, group=group)
        self.api = api
        self._compiler = compiler
        self._is_native = is_native
        self._mark = f"__{api.replace('.', '_')}_pass__"

    def define(self, kind: type, name: str, level: str, origin: str, *, required: bool = False) -> None:
        """Register a class as a pass; called by the decorator at `origin`.

        Raises:
            RegistrationError: name or class do not fit, or the name is taken.
        """
        definition = _defined(kind, name, level, origin, required=required)
        self.add(name, definition)
        if self.api == "passpilot.llvm":
            from passpilot.plugin import _core

            _core.permit_pass(name)  # decision files and policies may name it
        setattr(kind, self._mark, definition)

    def register(self, kind: object) -> None:
        """Register a decorated class again, for instance after `unregister`; no effect if it is registered.

        Raises:
            RegistrationError: the class is not decorated, or its name is taken.
        """
        definition = self._definition_of(kind)
        if definition is None:
            raise RegistrationError(f"{self.api}.register: expected a class under a decorator, got {kind!r}")
        self.add(definition.name, definition)

    def find(self, name: str) -> PassDefinition | None:
        """The Python pass of this name; None if the name is the compiler's or unknown.

        Raises:
            Error: the entry point of this name cannot be used.
        """
        if name not in self and NAME.fullmatch(name) and not self._is_native(name):
            self._load(name)
        return self.get(name)

    def known(self) -> list[PassDefinition]:
        """All passes by name, those of entry points included.

        Raises:
            Error: an entry point cannot be used.
        """
        for name in sorted(self.offered().names):
            self.find(name)
        return [self[name] for name in sorted(self)]

    def owner(self, name: str, definition: PassDefinition) -> str:
        """Who owns the name: the compiler, another pass, or an entry point of another package."""
        if taken := self.get(name):
            return f"the pass at {taken.origin}"
        package = definition.kind.__module__.partition(".")[0]
        if name in self.own and package == "passpilot":
            return ""  # without a scan of all packages, and without MLIR's bindings
        if self._is_native(name):
            return f"{self._compiler} itself"
        foreign = (e for e in self.offered().select(name=name) if _package(e) != package)
        return next((f"the entry point {entry.value}" for entry in foreign), "")

    def _definition_of(self, kind: object) -> PassDefinition | None:
        return kind.__dict__.get(self._mark) if isinstance(kind, type) else None

    def _load(self, name: str) -> None:
        """Import the entry point of this name, if there is one, and register its pass.

        The decorator in its module registers the pass, too, but only at the first import.
        """
        if name in self.own:
            kind, place = self.import_own(name), self.own[name]
        elif entry := self.entry(name):
            kind, place = self.imported(entry), entry.value
        else:
            return
        definition = self._definition_of(kind)
        if definition is None or definition.name != name:
            who = f"pass {name!r} of entry point {place}"
            expected = f"a class that a decorator of {self.api} names {name!r}"
            raise RegistrationError(f"{who}: expected {expected}, got {kind!r}")
        self.add(name, definition)


LLVM: Final = PassRegistry(
    "passpilot.llvm",
    "passpilot.passes",
    {
        "advised-distribute": "passpilot.passes.shipped.distribute:AdvisedDistribute",
        "advised-function-pipeline": "passpilot.passes.shipped.pipeline:AdvisedFunctionPipeline",
        "advised-hotness": "passpilot.passes.shipped.hotness:AdvisedHotness",
        "advised-outline": "passpilot.passes.shipped.outline:AdvisedOutline",
        "advised-outliner": "passpilot.passes.shipped.outline:AdvisedOutliner",
        "advised-pipeline": "passpilot.passes.shipped.pipeline:AdvisedPipeline",
        "advised-size": "passpilot.passes.shipped.size:AdvisedSize",
        "advised-slp": "passpilot.passes.shipped.slp:AdvisedSLP",
        "advised-unroll": "passpilot.passes.shipped.unroll:AdvisedUnroll",
        "advised-vectorize": "passpilot.passes.shipped.vectorize:AdvisedVectorize",
    },
    "LLVM",
    is_llvm_name,
)

MLIR: Final = PassRegistry(
    "passpilot.mlir",
    "passpilot.mlir_passes",
    {
        "advised-fuse": "passpilot.passes.mlir.fuse:AdvisedFuse",
        "advised-inline": "passpilot.passes.mlir.inline:AdvisedInline",
        "advised-schedule": "passpilot.passes.mlir.schedule.advised:AdvisedSchedule",
        "advised-stack": "passpilot.passes.mlir.stack:AdvisedStack",
        "advised-tile": "passpilot.passes.mlir.tile:AdvisedTile",
    },
    "MLIR",
    is_mlir_name,
)


def check_name(name: object, origin: str) -> None:
    """Check that a pass can have this name.

    Raises:
        RegistrationError: the name is not valid; a decorator without parentheses gets the class as name.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        who = f"pass {name!r} at {origin}"
        raise RegistrationError(f"{who}: expected a name in kebab-case, such as 'my-pass', got {name!r}")


def _defined(kind: object, name: str, level: str, origin: str, *, required: bool) -> PassDefinition:
    """The definition of a pass class, checked but not registered yet."""
    who = f"pass {name!r} at {origin}"
    for problem in _problems(kind):
        raise RegistrationError(f"{who}: expected {problem}")
    assert isinstance(kind, type), "checked above"
    try:
        options = options_of(kind)
    except TypeError as error:
        raise RegistrationError(f"{who}: expected {error}") from error
    doc = (kind.__dict__.get("__doc__") or "").partition("\n")[0]
    if doc.startswith(f"{kind.__name__}("):  # the docstring that dataclass generates
        doc = ""
    return PassDefinition(name, level, kind, required, options, doc, origin)


def _package(entry: EntryPoint) -> str:
    return entry.module.partition(".")[0]


def _problems(kind: object) -> Iterator[str]:
    """The problems of a class, the most basic first."""
    if not isinstance(kind, type):
        yield f"a class, got {kind!r}"
        return
    parameters = kind.__dict__.get("__dataclass_params__")
    if parameters is None or not parameters.frozen:
        got = "a dataclass that is not frozen" if parameters else "a plain class"
        yield f"a frozen dataclass, got {got}, {kind.__name__}; write @dataclass(frozen=True) below"
    run = getattr(kind, "run", None)
    if not inspect.isfunction(run) or inspect.iscoroutinefunction(run) or inspect.isgeneratorfunction(run):
        yield f"a method run(self, unit), got {'none' if run is None else repr(run)}"
        return
    signature = inspect.signature(run)
    try:
        signature.bind(None, None)
    except TypeError:
        yield f"a method run(self, unit), got run{signature}"
