# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The peers of measured runners: passpilot's model servers, and models behind the protocols of others.

A peer in a script reads one tensor, `name`, and answers by `rule`, an expression of its `values`. Without a
name it reads nothing.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.command import PASSPILOT

if TYPE_CHECKING:
    from passpilot.features.point import Point

NULL: Final = ("", "0")
"""The name and the rule of a model that reads nothing and answers 0."""

MLGO: Final = """
import json, math, os, struct, sys

base, name, rule = sys.argv[1:]
answer = eval("lambda values: " + rule)
for end in ("in", "out"):
    os.mkfifo(f"{base}.{end}", 0o600)
print("ready", flush=True)
codes = {"int64_t": "q", "float": "f", "double": "d"}
with open(f"{base}.in", "wb", 0) as answers, open(f"{base}.out", "rb") as questions:
    header = json.loads(questions.readline())
    size, at, wanted = 0, 0, ""
    for spec in header["features"]:
        code = f"{math.prod(spec['shape'])}{codes[spec['type']]}"
        if spec["name"] == name:
            at, wanted = size, code
        size += struct.calcsize(code)
    while line := questions.readline():
        if line.startswith(b'{"observation"'):
            values = struct.unpack_from(wanted, questions.read(size + 1), at)
            answers.write(struct.pack(codes[header["advice"]["type"]], answer(values)))
"""
"""An agent of MLGO's interactive mode."""

BRIDGE: Final = """
import ctypes, sys
from compilerinterface.PipeCompilerInterface import PipeCompilerInterface

base, kind, name, rule = sys.argv[1:]
answer = eval("lambda values: " + rule)
peer = PipeCompilerInterface(kind, base)
print("ready", flush=True)
peer.reset_pipes()
values = ()
while True:
    tensors = peer.evaluate()
    if name:
        tensor = tensors[name] if kind == "json" else tensors[0]
        values = [tensor[n] for n in range(len(tensor))] if hasattr(tensor, "__len__") else [tensor]
    advice = answer(values)
    peer.populate_buffer(ctypes.c_double(advice) if isinstance(advice, float) else ctypes.c_long(advice))
"""
"""A model behind ML-Compiler-Bridge's own Python end, whose tensors offer one element at a time.

With the bitstream, the compiler sends it one tensor, unless it reads none.
"""

UNARY: Final = """
import sys
from concurrent.futures import ThreadPoolExecutor
import grpc
from passpilot.features.point import find_point
from passpilot.runners.foreign.mlbridge_grpc import point_service

point, name, rule = sys.argv[1:]
answer = eval("lambda values: " + rule)
service = point_service(find_point(point))
field = service.reply.field[0]

def advise(request, _):
    values = getattr(request, name)
    advice = answer(values if hasattr(values, "__len__") else [values])
    return service.reply_class(**{field.name: [advice] if field.label == 3 else advice})

handler = grpc.unary_unary_rpc_method_handler(
    advise, service.request_class.FromString, service.reply_class.SerializeToString)
server = grpc.server(ThreadPoolExecutor(1))
_, path, method = service.path.split("/")
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(path, {method: handler}),))
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(port, flush=True)
server.wait_for_termination()
"""
"""A server with one unary call per decision."""

GRAPH: Final = """
import sys
import evict_pb2 as messages
import evict_pb2_grpc as services
import numpy as np
import onnxruntime
from compilerinterface.GrpcCompilerInterface import GrpcCompilerInterface

model, port = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
inputs = {tensor.name: tensor.shape for tensor in session.get_inputs()}

class Model(services.EvictAdvisorServicer):
    def getAdvice(self, request, context):
        row = {name: np.array(getattr(request, name), "f4").reshape(shape) for name, shape in inputs.items()}
        logits = session.run(None, row)[0][0]
        column = np.where(np.array(request.mask) != 0, logits, -np.inf).argmax()
        return messages.EvictAdvice(index_to_evict=[int(column)])

add = services.add_EvictAdvisorServicer_to_server
GrpcCompilerInterface("server", hostport=int(port), add_server_method=add, grpc_service_obj=Model())
"""
"""ML-Compiler-Bridge's own Python end over gRPC, with an ONNX model of evictions run by onnxruntime."""


EXCHANGE: Final = """
import socket

with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    while True:
        client, _ = server.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while client.recv(4096):
            client.sendall(bytes(16))
"""
"""The least that a model server on TCP must do: it answers at once, with 16 bytes."""


@contextlib.contextmanager
def process(*command: str) -> Iterator[subprocess.Popen[str]]:
    """A child process with its output in a pipe; it is killed at the end."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def first_line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline()


@contextlib.contextmanager
def piped(runner: str, base: Path, *flags: str) -> Iterator[int]:
    """`passpilot serve --pipe`; yields its process."""
    with process(str(PASSPILOT), "serve", runner, "--pipe", str(base), *flags) as child:
        yield child.pid


@contextlib.contextmanager
def streamed(runner: str, *flags: str) -> Iterator[tuple[str, int]]:
    """`passpilot serve --grpc`; yields its address and its process."""
    with process(str(PASSPILOT), "serve", runner, "--grpc", "127.0.0.1:0", *flags) as child:
        yield first_line(child).split()[-1], child.pid


@contextlib.contextmanager
def exchanging() -> Iterator[str]:
    """`EXCHANGE`; yields its port."""
    with process(sys.executable, "-c", EXCHANGE) as child:
        yield first_line(child).strip()


@contextlib.contextmanager
def unary(point: str, name: str, rule: str) -> Iterator[tuple[str, int]]:
    """`UNARY`; yields its address and its process."""
    with process(sys.executable, "-c", UNARY, point, name, rule) as child:
        yield f"127.0.0.1:{int(first_line(child))}", child.pid


@contextlib.contextmanager
def scripted(script: str, base: Path, *arguments: str) -> Iterator[int]:
    """A peer from a script of this file; yields its process."""
    with process(sys.executable, "-c", script, str(base), *arguments) as child:
        assert first_line(child) == "ready\n"
        yield child.pid


@contextlib.contextmanager
def bridged(model: Path, features: Path) -> Iterator[str]:
    """`GRAPH` with the messages of `passpilot features --proto`; yields its address."""
    from grpc_tools import protoc

    command = [str(PASSPILOT), "features", "--load", str(features), "--point=evict", "--proto"]
    folder = model.parent
    (folder / "evict.proto").write_text(subprocess.check_output(command, text=True))
    outputs = [f"--python_out={folder}", f"--grpc_python_out={folder}"]
    assert protoc.main(["protoc", f"-I{folder}", *outputs, "evict.proto"]) == 0
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    path = f"PYTHONPATH={folder}"  # the modules that protoc writes import each other
    with process("env", path, sys.executable, "-c", GRAPH, str(model), str(port)):
        yield f"127.0.0.1:{port}"


def null_policy(folder: Path, point: Point) -> str:
    """Write a Python policy that reads all tensors of the point, sums a vector, and answers 0; its spec."""
    names = [spec.name for spec in point.features if spec.name != point.default.name]
    total = "    obs['v'].sum()\n" if names == ["v"] else ""
    path = folder / "null.py"
    path.write_text(f"def decide(obs):\n{total}    return 0\n\n\ndecide.features = {names!r}\n")
    return f"python:{path}:decide"
