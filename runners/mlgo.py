# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""MLGO's interactive protocol: what LLVM's InteractiveModelRunner and its agents say to each other.

    compiler   {"features":[SPEC...],"advice":SPEC}\n          once
               {"context":"..."}\n                             whenever it changes; several may come in a row
               {"observation":N}\n                             per question
               <the features in the header's order, packed>\n
    agent      <the advice: so many bytes as its type has>     per observation

The framing is that of a decision log (`passpilot.features.log_stream`); there is no length, no error and no
good-bye. Numbers are in the machine's byte order.

Source: llvm/Analysis/InteractiveModelRunner.h.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from passpilot.features.log_stream import parse_line, parse_specs
from passpilot.plugin.errors import FeatureError, PeerError

if TYPE_CHECKING:
    from passpilot.features.spec import TensorSpec


@dataclass(frozen=True, slots=True)
class Header:
    """What the first line declares."""

    features: tuple[TensorSpec, ...]
    advice: TensorSpec

    @property
    def line(self) -> bytes:
        """The line, as LLVM writes it."""
        features = [spec.to_json() for spec in self.features]
        return _line({"features": features, "advice": self.advice.to_json()})

    @property
    def nbytes(self) -> int:
        """The bytes of the features of one observation, without the newline after them."""
        return sum(spec.nbytes for spec in self.features)

    @property
    def advice_struct(self) -> struct.Struct:
        """The bytes of one advice."""
        return struct.Struct(f"={self.advice.size}{self.advice.struct_code}")


def read_header(line: bytes, who: str) -> Header:
    """What a compiler's first line declares.

    Raises:
        PeerError: it is no header, or one without an advice.
    """
    try:
        features, advice = parse_specs(parse_line(line), "advice")
    except FeatureError as error:
        raise PeerError(
            f"{who}: expected a header with features and advice, got {line[:80]!r}: {error}"
        ) from error
    if advice is None:
        raise PeerError(f"{who}: expected a header with features and advice, got no advice: {line[-80:]!r}")
    return Header(features, advice)


def context_line(name: str) -> bytes:
    """The line that begins the context `name`."""
    return _line({"context": name})


def observation_line(number: int) -> bytes:
    """The line before the features of an observation."""
    return b'{"observation":%d}\n' % number


def read_event(line: bytes, who: str) -> str | int:
    """What a later line says: the name of a new context, or the number of the observation that follows.

    Raises:
        PeerError: it says something else.
    """
    try:
        fields = parse_line(line)
    except FeatureError as error:
        raise PeerError(f"{who}: expected {error}, got {line[:80]!r}") from error
    context, number = fields.get("context"), fields.get("observation")
    if isinstance(context, str):
        return context
    if type(number) is int:
        return number
    raise PeerError(f"{who}: expected a context or an observation, got {line[:80]!r}")


def _line(row: dict[str, object]) -> bytes:
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"
