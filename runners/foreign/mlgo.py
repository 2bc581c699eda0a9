# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""MLGO's interactive protocol, between LLVM's InteractiveModelRunner and its agents.

    compiler   {"features":[SPEC...],"advice":SPEC}\n          once
               {"context":"..."}\n                             at every change; several in a row are possible
               {"observation":N}\n                             per question
               <the features in the header's order, packed>\n
    agent      <the advice, of its type's size>                per observation

`pipe:BASE?protocol=mlgo` asks an agent that was written for LLVM. It sends a context only just before an
observation of it, as some agents cannot read two contexts in a row. `default=1` adds LLVM's own decision to
the features of `inline`, as -inliner-interactive-include-default does.

The framing is that of a decision log (`passpilot.features.log.reader`), without lengths, errors or an end
message. Numbers have the machine's byte order.

Source: llvm/Analysis/InteractiveModelRunner.h.
"""

from __future__ import annotations

import json
import struct
import time
from dataclasses import dataclass, replace

from passpilot.features.catalogue import HOOKED
from passpilot.features.domain import Flag
from passpilot.features.log.reader import parse_line, parse_specs
from passpilot.features.point import Point
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import FeatureError, PeerError, RunnerSpecError
from passpilot.runners.base import own_features
from passpilot.runners.remote.fifo import join
from passpilot.runners.remote.peer import PeerRunner
from passpilot.runners.serdes.bitstream import Bitstream


@dataclass(frozen=True, slots=True)
class Header:
    """The contents of the first line."""

    features: tuple[TensorSpec, ...]
    advice: TensorSpec

    @property
    def line(self) -> bytes:
        """The line, as LLVM writes it."""
        features = [spec.to_json() for spec in self.features]
        return _line({"features": features, "advice": self.advice.to_json()})

    @property
    def nbytes(self) -> int:
        """The size of an observation's features in bytes, without the newline."""
        return sum(spec.nbytes for spec in self.features)

    @property
    def advice_struct(self) -> struct.Struct:
        return struct.Struct(f"={self.advice.size}{self.advice.struct_code}")


def read_header(line: bytes, who: str) -> Header:
    """Parse a compiler's first line.

    Raises:
        PeerError: the line is not a header, or its header lacks the advice.
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
    """Parse a later line: the name of a new context, or the number of the observation that follows.

    Raises:
        PeerError: the line is neither.
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


class MlgoRunner(PeerRunner):
    """A session with an agent that was written for LLVM.

    Raises:
        PeerError: the agent is absent, dead, silent or incoherent.
    """

    def __init__(self, base: str, point: Point, timeout: float, *, default: bool) -> None:
        deadline = time.monotonic() + timeout
        super().__init__(join(base, deadline, "an agent of MLGO's protocol"), timeout)
        self.inputs = (*own_features(point), *((point.default,) if default else ()))
        self.output = point.advice
        self._domain = point.domain
        header = header_of(point, default=default)
        self._advice = header.advice_struct
        self._serdes = self._tensors = Bitstream(self.inputs, packed=True)
        self._asked: dict[str, int] = {}
        self._context = ""
        self._header = header.line
        self._switch = context_line("")

    def switch_context(self, name: str) -> None:
        self._context = name
        self._switch = context_line(name)

    def _ask(self, deadline: float) -> int | float:
        number = self._asked.get(self._context, 0)
        lines = self._header + self._switch + observation_line(number)
        self._channel.write(b"".join((lines, self._tensors.encode(), b"\n")), deadline, "an observation")
        self._asked[self._context] = number + 1
        self._header = self._switch = b""
        data = self._channel.read(self._advice.size, deadline, "an advice", only=True)
        (advice,) = self._advice.unpack(data)
        return int(advice != 0) if isinstance(self._domain, Flag) else advice


def header_of(point: Point, *, default: bool) -> Header:
    """The header that LLVM writes for the decision point; its priorities are of 32 bits."""
    features = (*own_features(point), *((point.default,) if default else ()))
    advice = replace(point.advice, dtype="float32") if point.advice.dtype == "float64" else point.advice
    return Header(features, advice)


def pipe_runner(target: str, options: dict[str, str], point: Point, timeout: float) -> MlgoRunner:
    """Make the runner of `pipe:BASE?protocol=mlgo`.

    Raises:
        RunnerSpecError: `default` is neither 0 nor 1, or LLVM does not offer it at this decision point.
    """
    default = options.get("default", "0")
    if default not in ("0", "1"):
        raise RunnerSpecError(f"runner pipe:{target}: expected default=0 or default=1, got {default!r}")
    names = [name for name, row in HOOKED.items() if row.interactive and row.interactive.default]
    if default == "1" and point.name not in names:
        only = " or ".join(names)
        msg = f"runner pipe:{target}: expected default=1 only of {only}, as LLVM has it, got {point.name}"
        raise RunnerSpecError(msg)
    return MlgoRunner(target, point, timeout, default=default == "1")


def _line(row: dict[str, object]) -> bytes:
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace") + b"\n"  # which JSON takes for surrogates
