# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads JSON and TOML that anybody may have written, and their values into frozen dataclasses.

All readers of passpilot use it, so that all have the same bounds: integers have at most 64 bits, numbers
of JSON are finite, arrays and objects nest 64 times, and texts can be written as UTF-8; bytes of file names
that are no UTF-8 stay (surrogateescape).

The fields of a dataclass are the known keys. A field's type may be a string, a number, a boolean, another
dataclass, an array (`tuple[X, ...]`), an object (`Mapping[str, X]`), or `X | None`. Its metadata may have
``low`` and ``high``, the limits of numbers, ``most``, the limit of an array's elements, ``choices``, and
``key``, if the key has another name.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import reprlib
from collections.abc import Callable, Mapping
from functools import cache
from types import UnionType
from typing import (
    Any,
    Final,
    NoReturn,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from passpilot.plugin.errors import Error, InputError
from passpilot.plugin.failures import did_you_mean
from passpilot.plugin.files import MOST_BYTES, MOST_TEXT, read_regular

T = TypeVar("T")

_KINDS = {str: "a string", bool: "true or false", int: "an integer", float: "a number"}
_LARGEST: Final = 1 << 64
_DEEPEST: Final = 64
_SUSPECT: Final = re.compile(r"\\u[dD][89abAB]|[0-9]{20}")
"""What JSON has if a text or an integer in it is out of bounds."""
_MOST_JSON: Final = 512 << 20
_WORDS: Final = (
    r"""(?s)\"{3}(?:\\.|[^\\])*?(?:\"{3}|\\?\Z)|'{3}.*?(?:'{3}|\Z)"""
    r"""|"(?:\\.|[^"\\\n])*+"?|'[^'\n]*+'?|#[^\n]*+"""
)
"""The strings and comments of TOML, up to the first that is wrong."""
_DEEP_KEY: Final = rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{_DEEPEST}}}"
"""A key of too many parts, for which Python's reader takes time by the square of their number."""


def parse_json(
    data: bytes | str, where: str, expected: str = "JSON", kind: type[Error] = InputError
) -> object:
    """The value that JSON writes; `where` begins errors, which are of this kind and say what was expected.

    Raises:
        Error: it is not JSON, or has a number or a text that is out of bounds.
    """
    return _parsed(data, _json_value, f"{where}: expected {expected}", kind)


def parse_toml(data: bytes | str, where: str) -> dict[str, Any]:
    """The table that TOML writes; `where` begins errors.

    Raises:
        InputError: it is not TOML, or has a number that is out of bounds.
    """
    return cast("dict[str, Any]", _parsed(data, _toml_value, f"{where}: expected TOML", InputError))


def read_json(path: str | os.PathLike[str], expected: str = "a JSON file") -> object:
    """The value in a JSON file of up to 512 MiB.

    Raises:
        InputError: the file cannot be read, or is not JSON.
    """
    return parse_json(read_input(path, expected, _MOST_JSON), str(path), expected)


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The table in a TOML file.

    Raises:
        InputError: the file cannot be read, or is not TOML.
    """
    return parse_toml(read_input(path, "a TOML file", MOST_TEXT), str(path))


def read_input(path: str | os.PathLike[str], expected: str, most: int = MOST_BYTES) -> bytes:
    """The contents of a regular file of up to `most` bytes.

    Raises:
        InputError: the file cannot be read; says what was expected.
    """
    try:
        return read_regular(path, most)
    except OSError as error:
        raise InputError(f"{path}: expected {expected}, got: {error.strerror}") from error


def _parsed(data: bytes | str, parse: Callable[[str], object], what: str, kind: type[Error]) -> object:
    try:
        return parse(data if isinstance(data, str) else data.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError, OverflowError) as error:
        got = (
            f"nesting of more than {_DEEPEST} levels"
            if isinstance(error, RecursionError)
            else str(error).partition("\n")[0]
        )
        is_none = got.endswith("(char 0)") or not data  # not even its beginning is JSON
        is_binary = isinstance(data, bytes) and b"\0" in data
        text = "an empty file" if not data else "binary data" if is_binary else "other text"
        raise kind(f"{what}, got {text}" if is_none else f"{what}, got {text}: {got}") from error


def _json_value(text: str) -> object:
    value: object = _JSON.decode(text)
    if text.count("[") + text.count("{") > _DEEPEST or _SUSPECT.search(text):
        _check_values(value)
    return value


def _toml_value(text: str) -> dict[str, Any]:
    import tomllib  # commands that start fast need none

    if re.search(_DEEP_KEY, re.sub(_WORDS, "k", text)):
        raise RecursionError
    value = tomllib.loads(text)
    _check_values(value)
    return value


def _check_values(value: object) -> None:
    """Check the nesting of a value, its integers and its texts."""
    rest = [(value, 1)]
    while rest:
        item, depth = rest.pop()
        if isinstance(item, (dict, list)) and depth > _DEEPEST:
            raise RecursionError
        if isinstance(item, dict):
            rest += ((part, depth + 1) for part in (*item, *item.values()))
        elif isinstance(item, list):
            rest += ((part, depth + 1) for part in item)
        elif isinstance(item, int) and abs(item) > _LARGEST:
            raise ValueError("an integer of more than 64 bits")
        elif isinstance(item, str):
            item.encode("utf-8", "surrogateescape")


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def _finite(text: str) -> float:
    """A number; JSON can have one that no float holds."""
    return value if math.isfinite(value := float(text)) else _refused(text)


_JSON: Final = json.JSONDecoder(parse_constant=_refused, parse_float=_finite)


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
    hints, values = _hints(cast("Any", kind)), dict[str, Any]()
    for key, field in fields.items():
        if value.get(key) is not None:
            place = f"{where}: {key}"
            values[field.name] = _typed(value[key], hints[field.name], field.metadata, place, strict)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise InputError(f"{where}: expected {key}, got none")
    return kind(**values)


_hints = cache(get_type_hints)


def check_typed_dict(value: object, kind: Any, where: str) -> None:
    """Check that a value is a `TypedDict`, or an array, object or value of a kind that its fields may have.

    Raises:
        InputError: a member is missing or has another type.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):  # X | None
        if value is not None:
            check_typed_dict(value, arguments[0], where)
    elif is_typeddict(kind):
        for key, item in _hints(kind).items():
            if not isinstance(value, dict) or key not in value:
                raise _wrong(where, f"an object with {key}", value)
            check_typed_dict(value[key], item, f"{where}: {key}")
    elif origin in (list, dict):
        if not isinstance(value, origin):
            raise _wrong(where, "an array" if origin is list else "an object", value)
        for item in value.values() if isinstance(value, dict) else value:
            check_typed_dict(item, arguments[-1], where)
    else:
        _single(value, kind, {}, where)


def _typed(value: object, kind: Any, limits: Mapping[str, Any], where: str, strict: bool) -> object:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):  # X | None
        kind, origin = arguments[0], None
    if dataclasses.is_dataclass(kind):
        return typed_record(value, kind, where, strict=strict)  # type: ignore[arg-type]
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise _wrong(where, "an array", value)
        if len(value) > (most := limits.get("most", math.inf)):
            raise InputError(f"{where}: expected at most {most} elements, got {len(value):,}")
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
        wrong = _wrong(where, f"one of {', '.join(choices)}", value)
        raise InputError(f"{wrong}{did_you_mean(str(value), choices)}")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        low, high = limits.get("low", -math.inf), limits.get("high", math.inf)
        if not low <= value <= high or not math.isfinite(value):
            raise _wrong(where, f"a number of {low:g} to {high:g}", value)
    return value


def _wrong(where: str, expected: str, value: object) -> InputError:
    return InputError(f"{where}: expected {expected}, got {reprlib.repr(value):.80}")
