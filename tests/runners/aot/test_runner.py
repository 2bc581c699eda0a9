# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`aot:` models: the same answers as `onnx:`, and libraries that cannot be used."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from passpilot.cli.aot import main
from passpilot.features.point import find_point
from passpilot.plugin.errors import (
    Error,
    ModelError,
    PasspilotWarning,
    RunnerSpecError,
    SpecMismatchError,
)
from passpilot.plugin.toolchain import include_folder
from passpilot.runners.base import Runner, allocate
from passpilot.runners.conformance import check_runner
from passpilot.runners.spec import make_runner
from tests.runners.aot.models import FLOAT, INT64, column_scorer, model, small_mlp

if TYPE_CHECKING:
    from collections.abc import Sequence

    Value = tuple[str, int, Sequence[int | str]]

PRESENT = "sse2," if platform.machine() == "x86_64" else ""
"""What every processor of x86-64 has, and is not named in a refusal."""


def pair(folder: Path, made: onnx.ModelProto, point: str, options: str) -> tuple[Runner, Runner]:
    """The model as `onnx:` and as `aot:`."""
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    main([str(folder / "m.onnx"), "-o", str(folder / "m.so")])
    return (
        allocate(make_runner(f"onnx:{folder}/m.onnx{options}", find_point(point))),
        allocate(make_runner(f"aot:{folder}/m.so{options}", find_point(point))),
    )


def agree(runners: tuple[Runner, Runner], largest: int, count: int = 200) -> set[object]:
    """Ask both about the same random observations; the set of answers."""
    random = np.random.default_rng(5)
    theirs, ours = runners
    assert theirs.inputs == ours.inputs
    met = set()
    for _ in range(count):
        for name, tensor in theirs.tensors.items():
            high = 2 if name == "mask" else largest
            tensor[...] = random.integers(0, high, tensor.shape).astype(tensor.dtype)
            if name == "mask":
                tensor[..., -1] = 1
            ours.tensors[name][...] = tensor
        answer = ours.evaluate()
        assert answer == theirs.evaluate()
        met.add(answer)
    return met


@pytest.mark.parametrize("options", ["?map=x:*", "?map=x:*&as=logits"])
def test_inlining_by_logits(tmp_path: Path, options: str) -> None:
    assert agree(pair(tmp_path, small_mlp(), "inline", options), 200) == {0, 1}


def test_inlining_by_probability(tmp_path: Path) -> None:
    made = small_mlp()
    made.graph.node.append(helper.make_node("Softmax", ["logits"], ["both"]))
    made.graph.node.append(helper.make_node("Gather", ["both", "one"], ["p"], axis=1))
    made.graph.initializer.append(helper.make_tensor("one", INT64, [1], [1]))
    made.graph.output[0].CopyFrom(helper.make_tensor_value_info("p", FLOAT, ["batch", 1]))
    met = [
        agree(pair(tmp_path, made, "inline", f"?map=x:*&threshold={threshold}"), 200)
        for threshold in (0.0, 0.5, 1.0)
    ]
    assert met == [{1}, {0, 1}, {0}]


def test_a_decision_by_integers(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Less", ["cost_estimate", "node_count"], ["small"]),
        helper.make_node("Cast", ["small"], ["y"], to=TensorProto.INT32),
    ]
    inputs: list[Value] = [("cost_estimate", INT64, [1]), ("node_count", INT64, [1])]
    for output in ("small", "y"):
        assert agree(pair(tmp_path, model(nodes, inputs, [output]), "inline", ""), 9) == {0, 1}


def test_evictions_by_logits_under_a_mask(tmp_path: Path) -> None:
    assert len(agree(pair(tmp_path, column_scorer(), "evict", ""), 50)) > 15


def test_evictions_by_the_score_of_each_column(tmp_path: Path) -> None:
    """The columns differ so much that rounding does not matter."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["sum"]),
        helper.make_node("Abs", ["sum"], ["y"]),
    ]
    weights = {"w": np.array([[1], [-3]], "f4")}
    made = model(nodes, [("x", FLOAT, ["n", 2])], ["y"], weights)
    options = "?map=x:liverange_size,progress&as=score"
    assert len(agree(pair(tmp_path, made, "evict", options), 50)) > 10


def test_a_priority(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Cast", ["li_size"], ["size"], to=FLOAT),
        helper.make_node("Sqrt", ["size"], ["priority"]),
    ]
    made = model(nodes, [("li_size", INT64, [1])], ["priority"])
    assert len(agree(pair(tmp_path, made, "priority", ""), 1 << 30)) == 200


def test_one_of_several_outputs(tmp_path: Path) -> None:
    made = small_mlp()
    made.graph.node.append(helper.make_node("Neg", ["logits"], ["negated"]))
    made.graph.output.append(helper.make_tensor_value_info("negated", FLOAT, ["batch", 2]))
    straight = pair(tmp_path, made, "inline", "?map=x:*&output=logits")
    agree(straight, 200)
    negated = allocate(make_runner(f"aot:{tmp_path}/m.so?map=x:*&output=negated", find_point("inline")))
    for name, tensor in negated.tensors.items():
        tensor[...] = straight[1].tensors[name]
    assert negated.evaluate() != straight[1].evaluate()
    with pytest.raises(SpecMismatchError, match="got logits, negated; name one by output="):
        make_runner(f"aot:{tmp_path}/m.so?map=x:*", find_point("inline"))


def test_it_keeps_the_rules_of_runners(tmp_path: Path) -> None:
    pair(tmp_path, small_mlp(), "inline", "?map=x:*")
    check_runner(f"aot:{tmp_path}/m.so?map=x:*")


def test_a_model_compiled_anew_is_not_the_one_before(tmp_path: Path) -> None:
    answers = []
    runners = []
    for value in (0, 1, 0):
        node = helper.make_node("Identity", ["c"], ["y"])
        runners.append(pair(tmp_path, model([node], [], ["y"], {"c": np.array([value])}), "inline", "")[1])
        answers.append([each.evaluate() for each in runners])
    assert answers == [[0], [0, 1], [0, 1, 0]]


def test_a_model_is_not_the_one_whose_descriptor_it_gets(tmp_path: Path) -> None:
    """The loader caches an open file under all names by which it was opened, even deleted ones."""
    for value in (0, 1):
        node = helper.make_node("Identity", ["c"], ["y"])
        pair(tmp_path, model([node], [], ["y"], {"c": np.array([value])}), "inline", "")
        (tmp_path / "m.so").rename(tmp_path / f"{value}.so")
    first, second = (allocate(make_runner(f"aot:{tmp_path}/0.so", find_point("inline"))) for _ in range(2))
    second.close()
    other = allocate(make_runner(f"aot:{tmp_path}/1.so", find_point("inline")))
    assert (first.evaluate(), other.evaluate()) == (0, 1)


def test_a_model_stays_whatever_becomes_of_its_file(tmp_path: Path) -> None:
    _, ours = pair(tmp_path, small_mlp(), "inline", "?map=x:*")
    for tensor in ours.tensors.values():
        tensor[...] = 3
    before = ours.evaluate()
    (tmp_path / "m.so").write_bytes(b"")
    assert ours.evaluate() == before


def test_nothing_but_the_core_is_loaded(tmp_path: Path) -> None:
    pair(tmp_path, small_mlp(), "inline", "?map=x:*")
    script = (
        "import sys; from passpilot.features.point import find_point;"
        "from passpilot.runners.spec import make_runner;"
        f"make_runner('aot:{tmp_path}/m.so?map=x:*', find_point('inline'));"
        "heavy = {'onnx', 'onnxruntime', 'llvmlite', 'google.protobuf', 'grpc'};"
        "sys.exit(', '.join(heavy & set(sys.modules)) or None)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def refusal(spec: str, point: str = "inline", kind: type[Error] = ModelError) -> str:
    with pytest.raises(kind) as caught:
        make_runner(spec, find_point(point))
    return str(caught.value)


def test_what_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "m.so"
    start = f"model {path}: expected a model of 'passpilot aot', got "
    assert refusal(f"aot:{path}") == f"{start}No such file or directory"
    for content in (b"", b"\x7fEL", b"not a library\n", bytes(5000)):
        path.write_bytes(content)
        assert refusal(f"aot:{path}") == f"{start}no shared library; `passpilot aot` makes one of a model"
    path.unlink()
    path.mkdir()
    assert refusal(f"aot:{path}") == f"{start}Is a directory"


def test_a_truncated_model(tmp_path: Path) -> None:
    pair(tmp_path, small_mlp(), "inline", "?map=x:*")
    whole = (tmp_path / "m.so").read_bytes()
    cut = tmp_path / "cut.so"
    for length in (*range(64, len(whole), 97), len(whole) - 1):
        cut.write_bytes(whole[:length])
        assert refusal(f"aot:{cut}?map=x:*").endswith("got a file that is cut off")


def test_a_model_for_another_architecture(tmp_path: Path) -> None:
    pair(tmp_path, small_mlp(), "inline", "?map=x:*")
    code = bytearray((tmp_path / "m.so").read_bytes())
    code[18:20] = (0xF3).to_bytes(2, "little")  # e_machine: RISC-V
    (tmp_path / "other.so").write_bytes(code)
    assert refusal(f"aot:{tmp_path}/other.so").endswith("got one for another architecture")
    for place, value, told in (
        (4, 1, "one for another architecture"),  # EI_CLASS: 32 bits
        (16, 1, "no shared library; `passpilot aot` makes one of a model"),  # e_type: an object file
        (16, 2, "no shared library; `passpilot aot` makes one of a model"),  # a program
    ):
        code = bytearray((tmp_path / "m.so").read_bytes())
        code[place] = value
        (tmp_path / "other.so").write_bytes(code)
        assert refusal(f"aot:{tmp_path}/other.so").endswith(f"of 'passpilot aot', got {told}")


SOURCE = """
#include <passpilot_model.h>
static const int64_t one[1] = {1};
static const passpilot_tensor output = {"y", one, 1, PASSPILOT_INT64, 0, 0};
static void *create(void) { return CONTEXT; }
static int evaluate(void *c, const void *const *in, void *out) {
  (void)c, (void)in;
  *(int64_t *)out = 1;
  return STATUS;
}
static void switch_context(void *c, const char *name) { (void)c, (void)name; }
static void destroy(void *c) { (void)c; }
const passpilot_model NAME = {ABI, 0, 1, 0, 0, &output, 8, "", "", "a-cpu", FEATURES,
                              create, evaluate, switch_context, destroy};
"""


def crafted(folder: Path, **changes: str) -> str:
    """A library that implements the interface in C, with some values changed."""
    values = {
        "NAME": "passpilot_policy",
        "ABI": "PASSPILOT_MODEL_ABI",
        "FEATURES": '""',
        "CONTEXT": "(void *)one",
        "STATUS": "0",
        **changes,
    }
    (folder / "c.c").write_text(SOURCE)
    defines = [f"-D{name}={value}" for name, value in values.items()]
    command = ["cc", "-shared", "-fPIC", f"-I{include_folder()}", *defines, "c.c", "-o", "c.so"]
    subprocess.run(command, cwd=folder, check=True)
    return f"aot:{folder}/c.so"


def test_models_by_others(tmp_path: Path) -> None:
    assert allocate(make_runner(crafted(tmp_path), find_point("inline"))).evaluate() == 1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"NAME": "policy"}, "got a shared library without the symbol passpilot_policy"),
        ({"ABI": "1"}, "expected version 2 of the model ABI, got 1; compile the model again"),
        (
            {"FEATURES": f'"{PRESENT}avx1024"'},
            "expected a model for this processor, got one for a-cpu, which needs avx1024; compile it with "
            "another -mcpu",
        ),
        ({"CONTEXT": "0"}, "expected memory for the model's context, got none"),
    ],
)
def test_libraries_that_are_refused(tmp_path: Path, change: dict[str, str], told: str) -> None:
    assert refusal(crafted(tmp_path, **change)).endswith(told)


def test_a_run_that_fails(tmp_path: Path) -> None:
    runner = allocate(make_runner(crafted(tmp_path, STATUS="1"), find_point("inline")))
    with pytest.raises(ModelError, match="expected indices within their ranges, got status 1"):
        runner.evaluate()


@pytest.mark.parametrize(
    ("options", "kind", "told"),
    [
        ("", SpecMismatchError, "input 'x': expected a tensor that the compiler offers"),
        ("?map=x:node_count", SpecMismatchError, r"expected [1,38] as the model has, got 1 elements"),
        ("?map=x:*;z:node_count", SpecMismatchError, "map=z: expected an input of the model (x), got 'z'"),
        ("?map=X:*", SpecMismatchError, "map=X: expected an input of the model (x), got 'X'"),
        ("?map=x:*&threshold=0.5", SpecMismatchError, "threshold=: expected an output that is a probability"),
        ("?map=x:*&as=number", RunnerSpecError, "as=decision|logits|probability for inline"),
        ("?map=x:*&as=probability", SpecMismatchError, "expected 1 element, got [1,2]"),
        ("?map=x:*&threshold=x", RunnerSpecError, "expected a threshold from 0 to 1"),
        ("?map=x:*&output=y", SpecMismatchError, "expected 'y', got logits"),
        ("?maps=x", RunnerSpecError, "keys among output, as, threshold, map"),
    ],
)
def test_models_that_do_not_fit(tmp_path: Path, options: str, kind: type[Error], told: str) -> None:
    with pytest.warns(PasspilotWarning, match="names of its columns"):
        pair(tmp_path, small_mlp(named=False), "inline", "?map=x:*")
    assert told in refusal(f"aot:{tmp_path}/m.so{options}", kind=kind)
