# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that name their columns: each feature is where the model was trained to read it, in both doors."""

from __future__ import annotations

import subprocess
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from onnx import helper, load_model, save_model

from passpilot.cli.aot import main as aot
from passpilot.features.columns import columns_of, name_columns
from passpilot.features.custom import feature, unregister
from passpilot.features.log.reader import read_log
from passpilot.features.point import find_point
from passpilot.passes.llvm_advisors import InlineAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin import _core
from passpilot.plugin.errors import ModelError, PasspilotWarning, SpecMismatchError
from passpilot.plugin.module import Module
from passpilot.plugin.toolchain import llvm_plugin
from passpilot.runners.aot.graph import Choices, read_graph
from passpilot.runners.base import allocate
from passpilot.runners.spec import make_runner
from tests.command import OPT, passpilot
from tests.runners.aot.library import Library
from tests.runners.aot.models import FLOAT, model

PIPELINE = "default<O2>"
LIMIT = 30
NAMES = sorted(spec.name for spec in find_point("inline").features)
"""The columns in the order in which many programs train: not LLVM's."""


def cheap(folder: Path, names: list[str], *, named: bool = True, column: str = "cost_estimate") -> Path:
    """A model of a table with these columns that says yes where one of them is below a limit."""
    nodes = [
        helper.make_node("Gather", ["x", "at"], ["column"], axis=1),
        helper.make_node("Less", ["column", "limit"], ["y"]),
    ]
    constants = {"at": np.array([names.index(column)]), "limit": np.float32(LIMIT)}
    made = model(
        nodes, [("x", FLOAT, ["n", len(names)])], ["y"], {k: np.asarray(v) for k, v in constants.items()}
    )
    if named:
        name_columns(made, names)
    path = folder / "m.onnx"
    path.write_bytes(made.SerializeToString())
    aot([str(path), "-o", str(folder / "m.so")])
    return path


def agreement(spec: str, program: Path, log: Path, column: str = "cost_estimate") -> float:
    """How often the decisions are those of the model's rule."""
    with InlineAdvisor(spec, log=str(log)) as advisor:
        optimize(Module.read(program), PIPELINE, [advisor])
    arrays = read_log(log).to_arrays([column, "inlining_decision"])
    rule = arrays[column] < LIMIT  # type: ignore[operator]
    assert 0 < rule.mean() < 1
    return float((arrays["inlining_decision"] == rule).mean())


def test_a_model_of_sorted_names_decides_right_in_a_real_program(
    corpus: Callable[[str, str], Path], tmp_path: Path
) -> None:
    """In LLVM's order it would decide otherwise."""
    spec = f"onnx:{cheap(tmp_path, NAMES)}?map=x:*"
    assert agreement(spec, corpus("lz4", "Oz"), tmp_path / "log") == 1.0


@pytest.mark.parametrize("options", ["", "?map=x:*"])
@pytest.mark.parametrize("scheme", ["onnx", "aot"])
def test_a_model_of_sorted_names_decides_right(
    program: Path, tmp_path: Path, scheme: str, options: str
) -> None:
    cheap(tmp_path, NAMES)
    file = "m.onnx" if scheme == "onnx" else "m.so"
    assert agreement(f"{scheme}:{tmp_path}/{file}{options}", program, tmp_path / "log") == 1.0


def test_without_names_the_order_is_a_guess_and_passpilot_says_so(program: Path, tmp_path: Path) -> None:
    own = [name for name in NAMES if name != "inlining_default"]
    spec = f"onnx:{cheap(tmp_path, own, named=False)}?map=x:*"
    with pytest.warns(PasspilotWarning, match=r"map=x:\* takes all .* passpilot\.name_columns") as caught:
        assert agreement(spec, program, tmp_path / "log") < 1.0
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_runner(spec, find_point("inline"))  # it has been said


@pytest.fixture
def blocks() -> Iterator[None]:
    @feature("int64[2]")
    def blocks(site: _core.CallSite) -> list[int]:
        return [site.callee.block_count, site.caller.block_count]

    yield
    unregister("blocks")


def test_custom_features_are_columns_too(program: Path, tmp_path: Path, blocks: None) -> None:  # noqa: ARG001
    """One of two elements fills two places."""
    names = ["callee_users", "blocks", "cost_estimate"]
    made = model(
        [
            helper.make_node("Gather", ["x", "at"], ["column"], axis=1),
            helper.make_node("Less", ["column", "limit"], ["y"]),
        ],
        [("x", FLOAT, [1, 4])],
        ["y"],
        {"at": np.array([3]), "limit": np.asarray(np.float32(LIMIT))},
    )
    name_columns(made, names)
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    for options in ("", "?map=x:*"):
        assert agreement(f"onnx:{tmp_path}/m.onnx{options}", program, tmp_path / f"log{options[:1]}") == 1.0


@pytest.mark.parametrize("scheme", ["onnx", "aot"])
@pytest.mark.parametrize(
    ("names", "options", "told"),
    [
        (
            ["node_count", "nobody"],
            "",
            "input 'x': expected columns of the model that the compiler offers, got 'nobody'",
        ),
        (
            ["node_count"],
            "",
            r"input 'x': expected \[.,2\] as the model has, got 1 elements from the columns",
        ),
        (
            ["node_count", "edge_count"],
            "?map=x:node_count",
            "map=x: expected the 2 columns that the model names, got 1",
        ),
        (
            ["node_count", "edge_count"],
            "?map=x:edge_count,node_count",
            "map=x: expected 'node_count' as column 1, as the model names it, got 'edge_count'; leave",
        ),
    ],
)
def test_a_mismatch_is_refused(
    tmp_path: Path, scheme: str, names: list[str], options: str, told: str
) -> None:
    node = helper.make_node("ReduceMean", ["x"], ["y"])
    made = model([node], [("x", FLOAT, ["n", 2])], ["y"])
    made.metadata_props.add(key="passpilot/columns/x", value=",".join(names))  # name_columns() refuses some
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    aot([str(tmp_path / "m.onnx"), "-o", str(tmp_path / "m.so")])
    file = "m.onnx" if scheme == "onnx" else "m.so"
    with pytest.raises(SpecMismatchError, match=told):
        make_runner(f"{scheme}:{tmp_path}/{file}{options}", find_point("inline"))


def test_a_model_of_another_point_is_refused_with_its_point(tmp_path: Path) -> None:
    path = cheap(tmp_path, ["node_count", "cost_estimate"])
    made = load_model(path)
    made.metadata_props.add(key="passpilot/point", value="inline")
    save_model(made, path)
    told = "got 'node_count'; the model was made for inline, and 'passpilot features --point=inline'"
    with pytest.raises(SpecMismatchError, match=told):
        make_runner(f"onnx:{path}", find_point("evict"))


def test_the_same_columns_may_be_given_again(tmp_path: Path) -> None:
    path = cheap(tmp_path, ["node_count", "cost_estimate"])
    runner = allocate(make_runner(f"onnx:{path}?map=x:node_count,cost_estimate", find_point("inline")))
    assert [spec.name for spec in runner.inputs] == ["node_count", "cost_estimate"]


def test_columns_of_a_scorer(tmp_path: Path) -> None:
    """Of `evict`, with `as=score`: each column is a number."""
    node = helper.make_node("ReduceMean", ["x"], ["y"], axes=[1], keepdims=0)
    made = model([node], [("x", FLOAT, ["n", 2])], ["y"], opset=17)
    name_columns(made, ["progress", "liverange_size"])
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    runner = allocate(make_runner(f"onnx:{tmp_path}/m.onnx?as=score", find_point("evict")))
    runner.tensors["mask"][...] = 1
    runner.tensors["liverange_size"][0, 7] = 1
    assert runner.evaluate() == 7


def test_a_compiled_model_has_the_names(tmp_path: Path) -> None:
    cheap(tmp_path, NAMES)
    library = Library(tmp_path / "m.so")
    assert library.inputs[0].columns == ",".join(NAMES)
    assert library.outputs[0].columns == ""


def test_aot_refuses_names_that_cannot_be(tmp_path: Path) -> None:
    path = cheap(tmp_path, ["cost_estimate", "node_count"])
    with pytest.raises(SpecMismatchError, match="got cost_estimate, node_count"):
        read_graph(str(path), Choices(point=find_point("evict")))
    made = model([helper.make_node("Neg", ["x"], ["y"])], [("x", FLOAT, [1, "columns"])], ["y"])
    name_columns(made, ["a", "b", "c"])
    assert columns_of(made)
    path.write_bytes(made.SerializeToString())
    with pytest.raises(ModelError, match="input 'x': expected at most 2 columns, got the names of 3"):
        read_graph(str(path), Choices(shapes={"x": (1, 2)}))


@pytest.mark.parametrize("scheme", ["onnx", "aot"])
def test_a_stock_compiler_reads_the_names(program: Path, tmp_path: Path, scheme: str) -> None:
    """The same module as the hosted door's; without names, one warning."""
    cheap(tmp_path, NAMES)
    file = "m.onnx" if scheme == "onnx" else "m.so"
    spec = f"{scheme}:{tmp_path}/{file}"
    hosted = passpilot("opt", program, f"-passes={PIPELINE}", f"--inline={spec}", "-o", "-", cwd=tmp_path)
    code, told = by_stock_opt(program, spec)
    assert (code, told) == (hosted.out, "")
    assert hosted.err == ""
    cheap(tmp_path, [name for name in NAMES if name != "inlining_default"], named=False)
    _, told = by_stock_opt(program, f"{spec}?map=x:*")
    assert told.count("warning: ") == 1
    assert f"model {tmp_path}/{file}: input 'x': expected the names of its columns in the model" in told


def by_stock_opt(program: Path, spec: str) -> tuple[bytes, str]:
    """The bitcode and the messages of stock opt."""
    flags = [f"-load-pass-plugin={llvm_plugin()}", f"-passpilot-inline={spec}", f"-passes={PIPELINE}"]
    done = subprocess.run([OPT, *flags, program, "-o", "-"], capture_output=True, check=True)
    return done.stdout, done.stderr.decode()
