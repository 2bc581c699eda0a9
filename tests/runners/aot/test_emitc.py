# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models in C++, as LLVM's EmitC route writes them: the answers of onnxruntime, and files that do not fit."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from passpilot.cli.aot import main
from passpilot.features.point import find_point
from passpilot.plugin.errors import Error, ModelError, SpecMismatchError
from passpilot.plugin.module import Module
from passpilot.runners.base import allocate
from passpilot.runners.spec import make_runner
from tests.runners.aot.library import Library, library
from tests.runners.aot.lowered import IN_CLASS, lowered, tosa
from tests.runners.aot.models import mlp

SMALLER = """
func.func @model(%users: memref<1xi64>, %cost: memref<1xi64>, %answer: memref<1xi64>) {
  %zero = arith.constant 0 : index
  %a = memref.load %users[%zero] : memref<1xi64>
  %b = memref.load %cost[%zero] : memref<1xi64>
  %c = arith.cmpi slt, %b, %a : i64
  %d = arith.extui %c : i1 to i64
  memref.store %d, %answer[%zero] : memref<1xi64>
  return
}
"""
"""Whether the first number is larger than the second."""
NAMED = """
#include <map>
#include <string>
class Model final {
public:
  int64_t some_users[1];
  int64_t some_cost[1];
  static constexpr int64_t one[1] = {1};
  const std::map<std::string, char *> reflectionMap = {
      {"cost_estimate", reinterpret_cast<char *>(&some_cost)},
      {"callee_users", reinterpret_cast<char *>(&some_users)}};
  char *getBufferForName(std::string v1) {
    auto v2 = reflectionMap.find(v1);
    return v2 == reflectionMap.end() ? nullptr : v2->second;
  }
  int64_t operator()() {
    size_t v3 = 0;
    int64_t v4 = some_users[v3];
    bool v5 = some_cost[v3] < v4;
    return v5 ? one[v3] : 0;
  }
};
"""
"""The same model as a newer LLVM wraps it: names by a map, an answer that is returned."""
NAMES = "--buffer=callee_users,cost_estimate,decision"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The present folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compiled(text: str, *options: str, name: str = "m") -> Path:
    """The library of a C++ text in the present folder."""
    Path(f"{name}.cpp").write_text(text)
    assert main([f"{name}.cpp", "-o", f"{name}.so", *options]) == 0
    return Path(f"{name}.so").absolute()


def refused(text: str, *options: str, model: str = "m.cpp") -> str:
    Path("m.cpp").write_text(text)
    with pytest.raises(Error) as caught:
        main([model, "-o", "refused.so", *options])
    assert not Path("refused.so").exists()
    return str(caught.value)


def observations(count: int = 50) -> NDArray[np.float32]:
    return np.random.default_rng(3).normal(0, 1, (count, 1, 38)).astype("f4")


@pytest.mark.parametrize("activation", ["Relu", "Tanh"])
def test_a_perceptron_answers_as_onnxruntime_and_our_own_compiler(folder: Path, activation: str) -> None:
    made = mlp((38, 16, 8, 2), activation)
    cpp = Library(compiled(lowered(tosa(made)), "--buffer=x", "--buffer=logits", "-mcpu=native"))
    own = library(made, folder)
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    (spec,) = cpp.outputs
    assert f"{spec.name} {spec.dtype} {spec.shape}" == "logits float32 (1, 1, 2)"
    assert len({int(cpp.run({"x": x})["logits"].argmax()) for x in observations()}) == 2
    for x in observations():
        found = cpp.run({"x": x})["logits"].reshape(1, 2).astype("f4")
        (expected,) = session.run(None, {"x": x})
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(found, own.run({"x": x})["logits"].astype("f4"), rtol=1e-5, atol=1e-5)
    cpp.close()
    own.close()


@pytest.mark.parametrize("form", ["function", "class", "class with names"])
def test_every_form_decides(form: str) -> None:
    more = (IN_CLASS,) if form == "class" else ()
    text = NAMED if form == "class with names" else lowered(SMALLER, *more)
    path = compiled(text, *([] if form == "class with names" else [NAMES]), "--point=inline")
    runner = allocate(make_runner(f"aot:{path}", find_point("inline")))
    assert {spec.name for spec in runner.inputs} == {"callee_users", "cost_estimate"}
    for users, cost in ((3, 2), (2, 3), (-5, -6), (1 << 40, 1)):
        runner.tensors["callee_users"][...] = users
        runner.tensors["cost_estimate"][...] = cost
        assert runner.evaluate() == (cost < users)


def test_contexts_of_a_class_are_independent() -> None:
    path = compiled(lowered(SMALLER, IN_CLASS), NAMES)
    first, second = Library(path), Library(path)
    assert first.context != second.context
    yes = {"callee_users": np.array([2]), "cost_estimate": np.array([1])}
    no = {"callee_users": np.array([1]), "cost_estimate": np.array([2])}
    asked = [(first, yes), (second, no), (first, yes)]
    assert [int(library.run(values)["decision"].item()) for library, values in asked] == [1, 0, 1]
    first.close()
    second.close()


def test_outputs_and_a_function_are_chosen() -> None:
    text = lowered(SMALLER) + lowered(SMALLER.replace("@model", "@other").replace("slt", "sgt"))
    Path("m.cpp").write_text(text)
    assert main(["m.cpp:other", "-o", "m.so", "--buffer=users,cost,all", "--output=all"]) == 0
    other = Library(Path("m.so").absolute())
    assert [spec.name for spec in other.outputs] == ["all"]
    assert other.run({"users": np.array([1]), "cost": np.array([2])})["all"] == 1
    other.close()
    assert "expected one function with buffers, or class with execute(), got model, other" in refused(
        text, NAMES
    )
    assert "expected a model none" in refused(text, NAMES, model="m.cpp:none")


def test_an_object_and_ir_have_one_name() -> None:
    Path("m.cpp").write_text(lowered(SMALLER))
    assert main(["m.cpp", "-o", "m.ll", NAMES]) == 0
    module = Module.read("m.ll")
    text = str(module)
    assert re.findall(r"^@(\w+) = (?!internal|private)", text, re.MULTILINE) == ["passpilot_policy"]
    assert not re.findall(r"^define (?!internal)", text, re.MULTILINE)
    assert main(["m.cpp", "-o", "m.o", NAMES, "--symbol=mine"]) == 0
    assert b"mine" in Path("m.o").read_bytes()


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (
            "callee_users,cost_estimat,y",
            "got cost_estimat; did you mean 'cost_estimate'",
        ),
        (
            "callee_users,y",
            "each of int64_t v1[1], int64_t v2[1], int64_t v3[1], got callee_users, y",
        ),
        ("a,a,y", "got a, a, y"),
    ],
)
def test_names_are_checked(names: str, told: str) -> None:
    assert told in refused(lowered(SMALLER), f"--buffer={names}", "--point=inline")


def test_types_are_checked() -> None:
    text = lowered(SMALLER).replace("int64_t v2[1]", "int32_t v2[1]")
    told = refused(text, NAMES, "--point=inline")
    assert "expected the feature" in told
    assert "got cost_estimate int32[1]" in told
    path = compiled(text, NAMES)
    with pytest.raises((ModelError, SpecMismatchError), match="cost_estimate"):
        make_runner(f"aot:{path}", find_point("inline"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "expected one function with buffers, or class with execute(), got none"),
        (
            "void f(float* v1, float v2[1]) {\n}\n",
            "expected parameters such as float v1[1][38], got 'float* v1'",
        ),
        ("void f(half v1[1], float v2[1]) {\n}\n", "got half"),
        ("void f(float v1[1], float v2[1]) {\n  v1 = none;\n}\n", "expected C++ that clang compiles, got: "),
        ("void f(float v1[1], float v2) {\n}\n", "expected an output that is an array, got b float32[]"),
    ],
)
def test_other_files_are_refused(text: str, told: str) -> None:
    assert told in refused(text, "--buffer=a,b")


def test_options_of_other_models_are_refused() -> None:
    assert "expected --shape with an ONNX model" in refused(lowered(SMALLER), "--shape=x:1")
    assert "expected --output among a, b, c, got d" in refused(
        lowered(SMALLER), "--buffer=a,b,c", "--output=d"
    )
    with pytest.raises(Error, match="expected --buffer with a model in C"):
        main(["m.onnx", "-o", "m.so", "--buffer=a"])
    with pytest.raises(Error, match=r"none\.cpp: expected a C\+\+ file, got: No such file"):
        main(["none.cpp", "-o", "m.so"])
