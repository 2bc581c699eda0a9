# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IR2Vec at `inline`: the vectors of both functions as LLVM computes them, whatever was inlined before."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

import passpilot
from passpilot.features.llvm.ir2vec import Kind
from passpilot.features.log.reader import read_log
from passpilot.plugin.errors import FeatureError, InputError, RunnerError, UsageError
from tests import stock
from tests.command import PASSPILOT
from tests.features.llvm.test_ir2vec import KINDS, printed
from tests.features.llvm.vocabularies import DIMENSION, ir2vec_sections, written
from tests.plugin.native.stock.tools import tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from passpilot.features.custom import CustomFeature

pytestmark = pytest.mark.usefixtures("registry")

BOTH = ("ir2vec_caller", "ir2vec_callee")
LOAD = f"import passpilot\npasspilot.ir2vec_features({'v.json'!r})\n"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return stock.clang(stock.MANY_CALLS, tmp_path / "in.bc")


@pytest.fixture
def vocabulary(tmp_path: Path) -> Path:
    return written(tmp_path / "v.json", ir2vec_sections())


@pytest.mark.parametrize("kind", KINDS)
def test_both_functions_are_embedded_as_they_are(program: Path, vocabulary: Path, kind: Kind) -> None:
    """`Vocabulary` computes the same of a copy of the module, and tests compare that with stock opt."""
    passpilot.ir2vec_features(vocabulary, kind=kind)
    reference = passpilot.Vocabulary.read(vocabulary)
    asked, callers = 0, set()

    def decide(obs: Any) -> bool:
        nonlocal asked
        module = passpilot.Module.read(obs.site.module_text().encode())
        for name, function in zip(BOTH, (obs.site.caller, obs.site.callee), strict=True):
            copy = module.function(function.name)
            assert copy is not None
            np.testing.assert_array_equal(obs[name], reference.embed(copy, kind))
        callers.add((obs.site.caller.name, obs[BOTH[0]].tobytes()))
        asked += 1
        return True

    decide.features = BOTH  # type: ignore[attr-defined]
    passpilot.optimize(
        passpilot.Module.read(program), "default<O2>", advisors=[passpilot.InlineAdvisor(decide)]
    )
    assert asked > 10
    assert len(callers) > len({name for name, _ in callers})  # some have changed between two questions


def test_a_policy_may_read_them_without_declaring_them(program: Path, vocabulary: Path) -> None:
    passpilot.ir2vec_features(vocabulary)
    seen = []

    def undeclared(obs: Any) -> bool:
        seen.append(obs["ir2vec_callee"].copy())
        return bool(obs.default())

    def declared(obs: Any) -> bool:
        np.testing.assert_array_equal(obs["ir2vec_callee"], seen.pop(0))
        return bool(obs.default())

    declared.features = ("ir2vec_callee",)  # type: ignore[attr-defined]
    made = []
    for policy in (undeclared, declared):
        module = passpilot.Module.read(program)
        passpilot.optimize(module, "default<O2>", advisors=[passpilot.InlineAdvisor(policy)])
        made.append(module.bitcode())
    assert not seen
    assert made[0] == made[1]


def test_the_first_question_has_what_stock_opt_prints(
    program: Path, vocabulary: Path, tmp_path: Path
) -> None:
    """In a pipeline of the inliner alone nothing changes the functions before it."""
    passpilot.ir2vec_features(vocabulary)
    expected = printed(vocabulary, program)
    module, log = passpilot.Module.read(program), tmp_path / "log"
    advisor = passpilot.InlineAdvisor("const:0", log=str(log))
    passpilot.optimize(module, "inliner-wrapper", advisors=[advisor])
    records = list(read_log(log))
    assert records
    for record in records:
        for name, function in zip(BOTH, (record.caller, record.callee), strict=True):
            np.testing.assert_allclose(record.tensors[name].astype(float), expected[function], atol=0.0051)


def chooser(path: Path) -> Path:
    """A model that decides by the two vectors alone."""
    weights = numpy_helper.from_array(np.linspace(-1, 1, 2 * DIMENSION, dtype=np.float32)[:, None], "w")
    zero = numpy_helper.from_array(np.zeros(1, np.float32), "zero")
    nodes = [
        helper.make_node("Concat", list(BOTH), ["row"], axis=0),
        helper.make_node("Unsqueeze", ["row", "axis"], ["rows"]),
        helper.make_node("MatMul", ["rows", "w"], ["score"]),
        helper.make_node("Greater", ["score", "zero"], ["yes"]),
        helper.make_node("Cast", ["yes"], ["answer"], to=TensorProto.INT64),
    ]
    axis = numpy_helper.from_array(np.zeros(1, np.int64), "axis")
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [DIMENSION]) for name in BOTH]
    outputs = [helper.make_tensor_value_info("answer", TensorProto.INT64, [1, 1])]
    graph = helper.make_graph(nodes, "chooser", inputs, outputs, [weights, zero, axis])
    save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), str(path))
    return path


def test_a_model_of_the_vectors_decides_alike_here_and_in_stock_opt(
    program: Path, vocabulary: Path, tmp_path: Path
) -> None:
    passpilot.ir2vec_features(vocabulary)
    model = chooser(tmp_path / "m.onnx")
    advisor = passpilot.InlineAdvisor(f"onnx:{model}", log=str(tmp_path / "here.log"))
    module = passpilot.Module.read(program)
    passpilot.optimize(module, "default<O2>", advisors=[advisor])
    assert 0 < advisor.stats.accepted < advisor.stats.decisions
    (tmp_path / "load.py").write_text(LOAD)
    flags = ("-passpilot-load=load.py", f"-passpilot-inline=onnx:{model}", "-passpilot-log=there.log")
    done = tool("opt", *flags, "-passes=default<O2>", program, "-o", "there.bc", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert (tmp_path / "there.bc").read_bytes() == module.bitcode()
    assert (tmp_path / "there.log").read_bytes() == (tmp_path / "here.log").read_bytes()


@pytest.mark.usefixtures("vocabulary")
def test_clang_compiles_alike_with_them(tmp_path: Path) -> None:
    """What nobody reads is not computed, and what is computed changes nothing."""
    (tmp_path / "in.c").write_text(stock.MANY_CALLS)
    (tmp_path / "load.py").write_text(LOAD)
    chooser(tmp_path / "m.onnx")
    made = []
    for flags in ((), ("-mllvm", "-passpilot-log=x.log")):
        words = ["-mllvm", "-passpilot-load=load.py", "-mllvm", "-passpilot-inline=onnx:m.onnx", *flags]
        done = tool("clang", "-O2", "-c", *words, "in.c", "-o", "out.o", cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
        made.append((tmp_path / "out.o").read_bytes())
    assert made[0] == made[1]


def test_the_table_shows_them(vocabulary: Path, tmp_path: Path) -> None:
    (tmp_path / "load.py").write_text(f"import passpilot\npasspilot.ir2vec_features({str(vocabulary)!r})\n")
    done = command("features", "--load", "load.py", cwd=tmp_path)
    assert done.returncode == 0
    rows = [line for line in done.stdout.splitlines() if line.startswith("ir2vec_")]
    assert [row.split()[:2] for row in rows] == [[name, f"float32[{DIMENSION}]"] for name in BOTH]
    assert all(row.endswith("load.py:2)") for row in rows)


def command(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PASSPILOT, *words], cwd=cwd, capture_output=True, text=True, check=False)


BAD: Mapping[str, tuple[object, str]] = {
    "no file": (None, "v.json: expected a JSON file, got: No such file"),
    "a list": ([], "expected an object with the sections Opcodes, Types, Arguments, got another"),
    "another length": (
        {**ir2vec_sections(), "Types": {"VoidTy": [1, 2]}},
        "expected vectors of one length, 7, got 2 for 'VoidTy' in Types",
    ),
    "that of machine code": (
        {name: {"MOV": [1.0]} for name in ("Opcodes", "CommonOperands", "PhysicalRegisters")},
        "expected an object with the sections Opcodes, Types, Arguments, got another",
    ),
    "another version's": (
        {name: {"NoSuchEntity": [1.0]} for name in ("Opcodes", "Types", "Arguments")},
        "expected entities that LLVM has",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_vocabulary_ends_a_compilation_in_words(name: str, program: Path, tmp_path: Path) -> None:
    content, told = BAD[name]
    if content is not None:
        written(tmp_path / "v.json", content)
    (tmp_path / "load.py").write_text(LOAD)
    done = command(
        *("opt", "in.bc", "-passes=default<O2>", "--load", "load.py", "--inline=default", "-o", "out.bc"),
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    flags = ("-passpilot-load=load.py", "-passpilot-inline=default")
    stopped = tool("opt", *flags, "-passes=default<O2>", program, "-o", "out.bc", cwd=tmp_path)
    assert stopped.code == 1
    assert told in stopped.err
    assert not (tmp_path / "out.bc").exists()


def test_a_model_of_another_length_is_refused_first(tmp_path: Path) -> None:
    short = {
        section: {key: row[:3] for key, row in rows.items()} for section, rows in ir2vec_sections().items()
    }
    passpilot.ir2vec_features(written(tmp_path / "v.json", short))
    model = chooser(tmp_path / "m.onnx")
    with pytest.raises(RunnerError, match=r"ir2vec_caller"):
        passpilot.InlineAdvisor(f"onnx:{model}")


def test_registered_twice_or_of_no_kind(
    registry: Mapping[str, CustomFeature], vocabulary: Path, tmp_path: Path
) -> None:
    passpilot.ir2vec_features(vocabulary)
    with pytest.raises(FeatureError, match="ir2vec_caller"):
        passpilot.ir2vec_features(vocabulary)
    assert set(registry) == set(BOTH)
    with pytest.raises(UsageError, match="expected kind 'symbolic' or 'flow-aware', got 'flow'"):
        passpilot.ir2vec_features(vocabulary, kind="flow")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="No such file"):
        passpilot.ir2vec_features(tmp_path / "absent.json")
