# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What passpilot uses of the objects of MLIR's Python bindings, for type checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, MutableMapping, Sequence


class Attribute(Protocol):
    """An attribute; `value` is there in those that have one."""

    @property
    def value(self) -> str: ...


class Location(Protocol):
    """Where in the source an operation comes from."""

    def emit_error(self, message: str) -> None: ...


class Use(Protocol):
    """Where a value is an operand."""

    @property
    def owner(self) -> object: ...


class Value(Protocol):
    """A result of an operation, or an argument of a block."""

    @property
    def owner(self) -> object: ...

    @property
    def type(self) -> object: ...

    @property
    def uses(self) -> Iterable[Use]: ...

    def replace_all_uses_with(self, other: Value) -> None: ...


class Block(Protocol):
    """Operations that run one after the other."""

    @property
    def _CAPIPtr(self) -> object: ...  # noqa: N802

    @property
    def arguments(self) -> Sequence[Value]: ...

    @property
    def operations(self) -> Collection[Operation]: ...

    @property
    def region(self) -> Region: ...

    def append(self, operation: Operation) -> None: ...

    def append_to(self, region: Region) -> None: ...

    def create_after(self, *types: object, arg_locs: Sequence[Location]) -> Block: ...


class Region(Protocol):
    """Blocks."""

    @property
    def blocks(self) -> Sequence[Block]: ...

    def __iter__(self) -> Iterator[Block]: ...


class Context(Protocol):
    """What operations live in."""

    def is_registered_operation(self, name: str) -> bool: ...


class Operation(Protocol):
    """An operation."""

    @property
    def _CAPIPtr(self) -> object: ...  # noqa: N802

    @property
    def name(self) -> str: ...

    @property
    def operation(self) -> Operation:
        """Itself, without the class of its dialect, which has a `name` of its own in some."""

    @property
    def attributes(self) -> MutableMapping[str, Attribute]: ...

    @property
    def operands(self) -> Sequence[Value]: ...

    @property
    def results(self) -> Sequence[Value]: ...

    @property
    def regions(self) -> Sequence[Region]: ...

    @property
    def parent(self) -> Operation | None: ...

    @property
    def block(self) -> Block: ...

    @property
    def location(self) -> Location: ...

    @property
    def context(self) -> Context: ...

    def clone(self, *, ip: Literal[False]) -> Operation: ...

    def erase(self) -> None: ...

    def detach_from_parent(self) -> Operation: ...

    def verify(self) -> bool: ...

    def walk(self, callback: Callable[[Operation], object], order: object) -> None: ...


class PassManager(Protocol):
    """Passes in their order."""

    def enable_verifier(self, enable: bool) -> None: ...

    def run(self, operation: Operation) -> None: ...
