# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Protocols of the objects of MLIR's Python bindings that passpilot uses, for type checkers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, MutableMapping, Sequence
from typing import Any, Literal, Protocol


class Attribute(Protocol):
    @property
    def value_bytes(self) -> bytes: ...


class Location(Protocol):
    def emit_error(self, message: str) -> None: ...


class Value(Protocol):
    """A result of an operation, or an argument of a block."""

    @property
    def owner(self) -> object: ...

    @property
    def type(self) -> object: ...

    @property
    def uses(self) -> Collection[Any]: ...


class Block(Protocol):
    @property
    def arguments(self) -> Sequence[Value]: ...

    @property
    def operations(self) -> Collection[Operation]: ...


class Region(Protocol):
    @property
    def blocks(self) -> Sequence[Block]: ...

    def __iter__(self) -> Iterator[Block]: ...


class Operation(Protocol):
    @property
    def _CAPIPtr(self) -> object: ...  # noqa: N802

    @property
    def name(self) -> str: ...

    @property
    def operation(self) -> Operation:
        """The same operation without its dialect's class; some of these classes define another `name`."""

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
    def context(self) -> object: ...

    def clone(self, *, ip: Literal[False]) -> Operation: ...

    def erase(self) -> None: ...

    def verify(self) -> bool: ...

    def walk(self, callback: Callable[[Operation], object], order: object) -> None: ...
