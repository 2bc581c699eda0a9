# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each kind of runner in a compilation decides as it would elsewhere."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from passpilot.features.columns import name_columns
from passpilot.features.custom import feature, unregister
from passpilot.features.llvm.inline import DECISION, FEATURES
from passpilot.features.log.reader import read_log
from passpilot.features.point import find_point
from passpilot.passes.llvm_advisors import InlineAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin import _core
from passpilot.plugin.errors import ModelError
from passpilot.plugin.module import Module
from passpilot.runners.base import Runner
from passpilot.runners.native import function_runner
from tests import stock
from tests.runners.serving.serving import served

PIPELINE = "default<O2>"
ALL_BITS = (1 << 64) - 1


def decided(program: Path, runner: str | Runner, log: Path) -> tuple[bytes, dict[str, NDArray[np.generic]]]:
    """The bitcode, and all the log holds."""
    module = Module.read(program)
    with InlineAdvisor(runner, log=str(log)) as advisor:
        optimize(module, PIPELINE, [advisor])
    return module.bitcode(), read_log(log).to_arrays()


def splitmix64(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & ALL_BITS
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & ALL_BITS
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & ALL_BITS
    return x ^ (x >> 31)


@pytest.mark.parametrize("seed", [0, 7, ALL_BITS])
def test_random_is_the_documented_hash_natively_and_over_a_pipe(
    program: Path, tmp_path: Path, seed: int
) -> None:
    code, arrays = decided(program, f"random:{seed}", tmp_path / "native.log")
    empty_context = 0xCBF29CE484222325
    key = splitmix64(seed ^ empty_context)
    drawn = [splitmix64((key + k) & ALL_BITS) >> 63 for k in range(len(arrays["inlining_decision"]))]
    assert arrays["inlining_decision"][:, 0].tolist() == drawn
    assert 0 < sum(drawn) < len(drawn)
    base = str(tmp_path / "server")
    with served(f"random:{seed}", base):
        assert decided(program, f"pipe:{base}", tmp_path / "pipe.log")[0] == code
    assert (tmp_path / "pipe.log").read_bytes() == (tmp_path / "native.log").read_bytes()


@pytest.fixture
def callee_size() -> Iterator[None]:
    @feature("uint16[1]")
    def callee_size(site: _core.CallSite) -> int:
        return site.callee.instruction_count

    yield
    unregister("callee_size")


POLICY = """
import passpilot

@passpilot.feature("uint16[1]")
def callee_size(site):
    return site.callee.instruction_count

def echo(obs):
    return obs.default()

echo.features = ("inlining_default",)

def small(obs):
    return obs["callee_size"] < 9 or obs["cost_estimate"] < 0

small.features = ("cost_estimate", "callee_size")
"""


def test_a_policy_at_the_other_end_of_a_pipe(
    program: Path,
    tmp_path: Path,
    callee_size: None,  # noqa: ARG001
) -> None:
    (tmp_path / "policy.py").write_text(POLICY)
    base = str(tmp_path / "server")
    with served(f"python:{tmp_path}/policy.py:echo", base):
        code, _ = decided(program, f"pipe:{base}", tmp_path / "echo.log")
    assert code == stock.opt(program, PIPELINE)[0]
    with served(f"python:{tmp_path}/policy.py:small", base):
        _, arrays = decided(program, f"pipe:{base}", tmp_path / "small.log")
    expected = (arrays["callee_size"] < 9) | (arrays["cost_estimate"] < 0)  # type: ignore[operator]
    assert (arrays["inlining_decision"] == expected).all()
    assert 0 < expected.sum() < len(expected)


def perceptron(path: Path) -> Path:
    """38-16-2 with seeded weights; one float input, logits."""
    random = np.random.default_rng(5)
    shapes = {"w1": (38, 16), "b1": (16,), "w2": (16, 2), "b2": (2,)}
    weights = [
        numpy_helper.from_array(random.normal(0, 0.3, shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"]),
        helper.make_node("Tanh", ["h"], ["a"]),
        helper.make_node("Gemm", ["a", "w2", "b2"], ["logits"]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 38])]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 2])]
    graph = helper.make_graph(nodes, "perceptron", inputs, outputs, weights)
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), path)
    name_columns(path, [row.spec.name for row in FEATURES])
    return path


def test_a_perceptron_decides_as_onnxruntime_computes(program: Path, tmp_path: Path) -> None:
    model = perceptron(tmp_path / "model.onnx")
    _, arrays = decided(program, f"onnx:{model}?map=x:*", tmp_path / "log")
    rows = np.hstack([arrays[row.spec.name] for row in FEATURES]).astype(np.float32)
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    logits = np.vstack([session.run(None, {"x": row[None, :]})[0] for row in rows])
    assert arrays["inlining_decision"][:, 0].tolist() == logits.argmax(1).tolist()
    assert len(set(logits.argmax(1))) == 2


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.9])
def test_a_probability_with_a_threshold_on_inputs_of_their_own(
    program: Path, tmp_path: Path, threshold: float
) -> None:
    path = tmp_path / "model.onnx"
    names = ("caller_users", "callee_users")
    nodes = [
        helper.make_node("Sub", list(names), ["difference"]),
        helper.make_node("Cast", ["difference"], ["x"], to=TensorProto.FLOAT),
        helper.make_node("Sigmoid", ["x"], ["p"]),
    ]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, [1]) for name in names]
    outputs = [helper.make_tensor_value_info("p", TensorProto.FLOAT, [1])]
    graph = helper.make_graph(nodes, "sigmoid", inputs, outputs)
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), path)
    _, arrays = decided(program, f"onnx:{path}?threshold={threshold}", tmp_path / "log")
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    pairs = zip(*(arrays[name] for name in names), strict=True)
    chances = [float(session.run(None, dict(zip(names, pair, strict=True)))[0][0]) for pair in pairs]
    assert arrays["inlining_decision"][:, 0].tolist() == [int(p >= threshold) for p in chances]


FUNCTION = """
#include <stdint.h>
struct counts { int64_t asked, limit; };
int decide(void *context, const void *const *inputs, void *output) {
  struct counts *c = context;
  const int64_t *cost = inputs[0], *users = inputs[1];
  if (++c->asked > c->limit) return 3;
  *(int64_t *)output = *cost + 10 * *users < 60;
  return 0;
}
"""


class Counts(ctypes.Structure):
    _fields_ = (("asked", ctypes.c_int64), ("limit", ctypes.c_int64))


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("function")
    (folder / "decide.c").write_text(FUNCTION)
    stock.run("clang", "-O2", "-shared", "-fPIC", folder / "decide.c", "-o", folder / "decide.so")
    return ctypes.CDLL(str(folder / "decide.so"))


def function(library: ctypes.CDLL, counts: Counts) -> Runner:
    address = ctypes.cast(library.decide, ctypes.c_void_p).value
    assert address is not None
    inputs = find_point("inline").select(["cost_estimate", "callee_users"])
    return function_runner(address, inputs, DECISION, context=ctypes.addressof(counts))


def test_a_compiled_function(program: Path, tmp_path: Path, library: ctypes.CDLL) -> None:
    counts = Counts(0, 10_000)
    _, arrays = decided(program, function(library, counts), tmp_path / "log")
    expected = arrays["cost_estimate"] + 10 * arrays["callee_users"] < 60  # type: ignore[operator]
    assert (arrays["inlining_decision"] == expected).all()
    assert 0 < expected.sum() < len(expected) == counts.asked


def test_a_compiled_function_that_fails(program: Path, tmp_path: Path, library: ctypes.CDLL) -> None:
    counts = Counts(0, 4)
    with pytest.raises(ModelError, match=r"at decision 4 .*native function: expected status 0, got 3"):
        decided(program, function(library, counts), tmp_path / "log")
    assert counts.asked == 5
