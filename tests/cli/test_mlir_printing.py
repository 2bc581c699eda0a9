# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot mlir-opt`: what the flags for printing around passes mean to the bindings."""

from __future__ import annotations

import pytest

from passpilot.cli.mlir_opt import _parsed
from passpilot.plugin.errors import UsageError

NONE = dict.fromkeys(("before_all", "after_all", "after_change", "after_failure"), False)


@pytest.mark.parametrize(
    ("flags", "printed"),
    [
        (["before-all"], ["before_all"]),
        (["after-all"], ["after_all"]),
        (["after-change"], ["after_all", "after_change"]),
        (["after-failure"], ["after_all", "after_failure"]),
        (["before-all", "after-failure"], ["before_all", "after_all", "after_failure"]),
    ],
)
def test_printing_around_passes(flags: list[str], printed: list[str]) -> None:
    made = _parsed([f"--mlir-print-ir-{flag}" for flag in flags]).printing.around_passes()
    wanted = NONE | dict.fromkeys(printed, True)
    assert made == {f"print_{name}": value for name, value in wanted.items()}


def test_nothing_is_printed_around_passes_unless_a_flag_says_so() -> None:
    assert _parsed([]).printing.around_passes() == {}
    assert _parsed(["--mlir-print-ir-module-scope"]).printing.around_passes() == {}


@pytest.mark.parametrize(
    ("flags", "verified"),
    [
        ([], True),
        (["--verify-each"], True),
        (["-verify-each", "in.mlir"], True),
        (["--verify-each=1"], True),
        (["--verify-each=true"], True),
        (["--verify-each=false"], False),
        (["--verify-each=0"], False),
    ],
)
def test_verifying_after_each_pass(flags: list[str], verified: bool) -> None:
    options = _parsed(flags)
    assert options.verify_each is verified
    assert options.input == (flags[1] if flags[1:] else "-")


def test_verifying_is_yes_or_no() -> None:
    with pytest.raises(UsageError, match="verify-each"):
        _parsed(["--verify-each=maybe"])
