# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrite patterns in Python: what they rewrite, and that what they raise arrives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from passpilot.passes.mlir import api as mlir
from passpilot.plugin.errors import PassError
from tests.passes.mlir.passes import define, parsed

pytestmark = pytest.mark.usefixtures("restored_registries")

TEXT: Final = """\
func.func @f(%x: i32) -> i32 {
  %c = arith.constant 4 : i32
  %y = arith.muli %x, %c : i32
  %z = arith.muli %y, %c : i32
  return %z : i32
}
"""


def replaced(operation: Any, rewriter: Any, by: str) -> None:
    with rewriter.ip, operation.location:
        new = getattr(mlir.bindings().dialect("arith"), by)(*operation.operands)
    rewriter.replace_op(operation, [new])


def to_shift(operation: Any, rewriter: Any) -> bool:
    replaced(operation, rewriter, "shli")
    return True


def to_itself(operation: Any, rewriter: Any) -> bool:
    replaced(operation, rewriter, "muli")
    return True


def test_patterns_apply_until_none_fits() -> None:
    module = parsed(TEXT)
    mlir.rewrite_greedily(module.operation, {"arith.muli": to_shift})
    assert str(module).count("arith.shli") == 2
    assert "muli" not in str(module)


def test_what_does_not_fit_stays() -> None:
    seen: list[str] = []

    def look(operation: Any, _: object) -> bool:
        seen.append(operation.name)
        return False

    module = parsed(TEXT)
    before = str(module)
    mlir.rewrite_greedily(module.operation, {"arith.muli": look, "arith.addi": look})
    assert (str(module), seen) == (before, ["arith.muli", "arith.muli"])


def test_in_a_pass() -> None:
    define(lambda operation: mlir.rewrite_greedily(operation, {"arith.muli": to_shift}), "func.func")
    module = parsed(TEXT, threads=True)
    mlir.run_pipeline(module, "builtin.module(func.func(test-pass))")
    assert str(module).count("arith.shli") == 2


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit])
def test_what_a_pattern_raises_arrives(kind: type[BaseException]) -> None:
    calls: list[object] = []

    def fail(operation: object, _: object) -> bool:
        calls.append(operation)
        raise kind("no luck")

    with pytest.raises(kind, match="no luck"):
        mlir.rewrite_greedily(parsed(TEXT).operation, {"arith.muli": fail})
    assert len(calls) == 1


def test_in_a_pass_it_fails_the_pass() -> None:
    def fail(_: object, __: object) -> bool:
        raise ValueError("no luck")

    define(lambda operation: mlir.rewrite_greedily(operation, {"arith.muli": fail}))
    with pytest.raises(PassError, match=r"^pass test-pass: ValueError: no luck \(.*py:\d+"):
        mlir.run_pipeline(parsed(TEXT), "builtin.module(test-pass)")


@pytest.mark.parametrize("answer", [None, 1, "yes"])
def test_other_answers_are_refused(answer: object) -> None:
    pattern: Callable[[Any, Any], object] = lambda *_: answer  # noqa: E731
    with pytest.raises(PassError, match=r"^pattern for arith.muli: expected True or False, whether it has"):
        mlir.rewrite_greedily(parsed(TEXT).operation, {"arith.muli": pattern})


def test_as_many_rewrites_as_the_limit_are_no_error() -> None:
    module = parsed(TEXT)
    mlir.rewrite_greedily(module.operation, {"arith.muli": to_shift}, limit=2)
    assert str(module).count("arith.shli") == 2
    with pytest.raises(
        PassError, match="expected patterns that come to an end, got 1 rewrites and some that"
    ):
        mlir.rewrite_greedily(parsed(TEXT).operation, {"arith.muli": to_shift}, limit=1)


def test_patterns_without_end() -> None:
    with pytest.raises(PassError, match="expected patterns that come to an end, got 50 rewrites"):
        mlir.rewrite_greedily(parsed(TEXT).operation, {"arith.muli": to_itself}, limit=50)
    with pytest.raises(PassError, match="expected patterns that come to an end, got "):
        mlir.rewrite_greedily(parsed(TEXT).operation, {"arith.muli": lambda *_: True})


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("arith.mulli", "; did you mean 'arith.muli'?"),
        ("arit.muli", "; did you mean 'arith.muli'?"),
        ("muli", ""),
    ],
)
def test_a_misspelt_operation(name: str, told: str) -> None:
    module = parsed(TEXT)
    with pytest.raises(PassError, match=r"^rewrite_greedily: expected names of operations, got") as raised:
        mlir.rewrite_greedily(module.operation, {name: to_shift})
    assert str(raised.value).endswith(f"{name!r}{told}")
