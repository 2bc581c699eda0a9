# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-inline`: how legality is found, and what is undone if all calls are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from passpilot.passes.mlir.api import run_pipeline
from passpilot.passes.mlir.inlining import legality
from passpilot.passes.mlir.inlining.isolated import is_inlined, is_inlined_alone
from passpilot.passes.mlir.inlining.point import MLIR_INLINE
from passpilot.runners.python import Observation
from tests.corpus.modules import unpacked
from tests.passes.mlir.passes import parsed
from tests.passes.mlir.programs import Program

NESTED: Final = """\
func.func private @dead(%x: i64) -> i64 {
  return %x : i64
}
module @inner {
  memref.global "private" @between : memref<i64>
  func.func private @dead(%x: i64) -> i64 {
    %y = arith.addi %x, %x : i64
    return %x : i64
  }
  func.func private @a(%x: i64) -> i64 {
    %useless = arith.muli %x, %x : i64
    return %x : i64
  }
  func.func @main(%x: i64) -> i64 {
    %y = call @a(%x) : (i64) -> i64
    return %y : i64
  }
}
func.func private @a(%x: i64) -> i64 {
  %useless = arith.muli %x, %x : i64
  return %x : i64
}
func.func @main(%x: i64) -> i64 {
  %y = call @a(%x) : (i64) -> i64
  return %y : i64
}
"""


def answered(text: str, *answers: int) -> str:
    """A module after `answers` to the questions in order."""
    module, rest = parsed(text), list(answers)

    def decide(_: Observation) -> int:
        return rest.pop(0)

    with MLIR_INLINE.advisor(decide) as advisor:
        run_pipeline(module, "builtin.module(advised-inline)", [advisor])
    assert not rest, "each answer belongs to a question"
    return str(module)


def test_erased_and_simplified_functions_come_back() -> None:
    assert answered(NESTED, 0, 0) == str(parsed(NESTED))


@pytest.mark.parametrize("answers", [(0, 1), (1, 0)])
def test_all_stays_simplified_if_one_call_is_inlined(answers: tuple[int, ...]) -> None:
    made = answered(NESTED, *answers)
    assert "useless" not in made
    assert "arith" not in made
    assert "@dead" not in made
    assert made.count("call @a") == 1


@pytest.mark.filterwarnings("ignore:.*was never asked")
def test_mlir_refuses_the_same_calls_without_the_rest_of_the_caller(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[bool] = []

    def comparing(*question: Any) -> bool:
        seen.append(is_inlined_alone(*question))
        assert seen[-1] == is_inlined(*question)
        return seen[-1]

    monkeypatch.setattr(legality, "is_inlined_alone", comparing)
    texts = [Program(seed).text() for seed in range(40)]
    for text in (unpacked("scipy_bfgs_rosenbrock", tmp_path).text, *texts):
        run_pipeline(parsed(text), "builtin.module(advised-inline{runner=const:1 engine=mark-and-run})")
    assert {*seen} == {True, False}
