# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the values of JSON and TOML files into frozen dataclasses, whose fields are the known keys.

A field's type may be a string, a number, a boolean, another dataclass, an array (`tuple[X, ...]`), an object
(`Mapping[str, X]`), or `X | None`. Its metadata may have ``low`` and ``high``, the limits of numbers,
``choices``, and ``key``, if the key has another name.
"""

from __future__ import annotations

import dataclasses
import json
import math
import tomllib
from collections.abc import Callable, Mapping
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from passpilot.plugin.errors import InputError
from passpilot.plugin.failures import did_you_mean
from passpilot.plugin.files import read_regular

if TYPE_CHECKING:
    import os

T = TypeVar("T")

_KINDS = {str: "a string", bool: "true or false", int: "an integer", float: "a number"}


def read_json(path: str | os.PathLike[str]) -> object:
    """The value in a JSON file.

    Raises:
        InputError: the file cannot be read, or is not JSON.
    """
    return _parsed(path, "JSON", json.loads)


def read_toml(path: str | os.PathLike[str]) -> object:
    """The table in a TOML file.

    Raises:
        InputError: the file cannot be read, or is not TOML.
    """
    return _parsed(path, "TOML", tomllib.loads)


def _parsed(path: str | os.PathLike[str], language: str, parse: Callable[[str], object]) -> object:
    try:
        return parse(read_regular(path).decode())
    except OSError as error:
        raise InputError(f"{path}: expected a {language} file, got: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        text = str(error).partition("\n")[0] or type(error).__name__
        raise InputError(f"{path}: expected {language}, got other text: {text}") from error


def typed_record(value: object, kind: type[T], where: str, *, strict: bool = False) -> T:
    """The dataclass `kind` of an object; missing keys have their defaults. `where` begins errors.

    Other keys are ignored, unless it is `strict`.

    Raises:
        InputError: a value is missing or has another type, or a key is unknown.
    """
    if not isinstance(value, Mapping):
        raise _wrong(where, "a table" if strict else "a JSON object", value)
    fields = {field.metadata.get("key", field.name): field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    if strict and (unknown := [key for key in value if key not in fields]):
        hint = did_you_mean(unknown[0], fields)
        raise InputError(f"{where}: expected keys among {', '.join(fields)}, got {unknown[0]!r}{hint}")
    hints, values = get_type_hints(kind), dict[str, Any]()
    for key, field in fields.items():
        if value.get(key) is not None:
            place = f"{where}: {key}"
            values[field.name] = _typed(value[key], hints[field.name], field.metadata, place, strict)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise InputError(f"{where}: expected {key}, got none")
    return kind(**values)


def _typed(value: object, kind: Any, limits: Mapping[str, Any], where: str, strict: bool) -> object:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):  # X | None
        kind, origin = arguments[0], None
    if dataclasses.is_dataclass(kind):
        return typed_record(value, kind, where, strict=strict)  # type: ignore[arg-type]
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise _wrong(where, "an array", value)
        item = arguments[0]
        places = (f"{where}[{n}]" if dataclasses.is_dataclass(item) else where for n in range(len(value)))
        pairs = zip(value, places, strict=True)
        return tuple(_typed(element, item, limits, place, strict) for element, place in pairs)
    if origin is Mapping:
        if not isinstance(value, Mapping):
            raise _wrong(where, "an object", value)
        item = arguments[1]
        return {key: _typed(member, item, limits, f"{where}: {key}", strict) for key, member in value.items()}
    return _single(value, kind, limits, where)


def _single(value: object, kind: type[object], limits: Mapping[str, Any], where: str) -> object:
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        raise _wrong(where, _KINDS[kind], value)
    choices = limits.get("choices", ())
    if choices and value not in choices:
        raise _wrong(where, f"one of {', '.join(choices)}", value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        low, high = limits.get("low", -math.inf), limits.get("high", math.inf)
        if not low <= value <= high or not math.isfinite(value):
            raise _wrong(where, f"a number of {low:g} to {high:g}", value)
    return value


def _wrong(where: str, expected: str, value: object) -> InputError:
    return InputError(f"{where}: expected {expected}, got {value!r:.80}")
