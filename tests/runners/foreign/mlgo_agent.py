# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An agent of MLGO's protocol without passpilot, blocking as usual; can show faults.

python mlgo_agent.py BASE RECORD HOW SIZE

All that the compiler says goes to the file RECORD. HOW is `default`, which answers with the last feature,
`first`, which answers 1 or the first column that the mask allows, `minus`, which answers -1, or a fault after
one such answer.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from typing import BinaryIO

CODES = {"int64_t": "q", "float": "f", "double": "d"}


def advice_of(how: str, specs: list[dict[str, object]], tensors: bytes) -> float:
    if how == "default":
        return int(struct.unpack("q", tensors[-8:])[0])
    if specs[0]["name"] == "mask":
        return struct.unpack("33q", tensors[: 33 * 8]).index(1)
    return -1 if how == "minus" else 1


def serve(reader: BinaryIO, writer: BinaryIO, record: BinaryIO, how: str, size: int) -> None:
    def line() -> bytes:
        text = reader.readline()
        record.write(text)
        return text

    header = json.loads(line())
    code = CODES[header["advice"]["type"]]
    total = 0
    for spec in header["features"]:
        elements = 1
        for extent in spec["shape"]:
            elements *= extent
        total += elements * struct.calcsize(CODES[spec["type"]])
    asked = 0
    while text := line():
        if "context" in json.loads(text):
            continue
        tensors = reader.read(total + 1)
        record.write(tensors)
        answer = struct.pack(code, advice_of(how, header["features"], tensors[:-1]))
        asked += 1
        if how in ("default", "first", "minus") or asked == 1:
            writer.write(answer)
        elif how == "dies":
            writer.write(answer[:size])
            return
        elif how == "stalls":
            writer.write(answer[:size])
            sys.stdin.read()
        elif how == "surplus":
            writer.write(answer + bytes(size))
            sys.stdin.read()


def main(base: str, path: str, how: str, size: int) -> None:
    for end in ("in", "out"):
        os.mkfifo(f"{base}.{end}")
    print("ready", flush=True)
    if how == "never opens":
        sys.stdin.read()
    with open(f"{base}.in", "wb", buffering=0) as writer:
        if how == "dies while opening":
            return
        with open(f"{base}.out", "rb") as reader, open(path, "wb") as record:
            serve(reader, writer, record, how, size)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
