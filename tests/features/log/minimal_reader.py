# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A log reader that asks of a file what the readers of LLVM and ml-compiler-opt ask of it, and nothing else.

Both take `features` and `score` from the header line; then each line is decoded, and looked up for `context`
first and `observation` second. In LLVM's an observation must follow a context line at once. Blocks are read
by their size, and the rest of the line after a block is dropped. An outcome must have the number of its
observation.

Source: llvm/lib/Analysis/models/log_reader.py and compiler_opt/rl/log_reader.py, read for their behaviour.
"""

import json
import math
import struct
from pathlib import Path
from typing import Any, BinaryIO

from tests.features.log.log_writer import CODES

Record = tuple[str | None, int, dict[str, list[float]], list[float] | None]


def read(path: Path) -> list[Record]:
    """A list of (context, number, values by name, score or None)."""
    found: list[Record] = []
    with path.open("rb") as file:
        head = json.loads(file.readline())
        context = None
        while text := file.readline():
            event = json.loads(text)
            if "context" in event:
                context = event["context"]
                event = json.loads(file.readline())
            number = int(event["observation"])
            values = {spec["name"]: _block(file, spec) for spec in head["features"]}
            file.readline()
            found.append((context, number, values, _score(file, head, number)))
    return found


def _score(file: BinaryIO, head: dict[str, Any], number: int) -> list[float] | None:
    if "score" not in head:
        return None
    assert int(json.loads(file.readline())["outcome"]) == number
    value = _block(file, head["score"])
    file.readline()
    return value


def _block(file: BinaryIO, spec: dict[str, Any]) -> list[float]:
    count = math.prod(int(n) for n in spec["shape"])
    layout = f"={count}{CODES[spec['type']]}"
    return list(struct.unpack(layout, file.read(struct.calcsize(layout))))
