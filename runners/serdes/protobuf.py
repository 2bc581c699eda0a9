# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Protocol Buffers: the message that `passpilot features --proto` prints, built from the specs at run time.

NaN and infinities travel unchanged. `decode` refuses fields that are missing, unknown, too short or too long,
and integers that do not fit the tensor; `encode` leaves out fields of the table that are not among the specs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

from passpilot.features.point import Point
from passpilot.features.proto import PACKAGE, TYPES, message_stem
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import RunnerSpecError
from passpilot.runners.serdes import SerDes

Field = descriptor_pb2.FieldDescriptorProto


class Protobuf(SerDes):
    """A message with one packed repeated field per tensor of the table."""

    name = "protobuf"

    def __init__(self, specs: Sequence[TensorSpec], table: Sequence[TensorSpec] = ()) -> None:
        super().__init__(specs, table)
        file = descriptor_pb2.FileDescriptorProto(name="passpilot/tensors.proto", syntax="proto3")
        file.message_type.append(_message("Tensors", self.table))
        self._message = message_classes(file)["Tensors"]

    def encode(self) -> bytes:
        message = self._message(**{row.name: row.tensor.ravel().tolist() for row in self.rows})
        return message.SerializeToString()

    def decode(self, data: bytes) -> None:
        message = self._message()
        try:
            message.ParseFromString(data)
        except DecodeError as error:
            self.refuse("a message", f"{data[:20]!r} ({error})")
        if len(unknown := UnknownFieldSet(message)):
            self.refuse("the fields of the handshake", f"one of number {unknown[0].field_number}")
        for row in self.rows:
            self.store(row, getattr(message, row.name))


def point_file(point: Point) -> descriptor_pb2.FileDescriptorProto:
    """The descriptor that protoc would make of `passpilot.features.proto.proto_text`."""
    stem = message_stem(point)
    file = descriptor_pb2.FileDescriptorProto(
        name=f"passpilot/{point.name}.proto", package=PACKAGE, syntax="proto3"
    )
    observation = _message(f"{stem}Observation", point.features)
    advice = _message(f"{stem}Advice", (point.advice,))
    file.message_type.extend((observation, advice))
    service = file.service.add(name=f"{stem}Advisor")
    service.method.add(
        name="getAdvice",
        input_type=f".{PACKAGE}.{observation.name}",
        output_type=f".{PACKAGE}.{advice.name}",
    )
    return file


def message_classes(*files: descriptor_pb2.FileDescriptorProto) -> Mapping[str, type[Message]]:
    """The classes of all messages of the files by full name; a file comes after its imports.

    Raises:
        RunnerSpecError: a file is not well-formed: it may use names that Protocol Buffers do not allow.
    """
    pool = descriptor_pool.DescriptorPool()
    try:
        for file in files:
            pool.AddSerializedFile(file.SerializeToString())
        return message_factory.GetMessageClassesForFiles([file.name for file in files], pool)
    except TypeError as error:
        text = " ".join(str(error).split())
        raise RunnerSpecError(f"protobuf: expected names that make a message, got: {text}") from error


def _message(name: str, specs: Iterable[TensorSpec]) -> descriptor_pb2.DescriptorProto:
    message = descriptor_pb2.DescriptorProto(name=name)
    for number, spec in enumerate(specs, 1):
        message.field.add(
            name=spec.name,
            number=number,
            label=Field.LABEL_REPEATED,
            type=Field.Type.Value(f"TYPE_{TYPES[spec.dtype].upper()}"),
        )
    return message
