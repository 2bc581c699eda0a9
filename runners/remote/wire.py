# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""The messages between a compiler and a model server; this docstring is their definition.

Both ends are on one machine: numbers are in its byte order. A session is a handshake and then questions, each
answered before the next is sent.

    handshake   compiler  {"passpilot": 1, "point": NAME, "offered": [SPEC...], "advice": SPEC,
                           "serdes": FORMAT}\n
                server    {"inputs": [NAME...], "runner": TEXT}\n  or  {"error": TEXT, "kind": CLASS}\n
    request     u64 kind, then the frame: the wanted tensors as `passpilot.features.spec.layout` places them
                    1  evaluate
                    2  the context changes; u64 length and so many bytes of UTF-8, its name, follow the frame
                    3  the session ends; not answered
    answer      u64 status, then 8 bytes: the advice as int64, uint64 or float64, after the kind of its type
                    0  done
                    n  failed; n bytes of UTF-8 follow: type, text, file:line of the error

SPEC is LLVM's JSON for a TensorSpec. FORMAT is `bitstream`, which is meant where it is left out, `json` or
`protobuf` (`passpilot.runners.serdes`). Of a bitstream, what follows the handshake has a fixed size known to
both. Of the others, a u64 length and a message of so many bytes take the place of the frame and of the 8
bytes of the advice: the wanted tensors, or the advice alone, by name. Where they have no meaning, which is
everywhere but in a request to evaluate and its answer, the length is 0. The field numbers of `protobuf` are
positions in "offered", from 1.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, replace
from typing import Final, NoReturn

from passpilot.features.point import Point, find_point, point_names
from passpilot.features.spec import TensorSpec, layout, parse_table
from passpilot.plugin import errors
from passpilot.plugin.errors import Error, PeerError

VERSION: Final = 1
MAX_LINE: Final = 1 << 20
MAX_TEXT: Final = 1 << 16
"""No error text or context name is longer: a wild length must not ask for all of the memory."""

WORD: Final = struct.Struct("=Q")
EVALUATE: Final = WORD.pack(1)
CONTEXT: Final = WORD.pack(2)
BYE: Final = WORD.pack(3)
HEAD: Final = struct.Struct("=QQ")
"""What begins a request and an answer of formats other than bitstream: kind or status, and a length."""

ANSWER_SIZE: Final = 16

_KINDS: Final = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Error)
}


def error_class(kind: str) -> type[Error]:
    """The class of errors that the other end names; `PeerError` for a name that is none of ours."""
    return _KINDS.get(kind, PeerError)


@dataclass(frozen=True, slots=True)
class Greeting:
    """What the server says about itself: the tensors it wants, in order, and its runner's text."""

    inputs: tuple[str, ...]
    runner: str


def answer_struct(advice: TensorSpec) -> struct.Struct:
    """The 16 bytes of an answer: status and advice."""
    code = {"f": "d", "u": "Q", "i": "q"}[advice.dtype[0]]
    return struct.Struct(f"=Q{code}")


def frame_size(inputs: tuple[TensorSpec, ...]) -> int:
    """The bytes of the tensors in a request."""
    return layout(inputs)[1]


def hello(point: Point, serdes: str = "bitstream") -> bytes:
    """The compiler's line."""
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
        PeerError: the line is not of this form.
    """
    row = _object(line, "the compiler's handshake")
    if row.get("passpilot") != VERSION:
        got = row.get("passpilot")
        msg = f"handshake: expected protocol {VERSION}, got {got!r}; use one version at both ends"
        raise PeerError(msg)
    name, offered = row.get("point"), row.get("offered")
    if not isinstance(name, str) or not isinstance(offered, list):
        msg = f"handshake: expected a decision point among {', '.join(point_names())} and its tensors, "
        raise PeerError(f"{msg}got {name!r}")
    try:
        known = find_point(name)
        specs = parse_table(offered)
        advice = TensorSpec.from_json(row.get("advice"))
    except Error as error:
        msg = f"handshake: {error}"
        raise PeerError(msg) from error
    if advice != known.advice:
        wanted = f"{known.advice.name} as {known.advice}"
        msg = f"handshake: expected the advice {wanted}, got {advice.name} as {advice}; "
        raise PeerError(f"{msg}use one version at both ends")
    return replace(known, features=specs)


def read_serdes(line: bytes) -> str:
    """The format that the compiler's line asks for.

    Raises:
        PeerError: the line is not of this form.
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
    """What the server's line says.

    Raises:
        Error: the server's own, of the class that it names, if it refused.
        PeerError: the line is not of this form.
    """
    row = _object(line, f"{who}: the server's handshake")
    text, kind = row.get("error"), row.get("kind")
    if isinstance(text, str):
        raise error_class(str(kind))(f"{who}: {text}")
    names, runner = row.get("inputs"), row.get("runner")
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        _refuse(f"{who}: the server's handshake", line)
    if not isinstance(runner, str) or len(set(names)) != len(names):
        _refuse(f"{who}: the server's handshake", line)
    return Greeting(tuple(names), runner)


def _line(row: dict[str, object]) -> bytes:
    return json.dumps(row).encode() + b"\n"


def _object(line: bytes, who: str) -> dict[str, object]:
    try:
        row: object = json.loads(line)
    except (ValueError, RecursionError):
        _refuse(who, line)
    if not isinstance(row, dict):
        _refuse(who, line)
    return row


def _refuse(who: str, line: bytes) -> NoReturn:
    msg = f"{who}: expected one line of JSON as passpilot writes it, got {line[:80]!r}"
    raise PeerError(msg)


def text_message(text: str) -> bytes:
    """A text as UTF-8 of at most `MAX_TEXT` bytes, cut between characters."""
    return text.encode("utf-8", "replace")[:MAX_TEXT].decode("utf-8", "ignore").encode()
