# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Settings of trainers: TOML that is read into dataclasses, and dataclasses as TOML."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from passpilot.plugin import _core
from passpilot.plugin.errors import InputError, SpecMismatchError, restated
from passpilot.plugin.json_and_toml import read_toml, typed_record

LEVELS = ("default", "lto", "lto-pre-link", "thinlto", "thinlto-pre-link", "fatlto-pre-link")
"""The whole pipelines that settings may name beside the passes of decision files."""

Settings = TypeVar("Settings")


def settings_from(source: str | Mapping[str, object], kind: type[Settings]) -> tuple[Settings, str]:
    """The settings in a TOML file, or in a mapping of the same keys, and the folder of their relative paths.

    Raises:
        InputError: the file cannot be read, or there is an unknown key or a wrong value.
    """
    if isinstance(source, Mapping):
        return typed_record(source, kind, "settings", strict=True), ""
    return read_settings(source, kind), os.path.dirname(os.path.abspath(source))


@contextmanager
def features_of(source: str | Mapping[str, object]) -> Iterator[None]:
    """Name the file of settings in an error about features that a point does not offer."""
    try:
        yield
    except SpecMismatchError as error:
        where = "settings" if isinstance(source, Mapping) else source
        raise restated(error, f"{where}: features: {error}") from error


def read_settings(path: str, kind: type[Settings]) -> Settings:
    """The settings in a TOML file.

    Raises:
        InputError: the file cannot be read, or has an unknown key or a wrong value.
    """
    table = read_toml(path)
    settings = typed_record(table, kind, path, strict=True)
    pipeline = table.get("pipeline", "")
    if others := [name for name in _core.other_passes(pipeline) if name not in LEVELS]:
        raise InputError(f"{path}: pipeline: expected {_core.EXPECTED_PASS}, got {others[0]!r:.80}")
    return settings


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
