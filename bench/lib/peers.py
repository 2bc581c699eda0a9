# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The peers of measured runners: passpilot's model servers and others."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from passpilot.features.point import Point

COMMAND: Final = "import sys; from passpilot.cli.main import main; sys.exit(main(sys.argv[1:]))"
"""The command `passpilot`, for `python -c`."""

BRIDGE: Final = """
import sys
from compilerinterface import PipeCompilerInterface

base, form, reads = sys.argv[1:]
peer = PipeCompilerInterface(form, base)
print("ready", flush=True)
peer.reset_pipes()
while True:
    tensors = peer.evaluate()
    if reads == "reads":
        vector = tensors["v"] if form == "json" else tensors[0]
        total = sum(vector[i] for i in range(len(vector)))
    peer.populate_buffer(0)
"""
"""ML-Compiler-Bridge's own Python end with a model that answers 0, after reading the vector if there is one.

Its tensors only offer access to their length and to one element at a time.
"""

MLGO: Final = """
import json, os, sys

base = sys.argv[1]
for name in (".in", ".out"):
    os.mkfifo(base + name, 0o600)
print("ready", flush=True)
answers, questions = open(base + ".in", "wb", 0), open(base + ".out", "rb")
width = {"float": 4, "double": 8, "int64_t": 8}
size = 1
for spec in json.loads(questions.readline())["features"]:
    count = 1
    for extent in spec["shape"]:
        count *= extent
    size += count * width[spec["type"]]
while line := questions.readline():
    if line.startswith(b'{"observation"'):
        questions.read(size)
        answers.write(bytes(8))
"""
"""A minimal agent for MLGO's interactive mode that always answers 0."""


GRAPH: Final = """
import importlib, sys
import numpy as np
import onnxruntime
from compilerinterface.GrpcCompilerInterface import GrpcCompilerInterface

folder, model, port = sys.argv[1:]
sys.path.insert(0, folder)
messages, services = importlib.import_module("evict_pb2"), importlib.import_module("evict_pb2_grpc")
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
inputs = {each.name: each.shape for each in session.get_inputs()}

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
    """The first line that a child process prints."""
    assert child.stdout is not None
    return child.stdout.readline()


@contextlib.contextmanager
def piped(runner: str, base: Path, *flags: str) -> Iterator[int]:
    """`passpilot serve --pipe`; yields its process."""
    with process(sys.executable, "-c", COMMAND, "serve", runner, "--pipe", str(base), *flags) as child:
        yield child.pid


@contextlib.contextmanager
def streamed(runner: str, *flags: str) -> Iterator[tuple[str, int]]:
    """`passpilot serve --grpc`; yields its address and its process."""
    with process(sys.executable, "-c", COMMAND, "serve", runner, "--grpc", "127.0.0.1:0", *flags) as child:
        yield first_line(child).split()[-1], child.pid


@contextlib.contextmanager
def exchanging() -> Iterator[str]:
    """`EXCHANGE`; yields its port."""
    with process(sys.executable, "-c", EXCHANGE) as child:
        yield first_line(child).strip()


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

    command = [sys.executable, "-c", COMMAND, "features", "--load", str(features), "--point=evict", "--proto"]
    folder = model.parent
    (folder / "evict.proto").write_text(subprocess.check_output(command, text=True))
    outputs = [f"--python_out={folder}", f"--grpc_python_out={folder}"]
    assert protoc.main(["protoc", f"-I{folder}", *outputs, "evict.proto"]) == 0
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with process(sys.executable, "-c", GRAPH, str(folder), str(model), str(port)):
        yield f"127.0.0.1:{port}"


def null_policy(folder: Path, point: Point) -> str:
    """Write a Python policy that reads all tensors of the point, sums a vector, and answers 0; its spec."""
    names = [spec.name for spec in point.features if spec.name != point.default.name]
    total = "    obs['v'].sum()\n" if names == ["v"] else ""
    path = folder / "null.py"
    path.write_text(f"def decide(obs):\n{total}    return 0\n\n\ndecide.features = {names!r}\n")
    return f"python:{path}:decide"
