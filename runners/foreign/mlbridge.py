# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""ML-Compiler-Bridge's protocols, for models that use its Python class `CompilerInterface`.

`pipe:BASE?protocol=mlbridge[&serdes=bitstream|json][&features=a,b]`; the model makes the FIFOs. Every
message, in both directions, is a u64 length and that many bytes:

    bitstream   compiler  {"features":[SPEC...]}\n, the tensors packed, \n       every message has the specs
                model     the bare advice: 4 bytes from a Python int or float, 8 from a c_long or c_double
    json        compiler  a flat object of the tensors, as `passpilot.runners.serdes.json` writes it
                model     {"out": advice}

`grpc:HOST:PORT?protocol=mlbridge[&proto=FILE.proto][&features=a,b]`: one unary call `getAdvice` per decision.
The messages are those that `passpilot features --proto` prints, or those of the one service in FILE.proto
with a method `getAdvice`: its request has one field per tensor, of the same name, repeated, or single for one
element; the advice is the first field of the reply.

Neither protocol names the type of an advice or has contexts, and over a pipe an error looks like silence.
"""

from __future__ import annotations

import json
import struct
import time
from typing import Final

from passpilot.features.point import Point
from passpilot.features.spec import TensorSpec, layout
from passpilot.plugin.errors import PeerError, RunnerSpecError, UsageError
from passpilot.runners.base import Runner, own_features
from passpilot.runners.python import split_names
from passpilot.runners.remote import wire
from passpilot.runners.remote.fifo import join
from passpilot.runners.remote.peer import PeerRunner
from passpilot.runners.serdes import check_format
from passpilot.runners.serdes.bitstream import Bitstream
from passpilot.runners.serdes.json import Json

FORMATS: Final = ("bitstream", "json")
_ADVICE: Final = {
    ("float", 4): struct.Struct("=f"),
    ("float", 8): struct.Struct("=d"),
    ("int", 4): struct.Struct("=i"),
    ("int", 8): struct.Struct("=q"),
}
_SMALLEST: Final = 2.0**-126
"""The smallest normal float32; a smaller number is an integer that was read as a float."""


class BridgePipeRunner(PeerRunner):
    """A session over the FIFOs of ML-Compiler-Bridge's `PipeCompilerInterface`, in the format `serdes`.

    Raises:
        PeerError: the model is absent, dead, silent or incoherent.
    """

    def __init__(
        self, base: str, point: Point, timeout: float, serdes: str, inputs: tuple[TensorSpec, ...]
    ) -> None:
        deadline = time.monotonic() + timeout
        super().__init__(join(base, deadline, "a model of ML-Compiler-Bridge"), timeout)
        self._channel.widen(layout(inputs)[1])
        self.inputs = inputs
        self.output = point.advice
        self._serdes = self._tensors = Json(inputs) if serdes == "json" else Bitstream(inputs, packed=True)
        self._before = self._after = b""
        if serdes == "bitstream":
            specs = [spec.to_json() for spec in inputs]
            self._before = json.dumps({"features": specs}, separators=(",", ":")).encode() + b"\n"
            self._after = b"\n"

    def _ask(self, deadline: float) -> object:
        message = b"".join((self._before, self._tensors.encode(), self._after))
        self._channel.write(wire.WORD.pack(len(message)) + message, deadline, "an observation")
        (size,) = wire.WORD.unpack(self._channel.read(wire.WORD.size, deadline, "the length of an advice"))
        if not 0 < size <= wire.MAX_TEXT:
            self._refuse(f"an advice of 1 to {wire.MAX_TEXT} bytes", size)
        data = self._channel.read(size, deadline, "an advice", only=True)
        return self._read_out(self._tensors, data) if isinstance(self._tensors, Json) else self._read(data)

    def _read_out(self, serdes: Json, data: bytes) -> object:
        try:
            row = serdes.read_object(data)
        except PeerError as error:
            raise PeerError(f"{self._who}: {error}") from error
        if row.keys() != {"out"}:
            self._refuse('the object {"out": advice}', data[:80])
        out = row["out"]
        return out[0] if isinstance(out, list) and len(out) == 1 else out

    def _read(self, data: bytes) -> int | float:
        kind = "float" if self.output.dtype.startswith("float") else "int"
        if (kind, len(data)) not in _ADVICE:
            self._refuse(f"an advice of one {kind}, which is 4 or 8 bytes", data[:80])
        (advice,) = _ADVICE[kind, len(data)].unpack(data)
        if kind == "float" and 0 < abs(advice) < _SMALLEST:
            self._refuse("an advice of one float", f"{data!r}, which looks like an int; answer float(...)")
        return advice  # type: ignore[no-any-return]


def pipe_runner(target: str, options: dict[str, str], point: Point, timeout: float) -> BridgePipeRunner:
    """Make the runner of `pipe:BASE?protocol=mlbridge`.

    Raises:
        RunnerSpecError: the protocol does not have this format over pipes.
        SpecMismatchError: `features` names a tensor that is not offered.
    """
    serdes = options.get("serdes", "bitstream")
    check_format(serdes, FORMATS)
    return BridgePipeRunner(target, point, timeout, serdes, _wanted(options, point))


def grpc_runner(target: str, options: dict[str, str], point: Point, timeout: float) -> Runner:
    """Make the runner of `grpc:HOST:PORT?protocol=mlbridge`.

    Raises:
        RunnerSpecError: the target is not an address, or the file of `proto` lacks the service.
        SpecMismatchError: `features` or a field of the request names a tensor that is not offered.
        PeerError: no server answers.
    """
    from passpilot.runners.foreign.mlbridge_grpc import BridgeGrpcRunner, compiled_service, point_service
    from passpilot.runners.remote.grpc_messages import split_address

    try:
        host, port = split_address(target, f"runner grpc:{target}")
    except UsageError as error:
        raise RunnerSpecError(str(error)) from None
    service = compiled_service(options["proto"]) if "proto" in options else point_service(point)
    if "proto" in options and "features" not in options:
        inputs = point.select(field.name for field in service.request.field)
    else:
        inputs = _wanted(options, point)
    return BridgeGrpcRunner(f"{host}:{port}", service, inputs, point.advice, timeout)


def _wanted(options: dict[str, str], point: Point) -> tuple[TensorSpec, ...]:
    return point.select(split_names(options["features"])) if "features" in options else own_features(point)
