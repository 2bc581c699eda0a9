# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models behind ML-Compiler-Bridge's own Python end, `CompilerInterface`.

python bridge_model.py bytes|json BASE HOW [SIZE]
PYTHONPATH=FOLDER_OF_PROTO python bridge_model.py grpc PORT HOW PROTO

HOW is how the model answers; `whole` says 1 if all features came as the test sent them.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
import time
from pathlib import Path

from compilerinterface.GrpcCompilerInterface import GrpcCompilerInterface
from compilerinterface.PipeCompilerInterface import PipeCompilerInterface


def values_of(features: object) -> dict[str, list[float]]:
    """Convert the tensors of both pipe formats to one form."""
    if isinstance(features, dict):
        return {name: value if isinstance(value, list) else [value] for name, value in features.items()}
    return {each.spec().name: [each[n] for n in range(len(each))] for each in features}  # type: ignore[attr-defined]


def is_whole(values: dict[str, list[float]]) -> bool:
    """Whether the n-th feature is filled with n."""
    return all(value == [n] * len(value) for n, value in enumerate(values.values()))


def advice(how: str, values: dict[str, list[float]]) -> object:
    match how:
        case "whole":
            return int(is_whole(values))
        case "long":
            return ctypes.c_long(-5)
        case "float":
            return 2.5
        case "double":
            return ctypes.c_double(4294967295.0)
        case "list":
            return [int(is_whole(values))]
    raise ValueError("a bad model")


def pipe(kind: str, base: str, how: str, size: int) -> None:
    peer = PipeCompilerInterface(kind, base)
    print("ready", flush=True)
    if how == "never opens":
        sys.stdin.read()
    peer.reset_pipes()
    reply = b""
    while True:
        values = values_of(peer.evaluate())
        if how in ("dies", "stalls") and reply:
            peer.tc_buffer.write(reply[:size])
            peer.tc_buffer.flush()
            if how == "dies":
                os._exit(0)
            sys.stdin.read()
        try:
            peer.populate_buffer(advice("whole" if how in ("dies", "stalls") else how, values))
        except ValueError:
            sys.stdin.read()  # a model that raised and keeps its pipe open
        reply = peer.serdes_obj.buffer


def grpc(port: str, how: str, proto: str) -> None:
    from grpc_tools import protoc

    file = Path(proto)
    command = [
        "protoc",
        f"-I{file.parent}",
        f"--python_out={file.parent}",
        f"--grpc_python_out={file.parent}",
    ]
    assert protoc.main([*command, proto]) == 0
    messages = importlib.import_module(f"{file.stem}_pb2")
    services = importlib.import_module(f"{file.stem}_pb2_grpc")
    (name,) = messages.DESCRIPTOR.services_by_name
    method = messages.DESCRIPTOR.services_by_name[name].methods[0]
    reply_class = getattr(messages, method.output_type.name)
    field = method.output_type.fields[0].name

    def get_advice(_self: object, request: object, _context: object) -> object:
        values = {
            each.name: list(value) if hasattr(value, "__len__") else [value]
            for each, value in request.ListFields()  # type: ignore[attr-defined]
        }
        if how == "dies":
            os._exit(0)
        if how == "hangs":
            time.sleep(60)
        if how == "nothing":
            return reply_class()
        if how == "scalar":
            return reply_class(**{field: int(values == {"callee_users": [7], "node_count": [3]})})
        expected = {each.name: n for n, each in enumerate(method.input_type.fields)}
        whole = all(value == [expected[name]] * len(value) for name, value in values.items())
        return reply_class(**{field: [advice(how, {"x": [0.0 if whole else 1.0]})]})

    servicer = type("Model", (getattr(services, f"{name}Servicer"),), {"getAdvice": get_advice})
    add = getattr(services, f"add_{name}Servicer_to_server")
    GrpcCompilerInterface("server", hostport=int(port), add_server_method=add, grpc_service_obj=servicer())


if __name__ == "__main__":
    if sys.argv[1] == "grpc":
        grpc(*sys.argv[2:5])
    else:
        pipe(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
