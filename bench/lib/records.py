# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The records of measurements, in bench/results: what pages and bars read, and where long ones go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
RESULTS: Final = ROOT / "bench/results"


def read(name: str, default: Any = None) -> Any:
    path = RESULTS / name
    return json.loads(path.read_text()) if path.exists() or default is None else default


def write(name: str, record: object) -> None:
    path = RESULTS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n")
