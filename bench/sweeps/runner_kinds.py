# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runners of every kind that give the same answers, and their peers.

At `inline` a callee with fewer than four blocks is inlined, at `evict` the first legal column is taken, and
at `priority` the length of the live range is the priority. `const:`, `random:`, `default`, models and
policies of the package give answers of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from onnx import TensorProto

from bench.lib import models, peers
from bench.lib.native import c_function
from passpilot.features.domain import Choice, Number
from passpilot.features.point import find_point
from passpilot.runners.base import own_features
from passpilot.runners.native import function_runner

if TYPE_CHECKING:
    from contextlib import ExitStack

    from passpilot.runners.spec import RunnerLike

    RunnerAndPeer = tuple[RunnerLike, int | None]
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
RULES: Final = {
    "inline": "int(values[0] < 4)",
    "evict": "list(values).index(1)",
    "priority": "float(values[0])",
}
"""The common policy for peers in scripts."""


def model(folder: Path, point: str) -> tuple[Path, str]:
    """A perceptron over the point's tensors that are never NaN, and the runner's keys."""
    found, path = find_point(point), folder / "model.onnx"
    features = [spec for spec in own_features(found) if spec.name != "use_def_density"]
    domain = found.domain
    outputs = domain.count if isinstance(domain, Choice) else 1 if isinstance(domain, Number) else 2
    width = sum(spec.size for spec in features)
    graph = models.Graph()
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
        self._rule = READS[point], RULES[point]
        (folder / "policy.py").write_text(POLICY)
        self.policy = f"python:{folder / 'policy.py'}:{point}"

    def make(self, kind: str) -> RunnerAndPeer:
        return MAKERS[kind](self)

    def constant(self) -> RunnerAndPeer:
        """The number 0, or the column that evicts nothing."""
        return f"const:{32 if self._point == 'evict' else 0}", None

    def function(self) -> RunnerAndPeer:
        point = find_point(self._point)
        body = f"const int64_t *read = inputs[0]; {IN_C[self._point]}"
        address = c_function(self._folder / "decide.so", body)
        return function_runner(address, point.select([READS[self._point]]), point.advice), None

    def onnx(self) -> RunnerAndPeer:
        path, keys = model(self._folder, self._point)
        return f"onnx:{path}?{keys}", None

    def compiled(self) -> RunnerAndPeer:
        path, keys = model(self._folder, self._point)
        return f"aot:{models.ahead_of_time(path)}?{keys}", None

    def piped(self, keys: str = "") -> RunnerAndPeer:
        base = self._folder / "pipe"
        peer = peers.piped(self.policy, base, f"--point={self._point}")
        return f"pipe:{base}{keys}", self._stack.enter_context(peer)

    def streamed(self) -> RunnerAndPeer:
        peer = peers.streamed(self.policy, f"--point={self._point}")
        target, process = self._stack.enter_context(peer)
        return f"grpc:{target}", process

    def unary(self) -> RunnerAndPeer:
        """One call of gRPC per decision."""
        peer = peers.unary(self._point, *self._rule)
        target, process = self._stack.enter_context(peer)
        return f"grpc:{target}?protocol=mlbridge&features={READS[self._point]}", process

    def agent(self) -> RunnerAndPeer:
        base = self._folder / "mlgo"
        peer = peers.scripted(peers.MLGO, base, *self._rule)
        return f"pipe:{base}?protocol=mlgo", self._stack.enter_context(peer)

    def bridge(self, serdes: str, theirs: str) -> RunnerAndPeer:
        base = self._folder / "bridge"
        peer = peers.scripted(peers.BRIDGE, base, theirs, *self._rule)
        keys = f"protocol=mlbridge&serdes={serdes}&features={READS[self._point]}"
        return f"pipe:{base}?{keys}", self._stack.enter_context(peer)


MAKERS: Final[dict[str, Callable[[Kinds], RunnerAndPeer]]] = {
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
