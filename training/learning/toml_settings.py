# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads a TOML file into frozen dataclasses: their fields are the known keys, with types and defaults.

A field's metadata may have ``low`` and ``high``, the limits of a number or of the numbers in an array, or
``choices``.
"""

from __future__ import annotations

import dataclasses
import math
import os
import tomllib
from collections.abc import Mapping
from typing import TypeVar, cast, get_type_hints

from passpilot.plugin.errors import InputError
from passpilot.plugin.failures import did_you_mean
from passpilot.plugin.files import read_regular

Settings = TypeVar("Settings")

_KINDS = {str: "a string", bool: "true or false", int: "an integer", float: "a number"}
_ITEMS = {tuple[str, ...]: str, tuple[int, ...]: int}


def settings_from(source: str | Mapping[str, object], kind: type[Settings]) -> tuple[Settings, str]:
    """The settings in a TOML file, or in a mapping of the same keys, and the folder of their relative paths.

    Raises:
        InputError: the file cannot be read, or there is an unknown key or a wrong value.
    """
    if isinstance(source, Mapping):
        return settings_of(source, kind, "settings"), ""
    return read_settings(source, kind), os.path.dirname(os.path.abspath(source))


def read_settings(path: str, kind: type[Settings]) -> Settings:
    """The settings in a TOML file.

    Raises:
        InputError: the file cannot be read, or has an unknown key or a wrong value.
    """
    try:
        value = tomllib.loads(read_regular(path).decode())
    except OSError as error:
        raise InputError(f"{path}: expected a TOML file, got: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: expected TOML, got other text: {error}") from error
    return settings_of(value, kind, path)


def settings_of(value: Mapping[str, object], kind: type[Settings], where: str) -> Settings:
    """The settings in a table of TOML; missing keys have their defaults.

    Raises:
        InputError: an unknown key or a wrong value.
    """
    hints = get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for key in value:
        if key not in fields:
            hint = did_you_mean(key, fields)
            raise InputError(f"{where}: expected keys among {', '.join(fields)}, got {key!r}{hint}")
    made: dict[str, object] = {}
    for name, field in fields.items():
        if name in value:
            made[name] = _checked(value[name], hints[name], field.metadata, f"{where}: {name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise InputError(f"{where}: expected {name}, got none")
    return kind(**made)


def _checked(value: object, kind: object, limits: Mapping[str, object], where: str) -> object:
    if dataclasses.is_dataclass(kind):
        if not isinstance(value, Mapping):
            raise InputError(f"{where}: expected a table, got {value!r}")
        return settings_of(value, cast("type[object]", kind), where)
    item = _ITEMS.get(kind)  # type: ignore[call-overload]
    if item is None:
        return _single(value, cast("type[object]", kind), limits, where)
    if not isinstance(value, (list, tuple)):
        raise InputError(f"{where}: expected an array, got {value!r}")
    return tuple(_single(element, item, limits, where) for element in value)


def _single(value: object, kind: type[object], limits: Mapping[str, object], where: str) -> object:
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        raise InputError(f"{where}: expected {_KINDS[kind]}, got {value!r}")
    choices = cast("tuple[str, ...]", limits.get("choices", ()))
    if choices and value not in choices:
        raise InputError(f"{where}: expected one of {', '.join(choices)}, got {value!r}")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        low, high = cast("float", limits.get("low", -math.inf)), cast("float", limits.get("high", math.inf))
        if not low <= value <= high or not math.isfinite(value):
            raise InputError(f"{where}: expected a number of {low:g} to {high:g}, got {value}")
    return value


def toml_text(settings: object) -> str:
    """The settings as TOML with all keys, from which the same settings are read."""
    lines: list[str] = []
    tables: list[str] = []
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]
        value = getattr(settings, field.name)
        if dataclasses.is_dataclass(value):
            tables += ["", f"[{field.name}]", toml_text(value).rstrip()]
        else:
            lines.append(f"{field.name} = {_toml(value)}")
    return "\n".join((*lines, *tables)) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return repr(value)
