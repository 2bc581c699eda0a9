# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""The messages between a compiler and a model server on one machine; this docstring defines them.

Numbers have the machine's byte order. A session is a handshake, then questions; the server answers a question
before the compiler sends the next.

    handshake   compiler  {"passpilot": 1, "point": NAME, "offered": [SPEC...], "advice": SPEC,
                           "serdes": FORMAT}\n
                server    {"inputs": [NAME...], "runner": TEXT}\n  or  {"error": TEXT, "kind": CLASS}\n
    request     u64 kind, then the frame: the wanted tensors as `passpilot.features.spec.layout` places them
                    1  evaluate
                    2  the context changes; after the frame, u64 length and the name in UTF-8
                    3  the session ends; not answered
    answer      u64 status, then 8 bytes: the advice as int64, uint64 or float64, depending on its type
                    0  done
                    n  failed; n bytes of UTF-8 follow: type, text, file:line of the error

SPEC is LLVM's JSON for a TensorSpec. FORMAT is `bitstream` (the default), `json` or `protobuf`
(`passpilot.runners.serdes`). With `bitstream`, the messages after the handshake have fixed sizes known to
both ends. With the others, a u64 length and a message of that length replace the frame and the 8 bytes of the
advice: the message holds the wanted tensors, or the advice alone, by name. The length is 0 except in a
request to evaluate and its answer. The field numbers of `protobuf` are positions in "offered", from 1.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, replace
from typing import Final, NoReturn

from passpilot.features.point import Point, find_point, point_names
from passpilot.features.spec import TensorSpec, layout, parse_table
from passpilot.plugin import errors
from passpilot.plugin.errors import Error, InputError, PeerError
from passpilot.plugin.failures import for_terminal, utf8
from passpilot.plugin.json_and_toml import parse_json

VERSION: Final = 1
LARGEST: Final = 200 << 20
"""Bytes of the largest message of an agent or its compiler, and of a compiler's question."""
MAX_LINE: Final = 1 << 20
MAX_TEXT: Final = 1 << 16
"""Bytes of the longest error text or context name; a wrong length must not exhaust the memory."""

WORD: Final = struct.Struct("=Q")
EVALUATE: Final = WORD.pack(1)
CONTEXT: Final = WORD.pack(2)
BYE: Final = WORD.pack(3)
HEAD: Final = struct.Struct("=QQ")
"""The head of requests and answers in formats other than bitstream: kind or status, and a length."""

ANSWER_SIZE: Final = 16

_KINDS: Final = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Error)
}


def error_class(kind: str) -> type[Error]:
    """The error class that the peer names; `PeerError` for an unknown name."""
    return _KINDS.get(kind, PeerError)


@dataclass(frozen=True, slots=True)
class Greeting:
    """The server's handshake: the names of the tensors that it wants, in order, and its runner's text."""

    inputs: tuple[str, ...]
    runner: str


def answer_struct(advice: TensorSpec) -> struct.Struct:
    """The struct of a 16-byte answer: status and advice."""
    code = {"f": "d", "u": "Q", "i": "q"}[advice.dtype[0]]
    return struct.Struct(f"=Q{code}")


def frame_size(inputs: tuple[TensorSpec, ...]) -> int:
    return layout(inputs)[1]


def hello(point: Point, serdes: str = "bitstream") -> bytes:
    """The compiler's line of the handshake."""
    return _line(
        {
            "passpilot": VERSION,
            "point": point.name,
            "offered": [spec.to_json() for spec in point.features],
            "advice": point.advice.to_json(),
            "serdes": serdes,
        }
    )


def read_hello(line: bytes) -> Point:
    """The decision point that the compiler's line describes.

    Raises:
        PeerError: the line has another form, or does not fit this version.
    """
    row = _object(line, "the compiler's handshake")
    if row.get("passpilot") != VERSION:
        got = row.get("passpilot")
        raise PeerError(f"handshake: expected protocol {VERSION}, got {got!r}; use one version at both ends")
    name, offered = row.get("point"), row.get("offered")
    if not isinstance(name, str) or not isinstance(offered, list):
        msg = f"handshake: expected a decision point among {', '.join(point_names())} and its tensors, "
        raise PeerError(f"{msg}got {name!r}")
    try:
        known = find_point(name)
        specs = parse_table(offered)
        advice = TensorSpec.from_json(row.get("advice"))
    except Error as error:
        raise PeerError(f"handshake: {error}") from error
    if advice != known.advice:
        wanted = f"{known.advice.name} as {known.advice}"
        msg = f"handshake: expected the advice {wanted}, got {advice.name} as {advice}; "
        raise PeerError(f"{msg}use one version at both ends")
    return replace(known, features=specs)


def read_serdes(line: bytes) -> str:
    """The format that the compiler's line names.

    Raises:
        PeerError: the line has another form.
    """
    name = _object(line, "the compiler's handshake").get("serdes", "bitstream")
    if not isinstance(name, str):
        raise PeerError(f"handshake: expected a format of messages, got {name!r}")
    return name


def welcome(inputs: tuple[TensorSpec, ...], runner: str) -> bytes:
    """The server's line when it is ready."""
    return _line({"inputs": [spec.name for spec in inputs], "runner": runner})


def refusal(error: Error) -> bytes:
    """The server's line when it cannot serve this compiler."""
    return _line({"error": str(error)[:MAX_TEXT], "kind": type(error).__name__})


def read_welcome(line: bytes, who: str) -> Greeting:
    """Parse the server's line.

    Raises:
        Error: the server refused, with an error of this class.
        PeerError: the line has another form.
    """
    row = _object(line, f"{who}: the server's handshake")
    text, kind = row.get("error"), row.get("kind")
    if isinstance(text, str):
        raise error_class(str(kind))(f"{who}: {for_terminal(text)}")
    names, runner = row.get("inputs"), row.get("runner")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        _refuse(f"{who}: the server's handshake", line)
    if not isinstance(runner, str) or len(set(names)) != len(names):
        _refuse(f"{who}: the server's handshake", line)
    return Greeting(tuple(names), for_terminal(runner))


def _line(row: dict[str, object]) -> bytes:
    return json.dumps(row).encode() + b"\n"


def _object(line: bytes, who: str) -> dict[str, object]:
    try:
        row = parse_json(line, who)
    except InputError:
        _refuse(who, line)
    if not isinstance(row, dict):
        _refuse(who, line)
    return row


def _refuse(who: str, line: bytes) -> NoReturn:
    raise PeerError(f"{who}: expected one line of JSON as passpilot writes it, got {line[:80]!r}")


def text_message(text: str) -> bytes:
    """Encode a text as UTF-8 of at most `MAX_TEXT` bytes; a longer one is cut between characters."""
    data = utf8(text)
    return data if len(data) <= MAX_TEXT else data[:MAX_TEXT].decode("utf-8", "ignore").encode()
