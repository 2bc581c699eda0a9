# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints: arrays and a table of JSON in one file, which appears whole or not at all."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from passpilot.plugin.errors import InputError
from passpilot.plugin.files import read_regular, write_file
from passpilot.plugin.json_and_toml import parse_json

_FACTS: Final = "facts"
FORMAT: Final = 2
_DAMAGED: Final = (EOFError, ValueError, LookupError, TypeError, AttributeError, RuntimeError, MemoryError,
                   SyntaxError, zipfile.BadZipFile)  # fmt: skip
"""What numpy and its reader of zip files raise."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A state of training.

    Attributes:
        key: what the training depends on; another one must not go on from here.
        facts: values that JSON can hold.
        arrays: arrays by name.
    """

    key: str
    facts: Mapping[str, Any]
    arrays: Mapping[str, NDArray[np.generic]]

    def write(self, path: str) -> None:
        """Write the file.

        Raises:
            InputError: it cannot be written.
        """
        file = io.BytesIO()
        text = json.dumps({"format": FORMAT, "key": self.key, "facts": self.facts}).encode()
        np.savez(file, allow_pickle=False, **{_FACTS: np.frombuffer(text, np.uint8), **self.arrays})
        write_file(path, file.getvalue())

    @classmethod
    def read(cls, path: str, key: str) -> Checkpoint:
        """The checkpoint in a file.

        Raises:
            InputError: the file is none, or is of other settings or data.
        """
        try:
            with np.load(io.BytesIO(read_regular(path)), allow_pickle=False) as file:
                if any(row.compress_type for row in file.zip.infolist()):  # they could swell
                    raise ValueError("compressed arrays")
                arrays = {name: file[name] for name in file.files}
            value: Any = parse_json(arrays.pop(_FACTS).tobytes(), path, "a checkpoint")
            found = str(value["key"]) if value["format"] == FORMAT else ""
            facts = dict(value["facts"])
        except OSError as error:
            raise InputError(f"{path}: expected a checkpoint, got: {error.strerror}") from error
        except _DAMAGED as error:
            raise InputError(f"{path}: expected a checkpoint, got another file") from error
        if found != key:
            raise InputError(
                f"{path}: expected a checkpoint of the same settings and data, got another one; "
                "train without --resume, or into another folder"
            )
        return cls(found, facts, arrays)


def prefixed(prefix: str, arrays: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.generic]]:
    return {f"{prefix}{name}": value for name, value in arrays.items()}


def without_prefix(prefix: str, arrays: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.generic]]:
    """The arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
