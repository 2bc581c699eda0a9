# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IR2Vec embeddings: the same numbers as stock opt prints, of a vocabulary of our own making."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from passpilot import llvm_options
from passpilot.features.llvm.ir2vec import Kind, Vocabulary
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import InputError, UsageError
from passpilot.plugin.module import Module
from passpilot.plugin.version import MAJOR
from tests.corpus.build import bindir
from tests.features.llvm.vocabularies import DIMENSION, ir2vec_sections, written

if TYPE_CHECKING:
    from collections.abc import Mapping

TEXT = """
target triple = "x86_64-pc-linux-gnu"
declare i32 @ext(i32, ptr)
define i32 @f(i32 %x, ptr %p) {
entry:
  %a = alloca i32
  %y = mul i32 %x, 3
  store i32 %y, ptr %a
  %c = icmp slt i32 %y, %x
  br i1 %c, label %then, label %done
then:
  %r = call i32 @ext(i32 %y, ptr %p)
  br label %done
done:
  %z = phi i32 [ %r, %then ], [ 0, %entry ]
  ret i32 %z
dead:
  ret i32 1
}
define double @g(double %x) {
  %y = fadd double %x, 1.0
  %c = fcmp ogt double %y, %x
  %s = select i1 %c, double %y, double %x
  ret double %s
}
"""


KINDS: Final[Mapping[Kind, list[str]]] = (
    {"symbolic": ["-ir2vec-kind=symbolic"], "flow-aware": ["-ir2vec-kind=flow-aware"]}
    if MAJOR >= 22
    else {"symbolic": []}
)
"""The kinds of this LLVM, with stock opt's flags for each."""


def printed(vocabulary: Path, source: Path, *flags: str) -> dict[str, list[float]]:
    """What stock opt prints for each function."""
    command: list[Path | str] = [
        bindir() / "opt",
        "-passes=print<ir2vec>",
        f"-ir2vec-vocab-path={vocabulary}",
        *flags,
    ]
    run = subprocess.run([*command, source, "-disable-output"], capture_output=True, text=True, check=True)
    rows = re.findall(r"for function (\w+):\nFunction vector:  \[ (.*) \]", run.stderr)
    return {name: [float(number) for number in row.split()] for name, row in rows}


@pytest.fixture
def module() -> Module:
    return Module.read(TEXT.encode(), name="text")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("without", ["", "Mul", "ICMP_slt", "IntegerTy"])
def test_functions_have_the_vectors_that_opt_prints(
    module: Module, tmp_path: Path, kind: Kind, without: str
) -> None:
    (tmp_path / "in.ll").write_text(TEXT)
    path = written(tmp_path / "v.json", ir2vec_sections(without=without))
    expected = printed(path, tmp_path / "in.ll", *KINDS[kind])
    vocabulary = Vocabulary.read(path)
    total = np.zeros(DIMENSION)
    for function in module.functions:
        if not function.is_declaration:
            vector = vocabulary.embed(function, kind)
            np.testing.assert_allclose(vector, expected[function.name], atol=0.0051)
            total += vector
    np.testing.assert_allclose(vocabulary.embed(module, kind), total, rtol=1e-5, atol=1e-5)


def test_an_embedding_is_a_tensor_of_its_spec(module: Module, tmp_path: Path) -> None:
    vocabulary = Vocabulary.read(written(tmp_path / "v.json", ir2vec_sections()))
    assert vocabulary.spec("seen") == TensorSpec("seen", "float32", (DIMENSION,))
    vector = vocabulary.embed(module)
    assert (str(vector.dtype), vector.shape) == ("float32", (DIMENSION,))


def test_an_embedding_follows_changes(module: Module, tmp_path: Path) -> None:
    vocabulary = Vocabulary.read(written(tmp_path / "v.json", ir2vec_sections()))
    function = module.function("f")
    assert function is not None
    before = vocabulary.embed(function)
    function.arguments[0].replace_all_uses_with(module.constant("i32 1"))
    assert not np.array_equal(vocabulary.embed(function), before)


def test_sections_are_weighed_as_llvms_options_say(module: Module, tmp_path: Path) -> None:
    path = written(tmp_path / "v.json", ir2vec_sections())
    (tmp_path / "in.ll").write_text(TEXT)
    expected = printed(path, tmp_path / "in.ll", "-ir2vec-opc-weight=0.25")
    function = module.function("g")
    assert function is not None
    llvm_options(["-ir2vec-opc-weight=0.25"])
    try:
        weighed = Vocabulary.read(path).embed(function)
    finally:
        llvm_options(["-ir2vec-opc-weight=1"])
    np.testing.assert_allclose(weighed, expected["g"], atol=0.0051)


def test_an_embedding_of_a_loop_is_the_sum_over_its_blocks(tmp_path: Path) -> None:
    text = """
    define i32 @f(i32 %n) {
      br label %loop
    loop:
      %i = phi i32 [ 0, %0 ], [ %j, %loop ]
      %j = add i32 %i, 1
      %done = icmp eq i32 %j, %n
      br i1 %done, label %exit, label %loop
    exit:
      ret i32 %j
    }
    define i32 @rest(i32 %n) {
      br label %exit
    exit:
      ret i32 %n
    }
    """
    vocabulary = Vocabulary.read(written(tmp_path / "v.json", ir2vec_sections()))
    module = Module.read(text.encode())
    whole, rest = module.functions
    (loop,) = whole.loops
    expected = vocabulary.embed(whole) - vocabulary.embed(rest)
    np.testing.assert_allclose(vocabulary.embed(loop), expected, rtol=1e-4)
    if "flow-aware" in KINDS:
        assert not np.allclose(vocabulary.embed(loop, "flow-aware"), expected)


def test_a_declaration_has_none(module: Module, tmp_path: Path) -> None:
    function = module.function("ext")
    assert function is not None
    with pytest.raises(InputError, match="function ext: expected a body, got a declaration"):
        Vocabulary.read(written(tmp_path / "v.json", ir2vec_sections())).embed(function)


def test_an_unknown_kind_is_refused(module: Module, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected kind 'symbolic' or 'flow-aware', got 'flow'"):
        Vocabulary.read(written(tmp_path / "v.json", ir2vec_sections())).embed(module, "flow")  # type: ignore[arg-type]


BAD = {
    "a list": ([], "expected an object with the sections Opcodes, Types, Arguments"),
    "a section less": ({"Opcodes": {"Add": [1]}, "Types": {}}, "expected an object with the sections"),
    "an empty section": ({**ir2vec_sections(), "Types": {}}, "an entity in each section, got none in Types"),
    "text": ({**ir2vec_sections(), "Opcodes": {"Add": "1"}}, "a list of finite numbers for 'Add' in Opcodes"),
    "no numbers": (
        {**ir2vec_sections(), "Opcodes": {"Add": []}},
        "a list of finite numbers for 'Add' in Opcodes",
    ),
    "true": ({**ir2vec_sections(), "Opcodes": {"Add": [True] * DIMENSION}}, "finite numbers for 'Add'"),
    "infinity": (
        {**ir2vec_sections(), "Opcodes": {"Add": [float("inf")] * DIMENSION}},
        "Infinity is no number",
    ),
    "beyond all floats": (
        {**ir2vec_sections(), "Opcodes": {"Add": [10**400] * DIMENSION}},
        "an integer of more than 64 bits",
    ),
    "lengths": (
        {**ir2vec_sections(), "Types": {"VoidTy": [1, 2]}},
        "of one length, 7, got 2 for 'VoidTy' in Types",
    ),
    "strangers": ({name: {"x": [1]} for name in ("Opcodes", "Types", "Arguments")}, "entities that LLVM has"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_vocabulary_is_refused_in_words(name: str, tmp_path: Path) -> None:
    content, told = BAD[name]
    with pytest.raises(InputError, match=f"IR2Vec vocabulary .*v.json: .*{told}"):
        Vocabulary.read(written(tmp_path / "v.json", content))


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "v.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(InputError, match="expected JSON, got other text"):
        Vocabulary.read(tmp_path / "v.json")
    with pytest.raises(InputError, match="expected a JSON file, got: No such file"):
        Vocabulary.read(tmp_path / "absent.json")
