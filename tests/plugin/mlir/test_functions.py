# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of MLIR's C API that are called, in Python and in C++, as its headers declare them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.errors import InputError
from passpilot.plugin.mlir.functions import PASSES, TRANSLATION, translation_functions
from tests.corpus.build import bindir

COUNTED: Final = Path(__file__).parents[3] / "plugin" / "native" / "bindings" / "mlir_api.h"
OURS: Final = {**PASSES, **TRANSLATION}


@cache
def declared() -> dict[str, int]:
    """How many parameters each function has."""
    text = "".join(each.read_text() for each in (bindir().parent / "include" / "mlir-c").rglob("*.h"))
    plain = re.sub(r"//.*|/\*.*?\*/", "", text)
    found = re.findall(r"\b(mlir\w+)\(([^()]*(?:\([^()]*\)[^()]*)*)\);", plain)
    return {name: 0 if given.strip() in ("", "void") else given.count(",") + 1 for name, given in found}


@pytest.mark.parametrize("name", [name for name in OURS if name.startswith("mlir")])
def test_a_signature_has_the_parameters_of_the_header(name: str) -> None:
    assert len(OURS[name]) - 1 == declared()[name]


def test_what_counts_in_cpp_is_declared() -> None:
    names = re.findall(r'find\("(\w+)"\)', COUNTED.read_text())
    assert len(names) > 15
    assert {*names} <= declared().keys()


def test_bindings_without_a_translation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TRANSLATION, "mlirNoSuchFunction", (None,))
    translation_functions.cache_clear()
    try:
        with pytest.raises(
            InputError, match="LLVM IR: expected MLIR's bindings with a translation to LLVM IR"
        ):
            translation_functions()
    finally:
        translation_functions.cache_clear()
