# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Registry`: definitions by name, from passpilot itself, from users' files and from installed packages.

There is one registry per kind of definition: LLVM passes, MLIR passes, features, runner schemes, MLIR calls.
A name has one owner. Packages offer definitions by entry points, which are scanned once and imported only
when their name is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar
from weakref import WeakSet

from passpilot.plugin.errors import Error, RegistrationError
from passpilot.plugin.failures import headline

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints


class Defined(Protocol):
    """A definition in a registry."""

    @property
    def origin(self) -> str:
        """The ``file:line`` where it was defined."""


Definition = TypeVar("Definition", bound=Defined)

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class Registry(Mapping[str, Definition]):
    """The registered definitions of one kind, by name, in the order of registration.

    Args:
        noun: the word for a definition in messages.
        error: the class of the errors.
        own: the names that belong to passpilot, and their places as ``module:attribute`` or ``module``.
        group: the entry-point group of other packages; without it, packages cannot add definitions.
        where: the text after the name in the error about an unknown name.
        hint: the advice in the error about a name that is taken.
    """

    def __init__(
        self,
        noun: str,
        *,
        error: type[Error] = RegistrationError,
        own: Mapping[str, str] = _NOTHING,
        group: str = "",
        where: str = "",
        hint: str = "",
    ) -> None:
        self.noun, self.own, self.group = noun, own, group
        self._error, self._where, self._hint = error, where, hint
        self._definitions: dict[str, Definition] = {}
        self._offered: EntryPoints | None = None
        _ALL.add(self)

    def __getitem__(self, name: str) -> Definition:
        return self._definitions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._definitions)

    def __len__(self) -> int:
        return len(self._definitions)

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def add(self, name: str, definition: Definition) -> None:
        """Register a definition; does nothing if the same object is already registered by this name.

        Raises:
            Error: the name has another owner.
        """
        if self._definitions.get(name) is definition:
            return
        if owner := self.owner(name, definition):
            who = f"{self.noun} {name!r} at {definition.origin}"
            raise self._error(f"{who}: expected a new name, got one that {owner} owns{self._hint}")
        self._definitions[name] = definition

    def owner(self, name: str, definition: Definition) -> str:  # noqa: ARG002  (subclasses look at it)
        """The owner of a name that `definition` would take; empty if the name is free."""
        if name in self.own:
            return "passpilot itself"
        taken = self.get(name)
        return f"the {self.noun} at {taken.origin}" if taken else ""

    def unregister(self, name: str) -> None:
        """Remove a definition, so that its name is free again; for notebooks and tests.

        Raises:
            Error: nothing is registered by this name.
        """
        if self._definitions.pop(name, None) is None:
            who = f"{self.noun} {name!r}{self._where}"
            raise self._error(f"{who}: expected a registered {self.noun}, got none of this name")

    def names(self) -> list[str]:
        """The names of all definitions, also those of packages that are not imported."""
        return sorted({*self.own, *self, *self.offered().names})

    def added(self) -> set[str]:
        """The registered names that are not passpilot's own."""
        return self._definitions.keys() - self.own.keys()

    def offered(self) -> EntryPoints:
        """The definitions that are imported on demand: passpilot's own, then those of other packages."""
        if self._offered is None:
            from importlib.metadata import EntryPoint, EntryPoints, entry_points  # few compilations need it

            ours = (EntryPoint(name, place, self.group) for name, place in self.own.items())
            theirs = entry_points(group=self.group) if self.group else ()
            self._offered = EntryPoints((*ours, *theirs))
        return self._offered

    def entry(self, name: str) -> EntryPoint | None:
        """The entry point of this name, or None.

        Raises:
            Error: several packages offer the name.
        """
        found = {entry.value: entry for entry in self.offered().select(name=name)}
        if len(found) > 1:
            who = f"{self.noun} {name!r} of entry point {' and '.join(found)}"
            raise self._error(f"{who}: expected one distribution that has the name, got {len(found)}")
        return next(iter(found.values()), None)

    def imported(self, entry: EntryPoint) -> object:
        """Import the object of an entry point.

        Raises:
            Error: the import fails.
        """
        try:
            return entry.load()
        except Error:
            raise
        except Exception as error:
            who = f"{self.noun} {entry.name!r} of entry point {entry.value}"
            raise self._error(f"{who}: expected it to be imported, got {headline(error)}") from error

    def import_own(self, name: str) -> object:
        """Import one of passpilot's own definitions, without scanning other packages."""
        module, _, attribute = self.own[name].partition(":")
        owner = import_module(module)
        return getattr(owner, attribute) if attribute else owner

    def restore(self, definitions: Mapping[str, Definition]) -> None:
        """Register exactly these definitions, and scan entry points again when they are needed.

        passpilot's own imported definitions stay, because a second import would not register them again.
        """
        kept = {name: definition for name, definition in self.items() if name in self.own}
        self._definitions = {**definitions, **kept}
        self._offered = None


_ALL: Final[WeakSet[Registry[Any]]] = WeakSet()

State: TypeAlias = "dict[Registry[Any], dict[str, Defined]]"


def snapshot() -> State:
    """The definitions of all registries now."""
    return {registry: dict(registry) for registry in _ALL}


def restore(state: State) -> None:
    """Undo every registration and removal since `snapshot`; for tests."""
    for registry in list(_ALL):
        registry.restore(state.get(registry, {}))
