# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Made from the .proto by tools/proto.sh; a test compares the two.
# mypy: disable-error-code=type-arg
from passpilot.runners.remote import advisor_pb2 as _advisor_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AgentMessage(_message.Message):
    __slots__ = ("start", "action")
    START_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    start: Start
    action: Action
    def __init__(self, start: _Optional[_Union[Start, _Mapping]] = ..., action: _Optional[_Union[Action, _Mapping]] = ...) -> None: ...

class CompilerMessage(_message.Message):
    __slots__ = ("observation", "result", "failure", "episode", "point", "progress")
    OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    EPISODE_FIELD_NUMBER: _ClassVar[int]
    POINT_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    observation: bytes
    result: Result
    failure: Refusal
    episode: Episode
    point: str
    progress: float
    def __init__(self, observation: _Optional[bytes] = ..., result: _Optional[_Union[Result, _Mapping]] = ..., failure: _Optional[_Union[Refusal, _Mapping]] = ..., episode: _Optional[_Union[Episode, _Mapping]] = ..., point: _Optional[str] = ..., progress: _Optional[float] = ...) -> None: ...

class Start(_message.Message):
    __slots__ = ("code", "path", "point", "pipeline", "opt_level", "features", "reward", "function", "at", "also", "object", "partial")
    class AtEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CODE_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    POINT_FIELD_NUMBER: _ClassVar[int]
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    OPT_LEVEL_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    REWARD_FIELD_NUMBER: _ClassVar[int]
    FUNCTION_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    ALSO_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_FIELD_NUMBER: _ClassVar[int]
    code: bytes
    path: str
    point: str
    pipeline: str
    opt_level: int
    features: _containers.RepeatedScalarFieldContainer[str]
    reward: str
    function: str
    at: _containers.ScalarMap[str, str]
    also: _containers.RepeatedCompositeFieldContainer[Asked]
    object: bool
    partial: bool
    def __init__(self, code: _Optional[bytes] = ..., path: _Optional[str] = ..., point: _Optional[str] = ..., pipeline: _Optional[str] = ..., opt_level: _Optional[int] = ..., features: _Optional[_Iterable[str]] = ..., reward: _Optional[str] = ..., function: _Optional[str] = ..., at: _Optional[_Mapping[str, str]] = ..., also: _Optional[_Iterable[_Union[Asked, _Mapping]]] = ..., object: _Optional[bool] = ..., partial: _Optional[bool] = ...) -> None: ...

class Asked(_message.Message):
    __slots__ = ("point", "features")
    POINT_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    point: str
    features: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, point: _Optional[str] = ..., features: _Optional[_Iterable[str]] = ...) -> None: ...

class Action(_message.Message):
    __slots__ = ("integer", "number")
    INTEGER_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    integer: int
    number: float
    def __init__(self, integer: _Optional[int] = ..., number: _Optional[float] = ...) -> None: ...

class Episode(_message.Message):
    __slots__ = ("tensors", "advice", "flag", "choice", "number")
    TENSORS_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    FLAG_FIELD_NUMBER: _ClassVar[int]
    CHOICE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    tensors: _containers.RepeatedCompositeFieldContainer[_advisor_pb2.TensorSpec]
    advice: _advisor_pb2.TensorSpec
    flag: Flag
    choice: Choice
    number: Number
    def __init__(self, tensors: _Optional[_Iterable[_Union[_advisor_pb2.TensorSpec, _Mapping]]] = ..., advice: _Optional[_Union[_advisor_pb2.TensorSpec, _Mapping]] = ..., flag: _Optional[_Union[Flag, _Mapping]] = ..., choice: _Optional[_Union[Choice, _Mapping]] = ..., number: _Optional[_Union[Number, _Mapping]] = ...) -> None: ...

class Flag(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Choice(_message.Message):
    __slots__ = ("count", "mask")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    MASK_FIELD_NUMBER: _ClassVar[int]
    count: int
    mask: str
    def __init__(self, count: _Optional[int] = ..., mask: _Optional[str] = ...) -> None: ...

class Number(_message.Message):
    __slots__ = ("low", "high")
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    low: float
    high: float
    def __init__(self, low: _Optional[float] = ..., high: _Optional[float] = ...) -> None: ...

class Result(_message.Message):
    __slots__ = ("reward", "value", "baseline", "decisions", "notes", "object")
    REWARD_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    BASELINE_FIELD_NUMBER: _ClassVar[int]
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    reward: float
    value: float
    baseline: float
    decisions: int
    notes: _containers.RepeatedScalarFieldContainer[str]
    object: bytes
    def __init__(self, reward: _Optional[float] = ..., value: _Optional[float] = ..., baseline: _Optional[float] = ..., decisions: _Optional[int] = ..., notes: _Optional[_Iterable[str]] = ..., object: _Optional[bytes] = ...) -> None: ...

class Refusal(_message.Message):
    __slots__ = ("failure", "retry")
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    failure: _advisor_pb2.Failure
    retry: bool
    def __init__(self, failure: _Optional[_Union[_advisor_pb2.Failure, _Mapping]] = ..., retry: _Optional[bool] = ...) -> None: ...
