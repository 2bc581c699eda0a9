# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of MLIR's C API that Python calls, as its headers declare them."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

import pytest

from passpilot.plugin.mlir.functions import PASSES, TRANSLATION
from tests.corpus.build import bindir

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
