# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The readers of studies and of the cache of compilations, with the seeds of their inputs."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final, cast

from passpilot.plugin.errors import InputError
from passpilot.training.studies.compile_cache import CompileCache, _sum
from passpilot.training.studies.study_file import KeptStudy, KeptTrial, StudyFile, _line, _operations
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.unit import Unit, UnitChoice

KEY: Final = "ab" * 32
KEPT: Final = {"asked": [["a", "b", 1, True, False, 2]], "inline": [["a", "b", 1, True]],
               "seconds": 1.5, "parts": {}}  # fmt: skip
TRIAL: Final = KeptTrial(12.0, {"lever": "inline", "calls": 3, "sigma": 0.5}, {"decisions": "text"}, "2026")
STUDY: Final = KeptStudy(
    "a.bc allocated 12", 1, {"kind": "tune", "space": {"lever": ["inline"]}}, {"run": ""}
)


def kept(data: bytes, folder: Path) -> None:
    """Reads what a search has kept, as if the hash were right."""
    cache = CompileCache(str(folder))
    cache.keep(KEY, data)
    if Engine(cast("list[Unit]", [Unit]), cache=cache)._known(KEY, 0, UnitChoice()) is None:
        raise InputError("none")


def cached(data: bytes, folder: Path) -> None:
    """Reads the cache of compilations."""
    (folder / KEY[:2]).mkdir(exist_ok=True)
    (folder / KEY[:2] / KEY).write_bytes(data)
    if CompileCache(str(folder)).find(KEY) is None:
        raise InputError("none")


def study(data: bytes, folder: Path) -> None:
    """Reads a study."""
    (folder / "s").write_bytes(data)
    StudyFile(str(folder / "s")).read()


def study_seed() -> bytes:
    STUDY.trials[TRIAL.key(STUDY.name)] = TRIAL
    return b"".join(map(_line, _operations(0, STUDY)))


def packed(value: object, behind: bytes) -> bytes:
    """What a search keeps."""
    text = json.dumps(value).encode()
    return len(text).to_bytes(8, "little") + text + behind


_PACKED: Final = zlib.compress(b"object", 1)

STUDIES: Final[dict[str, tuple[bytes, Callable[[bytes, Path], None]]]] = {
    "kept by a search": (packed(KEPT, b"object"), kept),
    "cache of compilations": (_sum(KEY, _PACKED) + _PACKED, cached),
    "study": (study_seed(), study),
}
"""A seed, which the reader takes, and the reader."""
