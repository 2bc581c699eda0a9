# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot aot`: what it writes, and what it refuses."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from passpilot.cli.aot import main
from passpilot.plugin.errors import Error
from tests.command import PASSPILOT, passpilot, run
from tests.corpus.build import bindir
from tests.runners.aot.library import Library
from tests.runners.aot.models import FLOAT, INT64, mlp, model, small_mlp

MAIN = """\
#include <passpilot_model.h>
#include <stdio.h>

extern const passpilot_model my_policy;

int main(void) {
  float x[38];
  double out[8];
  const void *inputs[1] = {x};
  for (int i = 0; i < 38; ++i)
    x[i] = (float)i;
  const passpilot_tensor *in = my_policy.inputs, *result = my_policy.outputs;
  if (my_policy.abi != PASSPILOT_MODEL_ABI || my_policy.output_size > sizeof out)
    return 2;
  printf("%s %u [%d,%d]\\n", in->name, in->type, (int)in->shape[0], (int)in->shape[1]);
  void *context = my_policy.create();
  if (!context || my_policy.evaluate(context, inputs, out))
    return 3;
  const float *logits = (const float *)((const char *)out + result->offset);
  printf("%s %.9g %.9g\\n%s\\n", result->name, logits[0], logits[1], my_policy.hash);
  my_policy.switch_context(context, "next");
  my_policy.destroy(context);
  return 0;
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The present folder, with a model."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.onnx").write_bytes(small_mlp().SerializeToString())
    return tmp_path


def expected(path: Path, x: NDArray[np.float32]) -> NDArray[np.float32]:
    session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"x": x})
    return np.asarray(found, "f4")


def compiled(*options: str) -> None:
    """Compile the model in this process."""
    assert main(["m.onnx", *options]) == 0


def refused(*arguments: str, code: int = 1) -> str:
    """The error of a command that makes nothing."""
    before = set(Path.cwd().iterdir())
    with pytest.raises(Error) as caught:
        main(arguments)
    assert caught.value.exit_code == code
    assert set(Path.cwd().iterdir()) == before
    return str(caught.value)


def test_a_c_program_links_the_object(folder: Path) -> None:
    compiled("-o", "m.o", "-symbol=my_policy")
    include = passpilot("aot", "--include-dir", cwd=folder).out.decode().strip()
    (folder / "main.c").write_text(MAIN)
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{include}"]
    subprocess.run(["cc", *flags, "main.c", "m.o", "-o", "main"], cwd=folder, check=True)
    lines = run(folder / "main", cwd=folder).out.decode().splitlines()
    assert lines[0] == "x 1 [1,38]"
    name, *logits = lines[1].split()
    assert name == "logits"
    x = np.arange(38, dtype="f4").reshape(1, 38)
    np.testing.assert_allclose(np.array(logits, "f4"), expected(folder / "m.onnx", x)[0], 1e-5, 1e-6)
    assert lines[2] == hashlib.sha256((folder / "m.onnx").read_bytes()).hexdigest()


def test_the_header_is_for_cxx_too(folder: Path) -> None:
    include = passpilot("aot", "--include-dir", cwd=folder).out.decode().strip()
    call = "int f() { return passpilot_policy.evaluate(nullptr, nullptr, nullptr); }"
    (folder / "f.cpp").write_text(f"#include <passpilot_model.h>\n{call}\n")
    flags = ["-std=c++17", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{include}"]
    subprocess.run(["c++", *flags, "-c", "f.cpp"], cwd=folder, check=True)


def test_a_library_needs_no_other(folder: Path) -> None:
    compiled("-o", "m.so", "-mcpu=native")
    needed = run(bindir() / "llvm-readelf", "--needed-libs", "m.so", cwd=folder).out.decode()
    assert needed.split() == ["NeededLibraries", "[", "]"]
    names = run(bindir() / "llvm-nm", "-D", "--format=just-symbols", "m.so", cwd=folder).out.decode().split()
    assert "passpilot_policy" in names
    assert set(names) <= {"passpilot_policy", "memcpy", "memset"}


def test_large_results_are_in_the_arena(folder: Path) -> None:
    """More than the stack should hold: each context has memory of its own."""
    wide = mlp((38, 40_000, 2))
    (folder / "m.onnx").write_bytes(wide.SerializeToString())
    compiled("-o", "m.so")
    first, second = Library(folder / "m.so"), Library(folder / "m.so")
    assert first.context != second.context
    x = np.random.default_rng(0).normal(0, 1, (1, 38)).astype("f4")
    for each in (first, second):
        found = each.run({"x": x})["logits"]
        assert np.allclose(found.astype("f4"), expected(folder / "m.onnx", x), 1e-4, 1e-4)
        each.close()


def test_the_same_model_gives_the_same_bytes(folder: Path) -> None:
    """In two processes: by the command."""
    for name in ("a.so", "b.so"):
        done = passpilot("aot", "m.onnx", "-o", name, cwd=folder)
        assert (done.code, done.out, done.err) == (0, b"", "")
    assert (folder / "a.so").read_bytes() == (folder / "b.so").read_bytes()


@pytest.mark.parametrize("name", ["run", "create", "text", "tensors", "constant"])
def test_any_symbol(folder: Path, name: str) -> None:
    compiled("-o", "m.o", f"--symbol={name}")
    command = (bindir() / "llvm-nm", "--defined-only", "--extern-only", "--format=just-symbols", "m.o")
    assert run(*command, cwd=folder).out.split() == [name.encode()]


def test_the_ir_is_ir(folder: Path) -> None:
    compiled("-o", "m.ll", "-mcpu=native")
    assert run(bindir() / "opt", "-passes=verify", "-disable-output", "m.ll", cwd=folder).code == 0
    assert b"@passpilot_policy" in (folder / "m.ll").read_bytes()


def test_an_output_inside_the_graph(folder: Path) -> None:
    compiled("-o", "m.so", "--output=h0", "--output=scaled")
    library = Library(folder / "m.so")
    assert [(each.name, each.shape) for each in library.outputs] == [("h0", (1, 16)), ("scaled", (1, 38))]
    x = np.ones((1, 38), "f4")
    assert (library.run({"x": x})["scaled"] == np.float32(0.02)).all()


def test_shapes_of_open_dimensions(folder: Path) -> None:
    nodes = [helper.make_node("ReduceSum", ["liverange_size"], ["y"], keepdims=0)]
    open_model = model(nodes, [("liverange_size", FLOAT, ["n", "columns"])], ["y"])
    (folder / "m.onnx").write_bytes(open_model.SerializeToString())
    line = refused("m.onnx", "-o", "m.so")
    assert "input 'liverange_size': expected no open dimension but the first, got [?,?]" in line
    for options, shape in ((["--point=evict"], (1, 33)), (["--shape=liverange_size:2,5"], (2, 5))):
        compiled("-o", "m.so", *options)
        (spec,) = Library(folder / "m.so").inputs
        assert spec.shape == shape


def refusal(folder: Path, made: onnx.ModelProto, *options: str) -> str:
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    return refused("m.onnx", "-o", "m.so", *options)


def test_an_unknown_operator_is_named_with_its_node(folder: Path) -> None:
    relu = helper.make_node("Relu", ["x"], ["h"])
    odd = helper.make_node("Det", ["h"], ["y"], name="/policy/det")
    line = refusal(folder, model([relu, odd], [("x", FLOAT, [2, 2])], ["y"]))
    assert "model m.onnx: node '/policy/det' (Det): expected an operator that can be compiled" in line


def test_what_shapes_depend_on_must_be_constant(folder: Path) -> None:
    node = helper.make_node("Reshape", ["x", "s"], ["y"], name="r")
    line = refusal(folder, model([node], [("x", FLOAT, [4]), ("s", INT64, [1])], ["y"]))
    assert "node 'r' (Reshape): expected the input 's' to be constant" in line


def test_a_type_outside_the_set(folder: Path) -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    assert "input 'x'" in refusal(folder, model([node], [("x", TensorProto.FLOAT16, [4])], ["y"]))
    cast = helper.make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16)
    node = helper.make_node("Relu", ["h"], ["y"], name="half")
    assert "got 'h' of float16" in refusal(folder, model([cast, node], [("x", FLOAT, [4])], ["y"]))


def test_a_zip_map_is_skipped_where_its_output_is_not_used(folder: Path) -> None:
    softmax = helper.make_node("Softmax", ["x"], ["p"])
    zipped = helper.make_node(
        "ZipMap", ["p"], ["classes"], domain="ai.onnx.ml", classlabels_int64s=[0, 1], name="zip"
    )
    made = model([softmax, zipped], [("x", FLOAT, [1, 2])], ["classes"])
    assert "node 'zip' (ZipMap)" in refusal(folder, made)
    compiled("-o", "m.so", "--output=p")
    found = Library(folder / "m.so").run({"x": np.zeros((1, 2), "f4")})
    assert found["p"].tolist() == [[0.5, 0.5]]


def test_an_index_out_of_range_fails_the_run(folder: Path) -> None:
    node = helper.make_node("Gather", ["c", "i"], ["y"])
    made = model([node], [("i", INT64, [1])], ["y"], {"c": np.array([5, 7])})
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    compiled("-o", "m.so")
    library = Library(folder / "m.so")
    statuses = [library.status({"i": np.array([at])})[0] for at in (-3, -2, 1, 2, 1 << 62)]
    assert statuses == [1, 0, 0, 1, 1]


@pytest.mark.parametrize("content", [b"", b"\x00" * 100, b"not a model\n", b"\xff" * 1000])
def test_not_onnx(folder: Path, content: bytes) -> None:
    (folder / "m.onnx").write_bytes(content)
    assert "m.onnx" in refused("m.onnx", "-o", "m.so")


def test_truncated(folder: Path) -> None:
    whole = (folder / "m.onnx").read_bytes()
    for length in range(1, len(whole), len(whole) // 7):
        (folder / "m.onnx").write_bytes(whole[:length])
        assert "m.onnx" in refused("m.onnx", "-o", "m.so")


@pytest.mark.parametrize(
    ("arguments", "told", "code"),
    [
        (["none.onnx", "-o", "m.so"], "No such file", 1),
        ([".", "-o", "m.so"], "Is a directory", 1),
        (["m.onnx"], "expected MODEL.onnx, FILE.py:NAME or FILE.cpp, and -o", 2),
        (["m.onnx", "-o", "m.dll"], "ends in .so, .o or .ll, got 'm.dll'", 1),
        (["m.onnx", "-o", "none/m.so"], "No such file", 1),
        (["m.onnx", "-o", "m.so", "-mcpu=abacus"], "got 'abacus'", 1),
        (["m.onnx", "-o", "m.so", "--output=z"], "such as logits; got 'z'", 1),
        (["m.onnx", "-o", "m.so", "--shape=y:1,38"], "one of x; got 'y'", 1),
        (["m.onnx", "-o", "m.so", "--shape=x"], "--shape=INPUT:1,38, got 'x'", 2),
        (["m.onnx", "-o", "m.so", "--shape=x:1,39"], "expected a graph that runs", 1),
        (["m.onnx", "-o", "m.so", "--symbol=x"], "--symbol with -o policy.o", 2),
        (["m.onnx", "-o", "m.o", "--symbol=a b"], "a name of C's of your own, got 'a b'", 2),
        (["m.onnx", "-o", "m.o", "--symbol=free"], "a name of C's of your own, got 'free'", 2),
    ],
)
@pytest.mark.usefixtures("folder")
def test_wrong_command_lines(arguments: list[str], told: str, code: int) -> None:
    assert told in refused(*arguments, code=code)


def test_without_a_linker(folder: Path) -> None:
    empty = folder / "empty"
    empty.mkdir()
    environment = {**os.environ, "PATH": str(empty)}
    command = [str(PASSPILOT), "aot", "m.onnx", "-o"]
    done = subprocess.run([*command, "m.so"], cwd=folder, env=environment, capture_output=True, check=False)
    assert done.returncode == 1
    assert b"install lld, or use -o policy.o" in done.stderr
    assert not (folder / "m.so").exists()
    subprocess.run([*command, "m.o"], cwd=folder, env=environment, check=True)
