# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A reference writer of decision logs, ours and LLVM's, for tests; it shares nothing with the reader."""

import json
import struct
from collections.abc import Iterable, Mapping, Sequence

Row = Mapping[str, object]
Value = float | list[float] | list[int]

CODES = {
    "float": "f",
    "double": "d",
    "int8_t": "b",
    "uint8_t": "B",
    "int16_t": "h",
    "uint16_t": "H",
    "int32_t": "i",
    "uint32_t": "I",
    "int64_t": "q",
    "uint64_t": "Q",
}


def row(name: str, llvm: str = "int64_t", shape: Sequence[int] = (1,)) -> Row:
    """One tensor of a header."""
    return {"name": name, "type": llvm, "port": 0, "shape": list(shape)}


def line(**fields: object) -> bytes:
    """One line of JSON, without spaces as LLVM writes it."""
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def header(rows: Sequence[Row], score: Row | None = None) -> bytes:
    return line(features=rows, score=score) if score else line(features=rows)


def packed(rows: Sequence[Row], values: Sequence[Value]) -> bytes:
    """The raw bytes of one observation; each value is a number or a flat list."""
    lists = [value if isinstance(value, list) else [value] for value in values]
    parts = [struct.pack(f"={len(v)}{CODES[str(r['type'])]}", *v) for r, v in zip(rows, lists, strict=True)]
    return b"".join(parts)


def observation(rows: Sequence[Row], number: int, values: Sequence[Value], **place: object) -> bytes:
    return line(observation=number, **place) + packed(rows, values) + b"\n"


def outcome(score: Row, number: int, value: Value) -> bytes:
    return line(outcome=number) + packed([score], [value]) + b"\n"


def inline_log(decisions: Iterable[tuple[int, int, int, Mapping[str, str]]]) -> bytes:
    """A log as the core writes it, with one feature; `decisions` are (users, default, advice, place)."""
    rows = [row("callee_users"), row("inlining_default"), row("inlining_decision")]
    parts = [header(rows), line(context="")]
    for number, (users, default, advice, place) in enumerate(decisions):
        parts.append(observation(rows, number, [users, default, advice], **place))
    return b"".join(parts)
