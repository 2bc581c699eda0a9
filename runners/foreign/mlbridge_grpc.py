# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`grpc:HOST:PORT?protocol=mlbridge`: one unary call per decision; `mlbridge.py` defines the messages."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NoReturn

import grpc
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)
from google.protobuf.message import Message

from passpilot.features.point import Point
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import ModelError, PeerError, RunnerSpecError, SpecMismatchError
from passpilot.plugin.failures import for_terminal
from passpilot.plugin.files import MOST_TEXT
from passpilot.runners.base import Frame, Host, Tensor
from passpilot.runners.remote.grpc_stream import connect, reached
from passpilot.runners.remote.peer import RemoteRunner
from passpilot.runners.serdes.protobuf import message_classes, point_file

METHOD: Final = "getAdvice"
_PATIENCE: Final = 60.0


@dataclass(frozen=True, slots=True)
class Service:
    """A service that gives advice: its method's path, and the messages of request and reply."""

    path: str
    request: DescriptorProto
    reply: DescriptorProto
    request_class: type[Message]
    reply_class: type[Message]


class BridgeGrpcRunner(RemoteRunner):
    """Asks a server of ML-Compiler-Bridge, or any other that has the service.

    Raises:
        PeerError: no server took the connection before the deadline.
        SpecMismatchError: the request lacks a field for one of the inputs, or the reply has no field.
    """

    def __init__(
        self,
        address: str,
        service: Service,
        inputs: tuple[TensorSpec, ...],
        output: TensorSpec,
        timeout: float,
    ) -> None:
        self.inputs = inputs
        self.output = output
        self._path = service.path
        self._request = service.request_class
        who = f"grpc:{address}"
        fields = {field.name: field for field in service.request.field}
        self._single = {spec.name: _is_single(fields.get(spec.name), spec, who) for spec in inputs}
        self._advice = _first_field(service.reply, who)
        self._channel = connect(address)
        super().__init__(who, timeout)
        with self._handshake():
            if not reached(self._channel, timeout):
                raise PeerError(f"{who}: expected a server, got none before the deadline; start the model")
        self._call = self._channel.unary_unary(
            service.path,
            request_serializer=self._request.SerializeToString,
            response_deserializer=service.reply_class.FromString,
        )

    def bind(self, tensors: Mapping[str, Tensor], frame: Frame, host: Host | None = None) -> None:
        super().bind(tensors, frame, host)
        self._fields = [(spec, tensors[spec.name], self._single[spec.name]) for spec in self.inputs]

    def _ask(self, deadline: float) -> object:
        request = self._message()
        try:
            reply = self._call(request, timeout=deadline - time.monotonic())
        except grpc.RpcError as error:
            self._fail(error)
        advice: object = getattr(reply, self._advice.name)
        if not _is_repeated(self._advice):
            return advice
        if len(advice) != 1:  # type: ignore[arg-type]
            self._refuse("an advice of one value", str(reply)[:80])
        return advice[0]  # type: ignore[index]

    def _message(self) -> Message:
        try:
            return self._request(
                **{
                    spec.name: tensor.item() if single else tensor.ravel().tolist()
                    for spec, tensor, single in self._fields
                }
            )
        except (ValueError, TypeError) as error:
            msg = f"{self._who}: expected tensors that fit the fields of {self._request.DESCRIPTOR.full_name}"
            raise SpecMismatchError(f"{msg}, got: {error}") from error

    def _fail(self, error: grpc.RpcError) -> NoReturn:
        code, details = error.code(), for_terminal(" ".join(str(error.details()).split()))
        if code is grpc.StatusCode.UNKNOWN:  # a Python server's code when its model raises
            raise ModelError(f"{self._who}: {details}") from error
        expected, got = {
            grpc.StatusCode.DEADLINE_EXCEEDED: (
                "an advice",
                f"nothing within {self._timeout:g} s; see whether it hangs, or raise --timeout",
            ),
            grpc.StatusCode.UNAVAILABLE: ("an advice", f"nothing, and the server is gone: {details}"),
            grpc.StatusCode.UNIMPLEMENTED: (
                f"a server of {self._path}",
                "one without it; give its messages by proto=FILE.proto",
            ),
        }.get(code, ("an advice", f"{code.name}: {details}"))
        raise PeerError(f"{self._who}: expected {expected}, got {got}") from error

    def release(self) -> None:
        self._channel.close()


def point_service(point: Point) -> Service:
    """The service that `passpilot features --proto` prints."""
    return _service([point_file(point)], "passpilot features --proto")


def compiled_service(path: str) -> Service:
    """The service of a user's .proto file.

    Raises:
        RunnerSpecError: grpcio-tools is missing, the file cannot be compiled, or it has no such service.
    """
    if find_spec("grpc_tools") is None:
        msg = f"proto {path}: expected grpcio-tools to compile it, got none; run: pip install grpcio-tools"
        raise RunnerSpecError(msg)
    file = Path(os.path.realpath(path))
    if not file.is_file():
        raise RunnerSpecError(f"proto {path}: expected a file, got none")
    if file.stat().st_size > MOST_TEXT:
        raise RunnerSpecError(
            f"proto {path}: expected a file of up to {MOST_TEXT >> 20} MiB, got a larger one"
        )
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "set")
        failure = _compile(file, out)
        if failure:
            raise RunnerSpecError(
                f"proto {path}: expected a file that protoc compiles, got: {failure[-400:]}"
            )
        return _service(FileDescriptorSet.FromString(out.read_bytes()).file, f"proto {path}")


def _compile(file: Path, out: Path) -> str:
    """Let protoc write the descriptors of `file` and its imports to `out`; return its error, or ""."""
    command = [sys.executable, "-P", "-m", "grpc_tools.protoc", f"-I{file.parent}", "--include_imports"]
    try:
        done = subprocess.run(
            [*command, f"--descriptor_set_out={out}", str(file)],
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return f"nothing within {_PATIENCE:g} s"
    return " ".join((done.stderr or done.stdout or "nothing").split()) if done.returncode else ""


def _service(files: Sequence[FileDescriptorProto], who: str) -> Service:
    file = files[-1]
    found = [
        (service, method) for service in file.service for method in service.method if method.name == METHOD
    ]
    if len(found) != 1 or found[0][1].client_streaming or found[0][1].server_streaming:
        raise RunnerSpecError(f"{who}: expected one service with a unary {METHOD}, got {len(found)}")
    service, method = found[0]
    prefix = f"{file.package}." if file.package else ""
    messages = {f".{prefix}{message.name}": message for message in file.message_type}
    if not {method.input_type, method.output_type} <= messages.keys():
        raise RunnerSpecError(f"{who}: expected the messages of {METHOD} in the same file, got others")
    request, reply, classes = method.input_type, method.output_type, message_classes(*files)
    path = f"/{prefix}{service.name}/{METHOD}"
    return Service(path, messages[request], messages[reply], classes[request[1:]], classes[reply[1:]])


def _is_repeated(field: FieldDescriptorProto) -> bool:
    return field.label == FieldDescriptorProto.LABEL_REPEATED


def _is_single(field: FieldDescriptorProto | None, spec: TensorSpec, who: str) -> bool:
    if field is None or (spec.size != 1 and not _is_repeated(field)):
        got = "none" if field is None else "a single one"
        raise SpecMismatchError(f"{who}: expected a field for {spec.name} ({spec}) in the request, got {got}")
    return not _is_repeated(field)


def _first_field(reply: DescriptorProto, who: str) -> FieldDescriptorProto:
    if not reply.field:
        raise SpecMismatchError(f"{who}: expected a field for the advice in {reply.name}, got none")
    return reply.field[0]
