# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each kind of runner decides on priorities in a compilation as it would elsewhere."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Final

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, save

from passpilot.features.llvm.priority import DECISION
from passpilot.features.log.reader import read_log
from passpilot.features.point import find_point
from passpilot.passes.llvm_advisors import PriorityAdvisor
from passpilot.plugin.errors import (
    AdviceError,
    Error,
    ModelError,
    PasspilotWarning,
    PeerError,
    PolicyError,
    SpecMismatchError,
)
from passpilot.runners.native import function_runner
from passpilot.runners.spec import RunnerLike, make_runner
from tests import stock
from tests.passes.allocation.pressure import allocated
from tests.runners.serving.serving import served
from tests.runners.test_native import drawn

Arrays = dict[str, NDArray[np.generic]]


def decided(source: Path, runner: RunnerLike, log: Path) -> tuple[bytes, Arrays]:
    """The object file, and all that the log holds."""
    with PriorityAdvisor(runner, log=str(log)) as advisor:
        code = allocated(source, advisor)
    return code, read_log(log).to_arrays()


def advice(arrays: Arrays) -> list[float]:
    numbers: list[float] = arrays["priority"][:, 0].tolist()
    return numbers


def test_default_that_is_asked(pressed: Path, pressed_by_llc: bytes, tmp_path: Path) -> None:
    code, arrays = decided(pressed, "default", tmp_path / "log")
    assert code == pressed_by_llc
    assert (arrays["priority"] == arrays["priority_default"]).all()
    assert allocated(pressed, PriorityAdvisor(make_runner("default", find_point("priority")))) == code


def test_constants(pressed: Path, pressed_by_llc: bytes, tmp_path: Path) -> None:
    """All are alike: LLVM takes the live ranges by their numbers then."""
    zero, arrays = decided(pressed, "const:0", tmp_path / "zero.log")
    assert set(advice(arrays)) == {0.0}
    large, arrays = decided(pressed, "const:4294967295", tmp_path / "large.log")
    assert set(advice(arrays)) == {4294967295.0}
    assert zero == large != pressed_by_llc


def test_random_is_the_documented_hash_natively_and_over_a_pipe(pressed: Path, tmp_path: Path) -> None:
    code, arrays = decided(pressed, "random:7", tmp_path / "native.log")
    contexts = [each.context for each in read_log(tmp_path / "native.log")]
    ordinals = [contexts[:number].count(context) for number, context in enumerate(contexts)]
    expected = [drawn(7, context, ordinal) >> 32 for context, ordinal in zip(contexts, ordinals, strict=True)]
    assert advice(arrays) == expected
    base = str(tmp_path / "server")
    with served("random:7", base, "--point=priority"):
        assert decided(pressed, f"pipe:{base}", tmp_path / "pipe.log")[0] == code
    assert (tmp_path / "pipe.log").read_bytes() == (tmp_path / "native.log").read_bytes()


POLICY = """
import os, signal

def echo(obs):
    return obs.default()

echo.features = ("priority_default",)

def light_first(obs):
    assert obs.point == "priority" and obs.context in ("sums", "blend", "main")
    return 1000 / (1 + min(obs["weight"][0], 1e6))

def fails(obs):
    raise ValueError("no idea")

def dies(obs):
    os.kill(os.getpid(), signal.SIGKILL)

def negative(obs):
    return -1
"""


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    path = tmp_path / "policies.py"
    path.write_text(POLICY)
    return path


def test_a_policy_here_and_at_the_other_end_of_a_pipe(
    pressed: Path, pressed_by_llc: bytes, policies: Path
) -> None:
    """Echoed over a pipe, LLVM's priorities stay exact."""
    base = str(policies.with_name("ch"))
    with served(f"python:{policies}:echo", base, "--point=priority"):
        echoed, _ = decided(pressed, f"pipe:{base}", policies.with_name("echo.log"))
    assert echoed == pressed_by_llc
    here, arrays = decided(pressed, f"python:{policies}:light_first", policies.with_name("here.log"))
    with served(f"python:{policies}:light_first", base, "--point=priority"):
        there, _ = decided(pressed, f"pipe:{base}", policies.with_name("there.log"))
    assert here == there != pressed_by_llc
    weights = np.minimum(arrays["weight"][:, 0], 1e6)
    np.testing.assert_allclose(advice(arrays), 1000 / (1 + weights), rtol=1e-5)


def model(path: Path, dtype: int) -> Path:
    """A thousandth of the size, of the wanted type."""
    nodes = [
        helper.make_node("Cast", ["li_size"], ["size"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["size", "factor"], ["product"]),
        helper.make_node("Cast", ["product"], ["y"], to=dtype),
    ]
    inputs = [helper.make_tensor_value_info("li_size", TensorProto.INT64, [1])]
    outputs = [helper.make_tensor_value_info("y", dtype, [1])]
    factor = helper.make_tensor("factor", TensorProto.FLOAT, [1], [0.001])
    graph = helper.make_graph(nodes, "m", inputs, outputs, [factor])
    save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), str(path))
    return path


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT, TensorProto.DOUBLE])
def test_a_model_decides_as_onnxruntime_computes(pressed: Path, tmp_path: Path, dtype: int) -> None:
    path = model(tmp_path / "model.onnx", dtype)
    _, arrays = decided(pressed, f"onnx:{path}", tmp_path / "log")
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    assert advice(arrays) == [float(session.run(None, {"li_size": row})[0][0]) for row in arrays["li_size"]]
    assert any(number != int(number) for number in advice(arrays))


@pytest.mark.parametrize("on_error", ["fail", "default"])
def test_a_wrong_model(tmp_path: Path, on_error: str) -> None:
    nodes = [helper.make_node("Identity", ["mask"], ["y"])]
    inputs = [helper.make_tensor_value_info("mask", TensorProto.INT64, [1, 33])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.INT64, [1, 33])]
    graph = helper.make_graph(nodes, "m", inputs, outputs)
    path = tmp_path / "m.onnx"
    save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), str(path))
    with pytest.raises(SpecMismatchError, match="input 'mask': expected a tensor that the compiler offers"):
        PriorityAdvisor(f"onnx:{path}", on_error=on_error)  # type: ignore[arg-type]


@pytest.mark.parametrize("answer", ["nan", "-1", "inf", "4294967296"])
def test_a_model_that_answers_nonsense(
    pressed: Path, pressed_by_llc: bytes, tmp_path: Path, answer: str
) -> None:
    node = helper.make_node("Constant", [], ["y"], value_floats=[float(answer)])
    graph = helper.make_graph([node], "m", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])])
    path = tmp_path / "m.onnx"
    save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), str(path))
    with pytest.raises((AdviceError, ModelError), match=rf"(?i)decision 0 \(function sums, .*got {answer}"):
        allocated(pressed, PriorityAdvisor(f"onnx:{path}"))
    advisor = PriorityAdvisor(f"onnx:{path}", on_error="default")
    with pytest.warns(PasspilotWarning, match="fell back to the default"):
        assert allocated(pressed, advisor) == pressed_by_llc


FUNCTION = """
#include <stdint.h>
int decide(void *context, const void *const *inputs, void *output) {
  const int64_t *size = inputs[0];
  ++*(int64_t *)context;
  *(double *)output = 4294967295.0 - (double)*size;
  return *(int64_t *)context > 1000 ? 7 : 0;
}
"""


def test_a_compiled_function(pressed: Path, tmp_path: Path) -> None:
    (tmp_path / "decide.c").write_text(FUNCTION)
    stock.run("clang", "-O2", "-shared", "-fPIC", tmp_path / "decide.c", "-o", tmp_path / "decide.so")
    library = ctypes.CDLL(str(tmp_path / "decide.so"))
    address = ctypes.cast(library.decide, ctypes.c_void_p).value
    assert address is not None
    inputs, asked = find_point("priority").select(["li_size"]), ctypes.c_int64(0)
    runner = function_runner(address, inputs, DECISION, context=ctypes.addressof(asked))
    _, arrays = decided(pressed, runner, tmp_path / "log")
    assert advice(arrays) == (4294967295.0 - arrays["li_size"][:, 0].astype(float)).tolist()
    assert asked.value == len(advice(arrays))
    asked.value = 1000
    runner = function_runner(address, inputs, DECISION, context=ctypes.addressof(asked))
    with pytest.raises(ModelError, match="native function: expected status 0, got 7"):
        allocated(pressed, PriorityAdvisor(runner))


THROWS: Final = """
#include <stdexcept>
extern "C" int decide(void *, const void *const *, void *) { throw std::runtime_error("no luck"); }
"""


def test_a_compiled_function_that_throws(pressed: Path, tmp_path: Path) -> None:
    """The exception ends at the question: the code generator cannot be unwound."""
    (tmp_path / "decide.cpp").write_text(THROWS)
    stock.run("clang++", "-shared", "-fPIC", tmp_path / "decide.cpp", "-o", tmp_path / "decide.so")
    address = ctypes.cast(ctypes.CDLL(str(tmp_path / "decide.so")).decide, ctypes.c_void_p).value
    assert address is not None
    runner = function_runner(address, find_point("priority").select(["li_size"]), DECISION)
    with pytest.raises(ModelError, match=r"priority advisor at decision 0 \(function .*\): .*no luck"):
        allocated(pressed, PriorityAdvisor(runner))


@pytest.mark.parametrize(
    ("name", "kind", "told"),
    [
        ("fails", PolicyError, r"ValueError: no idea \(.*policies.py:14\)"),
        ("negative", AdviceError, "expected a number of 0 to 4294967295, got int -1"),
    ],
)
def test_a_policy_that_fails(
    pressed: Path, pressed_by_llc: bytes, policies: Path, name: str, kind: type[Error], told: str
) -> None:
    runner = f"python:{policies}:{name}"
    with pytest.raises(kind, match=rf"priority advisor at decision 0 \(function sums, %\d+\): {told}"):
        allocated(pressed, PriorityAdvisor(runner))
    with pytest.warns(PasspilotWarning, match=told):
        assert allocated(pressed, PriorityAdvisor(runner, on_error="default")) == pressed_by_llc


def test_a_peer_that_dies(pressed: Path, pressed_by_llc: bytes, policies: Path) -> None:
    for on_error in ("fail", "default"):
        base = str(policies.with_name(on_error))
        with served(f"python:{policies}:dies", base, "--point=priority"):
            if on_error == "fail":
                with pytest.raises(PeerError, match="the peer is gone"):
                    allocated(pressed, PriorityAdvisor(f"pipe:{base}"))
            else:
                with pytest.warns(PasspilotWarning, match="the peer is gone"):
                    code = allocated(pressed, PriorityAdvisor(f"pipe:{base}", on_error="default"))
                assert code == pressed_by_llc
