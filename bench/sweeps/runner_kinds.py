# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A part of sweeps.runners: runners of every kind that give the same answers, and their peers.

At `inline` a callee with fewer than four blocks is inlined, at `evict` the first legal column is taken, and
at `priority` the length of the live range is the priority. `const:`, `random:`, `default`, models and
policies of the package give answers of their own.
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Final

import numpy as np
from onnx import TensorProto

from bench.lib import models as runner_models
from bench.lib import peers as runner_peers
from bench.lib.native import c_function
from passpilot.features.domain import Choice, Number
from passpilot.features.point import find_point
from passpilot.runners.base import own_features
from passpilot.runners.native import function_runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import ExitStack
    from pathlib import Path

    from passpilot.runners.spec import RunnerLike

    Made = tuple[RunnerLike, int | None]
    """The runner, and the process of its peer."""

READS: Final = {"inline": "callee_basic_block_count", "evict": "mask", "priority": "li_size"}
"""The tensor that the common policy reads."""

POLICY: Final = """
def inline(obs):
    return obs["callee_basic_block_count"].item() < 4


def evict(obs):
    return int(obs["mask"].argmax())


def priority(obs):
    return float(obs["li_size"].item())


inline.features, evict.features, priority.features = ("callee_basic_block_count",), ("mask",), ("li_size",)
"""
IN_C: Final = {
    "inline": "*(int64_t *)output = *read < 4;",
    "evict": "int64_t column = 0; while (!read[column]) ++column; *(int64_t *)output = column;",
    "priority": "*(double *)output = *read;",
}
DECIDE: Final = """
import sys

base, point = sys.argv[1:3]
answer = {
    "inline": lambda values: int(values[0] < 4),
    "evict": lambda values: list(values).index(1),
    "priority": lambda values: float(values[0]),
}[point]
name = {"inline": "callee_basic_block_count", "evict": "mask", "priority": "li_size"}[point]
"""
MLGO: Final = (
    DECIDE
    + """
import json, math, os, struct

for end in ("in", "out"):
    os.mkfifo(f"{base}.{end}", 0o600)
print("ready", flush=True)
codes = {"int64_t": "q", "float": "f", "double": "d"}
with open(f"{base}.in", "wb", 0) as answers, open(f"{base}.out", "rb") as questions:
    header = json.loads(questions.readline())
    size = 0
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
)
"""An agent of MLGO's protocol."""

BRIDGE: Final = (
    DECIDE
    + """
import ctypes
from compilerinterface.PipeCompilerInterface import PipeCompilerInterface

kind = sys.argv[3]
peer = PipeCompilerInterface(kind, base)
print("ready", flush=True)
peer.reset_pipes()
while True:
    tensors = peer.evaluate()
    tensor = tensors[name] if kind == "json" else tensors[0]
    values = [tensor[n] for n in range(len(tensor))] if hasattr(tensor, "__len__") else [tensor]
    advice = answer(values)
    peer.populate_buffer(ctypes.c_double(advice) if point == "priority" else ctypes.c_long(advice))
"""
)
"""A model behind ML-Compiler-Bridge's own Python end; the compiler sends it one tensor."""

UNARY: Final = (
    DECIDE
    + """
from concurrent.futures import ThreadPoolExecutor
import grpc
from passpilot.features.point import find_point
from passpilot.runners.foreign.mlbridge_grpc import point_service

service = point_service(find_point(point))
field = service.reply.field[0]

def advise(request, _):
    values = getattr(request, name)
    advice = answer(values if hasattr(values, "__len__") else [values])
    return service.make(service.reply)(**{field.name: [advice] if field.label == 3 else advice})

handler = grpc.unary_unary_rpc_method_handler(
    advise, service.make(service.request).FromString, service.make(service.reply).SerializeToString)
server = grpc.server(ThreadPoolExecutor(1))
_, path, method = service.path.split("/")
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(path, {method: handler}),))
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(port, flush=True)
server.wait_for_termination()
"""
)
"""A server with one unary call per decision."""


def model(folder: Path, point: str) -> tuple[Path, str]:
    """A perceptron over the point's tensors that are never NaN, and the runner's keys."""
    found, path = find_point(point), folder / "model.onnx"
    features = [spec for spec in own_features(found) if spec.name != "use_def_density"]
    domain = found.domain
    outputs = domain.count if isinstance(domain, Choice) else 1 if isinstance(domain, Number) else 2
    width = sum(spec.size for spec in features)
    graph = runner_models.Graph()
    graph.input("x", TensorProto.FLOAT, (1, width))
    bounds = [graph.constant(name, np.array(value, "f4")) for name, value in (("l", -9), ("h", 9))]
    graph.node("Clip", ["x", *bounds], "small")
    graph.perceptron("small", (width, 16, outputs), "scores")
    graph.node("Abs", ["scores"], "logits")
    graph.save(path, outputs)
    return path, f"map=x:{','.join(spec.name for spec in features)}"


class Kinds:
    """Makes the runners of one decision point; their peers end with `stack`."""

    def __init__(self, point: str, folder: Path, stack: ExitStack) -> None:
        self._point, self._folder, self._stack = point, folder, stack
        (folder / "policy.py").write_text(POLICY)
        self.policy = f"python:{folder / 'policy.py'}:{point}"

    def make(self, kind: str) -> Made:
        """The runner of a kind."""
        return MAKERS[kind](self)

    def constant(self) -> Made:
        """The number 0, or the column that evicts nothing."""
        return f"const:{32 if self._point == 'evict' else 0}", None

    def function(self) -> Made:
        """A function in C."""
        point = find_point(self._point)
        body = f"const int64_t *read = inputs[0]; {IN_C[self._point]}"
        address = c_function(self._folder / "decide.so", body)
        return function_runner(address, point.select([READS[self._point]]), point.advice), None

    def onnx(self) -> Made:
        """A model in onnxruntime."""
        path, keys = model(self._folder, self._point)
        return f"onnx:{path}?{keys}", None

    def compiled(self) -> Made:
        """The same model, compiled ahead of time."""
        path, keys = model(self._folder, self._point)
        return f"aot:{runner_models.ahead_of_time(path)}?{keys}", None

    def piped(self, keys: str = "") -> Made:
        """`passpilot serve --pipe`."""
        base = self._folder / "pipe"
        peer = runner_peers.piped(self.policy, base, f"--point={self._point}")
        return f"pipe:{base}{keys}", self._stack.enter_context(peer)

    def streamed(self) -> Made:
        """`passpilot serve --grpc`."""
        peer = runner_peers.streamed(self.policy, f"--point={self._point}")
        target, process = self._stack.enter_context(peer)
        return f"grpc:{target}", process

    def unary(self) -> Made:
        """One call of gRPC per decision."""
        target, process = self._stack.enter_context(_unary(self._point))
        return f"grpc:{target}?protocol=mlbridge&features={READS[self._point]}", process

    def agent(self) -> Made:
        """An agent of MLGO's protocol."""
        base = self._folder / "mlgo"
        peer = runner_peers.scripted(MLGO, base, self._point)
        return f"pipe:{base}?protocol=mlgo", self._stack.enter_context(peer)

    def bridge(self, serdes: str, theirs: str) -> Made:
        """A model of ML-Compiler-Bridge."""
        base = self._folder / "bridge"
        peer = runner_peers.scripted(BRIDGE, base, self._point, theirs)
        keys = f"protocol=mlbridge&serdes={serdes}&features={READS[self._point]}"
        return f"pipe:{base}?{keys}", self._stack.enter_context(peer)


@contextlib.contextmanager
def _unary(point: str) -> Iterator[tuple[str, int]]:
    with runner_peers.process(sys.executable, "-c", UNARY, "", point) as child:
        yield f"127.0.0.1:{int(runner_peers.first_line(child))}", child.pid


MAKERS: Final[dict[str, Callable[[Kinds], Made]]] = {
    "python": lambda kinds: (kinds.policy, None),
    "native": Kinds.function,
    "const": Kinds.constant,
    "random": lambda _: ("random:3", None),
    "default": lambda _: ("default", None),
    "onnx": Kinds.onnx,
    "aot": Kinds.compiled,
    "pipe": Kinds.piped,
    "pipe, JSON": lambda kinds: kinds.piped("?serdes=json"),
    "pipe, protobuf": lambda kinds: kinds.piped("?serdes=protobuf"),
    "pipe, mlgo": Kinds.agent,
    "pipe, mlbridge": lambda kinds: kinds.bridge("bitstream", "bytes"),
    "pipe, mlbridge, JSON": lambda kinds: kinds.bridge("json", "json"),
    "grpc": Kinds.streamed,
    "grpc, unary": Kinds.unary,
}
"""The kinds that a compilation in this process asks; `replay` and `attach` are made differently."""

_HERE: Final = ("python", "native", "replay", "decisions")
ALIKE: Final = {*_HERE, *(kind for kind in MAKERS if kind.startswith(("pipe", "grpc")))}
"""The kinds in this process that must give what the Python policy gives."""
