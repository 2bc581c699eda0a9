# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the plugin for stock mlir-opt refuses, and how."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from onnx import TensorProto, helper

from passpilot.plugin.toolchain import mlir_plugin
from tests.command import run
from tests.plugin.native.mlir.tools import CALLS, inlined, native, refused, stock, written

POLICIES: Final = """\
def raises(obs):
    raise ValueError("no idea")

def word(obs):
    return "yes"

def number(obs):
    return 2

def stops(obs):
    raise SystemExit(3)

def operation(obs):
    return obs.site.callee.regions

def late(obs):
    return obs["functions"][0] < 3 or raises(obs)
"""

OPTIONS: Final = {
    "runer=const:0": "no such option runer",
    "on-error=maybe": "expected fail|default for on-error, got 'maybe'",
    "max-iterations=x": "'x' value invalid for uint argument",
    "default-pipeline=nonsense": "expected passes as default-pipeline, got 'nonsense'",
    "default-pipeline=convert-func-to-llvm": "expected passes that run on func.func as default-pipeline",
    "runner=const:2": "runner const:2: expected const:0 or const:1, got '2'",
    "runner=random:x": "runner random:x: expected random:SEED with a 64-bit unsigned seed, such as",
    "runner=nobody:x": "runner scheme 'nobody': expected one of aot, const,",
    "runner=aot:no.so": "expected a model of 'passpilot aot', got No such file or directory",
    "runner=onnx:no.onnx": "model no.onnx: expected an ONNX file, got: No such file or directory",
    "runner=onnx:nan.onnx?as=maybe": "expected as=decision|logits|probability for mlir-inline, got 'maybe'",
    "runner=onnx:nan.onnx?speed=9": "expected keys among output, as, threshold, map, got speed",
    "runner=onnx:nan.onnx?as=logits&as=logits": "expected one value for 'as', got two",
    "runner=onnx:other.onnx": "expected a tensor that the compiler offers, got int64[1], which nobody offers",
    "runner=onnx:nan.onnx?as=probability": "in.mlir:7:8: error: mlir-inline advisor at decision 0 "
    "(middle -> leaf, in.mlir:7:8): output 'chance': expected numbers, got NaN",
    "runner=python:no.py:f": "no.py: expected a Python file that can be read",
    "runner=python:policy.py:nobody": "expected a name that policy.py defines",
    "runner=python:policy.py:raises": "(middle -> leaf, in.mlir:7:8): ValueError: no idea (",
    "runner=python:policy.py:word": "expected True, False, 0 or 1, got str 'yes'",
    "runner=python:policy.py:number": "expected True, False, 0 or 1, got int 2",
    "runner=python:policy.py:stops": "SystemExit: 3",
    "runner=python:policy.py:operation": "regions in a stock mlir-opt: only `passpilot mlir-opt` has it; ",
    "runner=const:0 log=no/x.log": "decision log no/x.log: expected a file to write, got: No such file",
    "runner=replay:no.log": "log no.log: expected a regular file that can be read",
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A module, with policies and models beside it."""
    written(tmp_path, "policy.py", POLICIES)
    for name, value in (("nan.onnx", "callee_uses"), ("other.onnx", "nobodys")):
        one = [helper.make_tensor_value_info(value, TensorProto.INT64, [1])]
        out = [helper.make_tensor_value_info("chance", TensorProto.FLOAT, [1])]
        nan = helper.make_tensor("nan", TensorProto.FLOAT, [1], np.array([np.nan], np.float32))
        nodes = [
            helper.make_node("Cast", [value], ["x"], to=TensorProto.FLOAT),
            helper.make_node("Mul", ["x", "nan"], ["chance"]),
        ]
        graph = helper.make_graph(nodes, "g", one, out, [nan])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        (tmp_path / name).write_bytes(model.SerializeToString())
    return written(tmp_path, "in.mlir", CALLS)


@pytest.mark.parametrize("options", OPTIONS)
def test_what_is_wrong_is_told(options: str, source: Path) -> None:
    told = refused(f"advised-inline{{{options}}}", source)
    assert OPTIONS[options].replace("in.mlir", str(source)) in told


def test_only_a_symbol_table_can_be_inlined_in(source: Path) -> None:
    assert "expected an operation with a symbol table" in refused("func.func(advised-inline)", source)


def test_a_failing_runner_can_leave_it_to_the_default(source: Path) -> None:
    done = stock("advised-inline{runner=python:policy.py:raises on-error=default}", source, cwd=source.parent)
    assert (done.code, done.out.decode()) == (0, native(source))
    assert "warning: mlir-inline advisor: 4 of 4 decisions fell back to the default; the first:" in done.err
    done = stock(
        "advised-inline{runner=onnx:nan.onnx?as=probability on-error=default}", source, cwd=source.parent
    )
    assert (done.code, done.out.decode()) == (0, native(source))
    assert "warning: mlir-inline advisor: 4 of 4 decisions fell back to the default; the first:" in done.err


@pytest.mark.parametrize("runner", ["const:0", "python:policy.py:late"])
def test_a_runner_that_is_never_asked_is_told(runner: str, tmp_path: Path) -> None:
    written(tmp_path, "policy.py", POLICIES)
    source = written(tmp_path, "in.mlir", "func.func @alone() {\n  return\n}\n")
    done = stock(f"advised-inline{{runner={runner}}}", source, cwd=tmp_path)
    assert done.code == 0
    assert f"warning: mlir-inline advisor: runner {runner} was never asked" in done.err


def test_no_log_of_a_failure(source: Path) -> None:
    written(source.parent, "x.log", "what was here")
    for runner in ("onnx:nan.onnx?as=probability", "python:policy.py:raises"):
        refused(f"advised-inline{{runner={runner} log=x.log}}", source)
        assert (source.parent / "x.log").read_text() == "what was here"


def test_a_dead_replay_is_an_error_at_the_call(source: Path) -> None:
    inlined("runner=const:0 log=x.log", source)
    told = refused("advised-inline{runner=replay:x.log}", written(source.parent, "in.mlir", CALLS + MORE))
    assert "expected functions = [3], got [4]" in told


MORE: Final = "func.func @more() {\n  return\n}\n"


@pytest.mark.skipif(not importlib.util.find_spec("torch_mlir"), reason="no other tool of MLIR's is there")
def test_a_tool_with_another_mlir_is_refused(source: Path) -> None:
    tool = Path(__file__).parents[4] / ".venv" / "bin" / "torch-mlir-opt"
    done = run(tool, f"--load-pass-plugin={mlir_plugin()}", source, cwd=source.parent)
    assert done.code == 1
    assert done.err.startswith(
        "error: passpilot: expected a tool with libMLIR.so.22.1, such as mlir-opt-22, got "
    )
