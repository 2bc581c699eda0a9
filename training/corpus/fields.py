# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`JsonFields`: reads the members of a JSON object and says which one is wrong."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, cast

from passpilot.plugin.errors import InputError
from passpilot.plugin.files import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator


def read_json(path: str | os.PathLike[str]) -> object:
    """The value in a JSON file.

    Raises:
        InputError: the file cannot be read, or is not JSON.
    """
    name = os.fspath(path)
    try:
        return cast("object", json.loads(read_regular(name)))
    except OSError as error:
        raise InputError(f"{name}: expected a JSON file, got: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        text = str(error).partition("\n")[0] or type(error).__name__
        raise InputError(f"{name}: expected JSON, got other text: {text}") from error


class JsonFields:
    """A JSON object; the methods return its members by name, and check their types.

    Raises:
        InputError: the value is not an object.
    """

    def __init__(self, value: object, where: str) -> None:
        self._where = where
        if not isinstance(value, dict):
            raise InputError(f"{where}: expected a JSON object, got {_kind(value)}")
        self._value = cast("dict[str, object]", value)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> JsonFields:
        """The object in a JSON file.

        Raises:
            InputError: the file cannot be read, or has no JSON object.
        """
        return cls(read_json(path), os.fspath(path))

    def __contains__(self, name: str) -> bool:
        return self._value.get(name) is not None

    def wrong(self, name: str, expected: str) -> InputError:
        """The error for a member."""
        return InputError(f"{self._where}: {name}: expected {expected}, got {_kind(self._value.get(name))}")

    def member(self, name: str) -> JsonFields:
        """The object that a member is."""
        return JsonFields(self._value.get(name), f"{self._where}: {name}")

    def text(self, name: str, default: str | None = None) -> str:
        """A string; required if there is no default."""
        value = self._value.get(name, default)
        if not isinstance(value, str):
            raise self.wrong(name, "a string")
        return value

    def number(self, name: str) -> int:
        """An integer."""
        value = self._value.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong(name, "an integer")
        return value

    def flag(self, name: str) -> bool:
        """A boolean; false if it is missing."""
        value = self._value.get(name, False)
        if not isinstance(value, bool):
            raise self.wrong(name, "true or false")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """An array of strings; empty if it is missing."""
        return _texts(self._value.get(name, []), lambda: self.wrong(name, "an array of strings"))

    def nested_texts(self, name: str) -> tuple[tuple[str, ...], ...]:
        """An array of arrays of strings; empty if it is missing."""
        value = self._value.get(name, [])
        if not isinstance(value, list):
            raise self.wrong(name, "an array of arrays")
        return tuple(_texts(each, lambda: self.wrong(name, "arrays of strings")) for each in value)

    def objects(self, name: str) -> Iterator[JsonFields]:
        """The objects of an array; none if it is missing."""
        value = self._value.get(name, [])
        if not isinstance(value, list):
            raise self.wrong(name, "an array")
        return (JsonFields(each, f"{self._where}: {name}[{number}]") for number, each in enumerate(value))

    def members(self, name: str) -> dict[str, JsonFields]:
        """The objects that the members of an object are, by name; none if it is missing."""
        value = self._value.get(name, {})
        if not isinstance(value, dict):
            raise self.wrong(name, "an object")
        return {key: JsonFields(each, f"{self._where}: {name}: {key}") for key, each in value.items()}

    def named_texts(self, name: str) -> dict[str, str]:
        """The strings that the members of an object are, by name; none if it is missing."""
        value = self._value.get(name, {})
        if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
            raise self.wrong(name, "an object of strings")
        return dict(value)


def _texts(value: object, error: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        assert callable(error)
        raise error()
    return tuple(value)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "nothing"}
    return names.get(type(value), "a number")
