# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Settings of trainers: TOML that is read into dataclasses, and dataclasses as TOML."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from typing import TypeVar

from passpilot.plugin.records import read_toml, typed_record

Settings = TypeVar("Settings")


def settings_from(source: str | Mapping[str, object], kind: type[Settings]) -> tuple[Settings, str]:
    """The settings in a TOML file, or in a mapping of the same keys, and the folder of their relative paths.

    Raises:
        InputError: the file cannot be read, or there is an unknown key or a wrong value.
    """
    if isinstance(source, Mapping):
        return typed_record(source, kind, "settings", strict=True), ""
    return read_settings(source, kind), os.path.dirname(os.path.abspath(source))


def read_settings(path: str, kind: type[Settings]) -> Settings:
    """The settings in a TOML file.

    Raises:
        InputError: the file cannot be read, or has an unknown key or a wrong value.
    """
    return typed_record(read_toml(path), kind, path, strict=True)


def toml_text(settings: object) -> str:
    """The settings as TOML with all keys, from which the same settings are read."""
    lines: list[str] = []
    tables: list[str] = []
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]
        value = getattr(settings, field.name)
        if dataclasses.is_dataclass(value):
            tables += ["", f"[{field.name}]", toml_text(value).rstrip()]
        else:
            lines.append(f"{field.name} = {json.dumps(value, ensure_ascii=False)}")
    return "\n".join((*lines, *tables)) + "\n"
