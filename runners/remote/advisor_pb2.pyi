# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Made from the .proto by tools/proto.sh; a test compares the two.
# mypy: disable-error-code=type-arg
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Question(_message.Message):
    __slots__ = ("hello", "frame", "context", "changes")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    FRAME_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    frame: bytes
    context: str
    changes: FrameChanges
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., frame: _Optional[bytes] = ..., context: _Optional[str] = ..., changes: _Optional[_Union[FrameChanges, _Mapping]] = ...) -> None: ...

class FrameChanges(_message.Message):
    __slots__ = ("parts",)
    PARTS_FIELD_NUMBER: _ClassVar[int]
    parts: _containers.RepeatedCompositeFieldContainer[FramePart]
    def __init__(self, parts: _Optional[_Iterable[_Union[FramePart, _Mapping]]] = ...) -> None: ...

class FramePart(_message.Message):
    __slots__ = ("start", "data")
    START_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    start: int
    data: bytes
    def __init__(self, start: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class Answer(_message.Message):
    __slots__ = ("welcome", "integer", "number", "failure", "done")
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    INTEGER_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    welcome: Welcome
    integer: int
    number: float
    failure: Failure
    done: Done
    def __init__(self, welcome: _Optional[_Union[Welcome, _Mapping]] = ..., integer: _Optional[int] = ..., number: _Optional[float] = ..., failure: _Optional[_Union[Failure, _Mapping]] = ..., done: _Optional[_Union[Done, _Mapping]] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("passpilot", "point", "offered", "advice")
    PASSPILOT_FIELD_NUMBER: _ClassVar[int]
    POINT_FIELD_NUMBER: _ClassVar[int]
    OFFERED_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    passpilot: int
    point: str
    offered: _containers.RepeatedCompositeFieldContainer[TensorSpec]
    advice: TensorSpec
    def __init__(self, passpilot: _Optional[int] = ..., point: _Optional[str] = ..., offered: _Optional[_Iterable[_Union[TensorSpec, _Mapping]]] = ..., advice: _Optional[_Union[TensorSpec, _Mapping]] = ...) -> None: ...

class TensorSpec(_message.Message):
    __slots__ = ("name", "type", "port", "shape")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: str
    port: int
    shape: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, name: _Optional[str] = ..., type: _Optional[str] = ..., port: _Optional[int] = ..., shape: _Optional[_Iterable[int]] = ...) -> None: ...

class Welcome(_message.Message):
    __slots__ = ("inputs", "runner", "changes")
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    RUNNER_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    inputs: _containers.RepeatedScalarFieldContainer[str]
    runner: str
    changes: bool
    def __init__(self, inputs: _Optional[_Iterable[str]] = ..., runner: _Optional[str] = ..., changes: _Optional[bool] = ...) -> None: ...

class Failure(_message.Message):
    __slots__ = ("error", "kind")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    error: str
    kind: str
    def __init__(self, error: _Optional[str] = ..., kind: _Optional[str] = ...) -> None: ...

class Done(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
