# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import re
import subprocess
from pathlib import Path

import pytest

from passpilot.features.llvm import inline
from passpilot.features.spec import DTYPES, TensorSpec
from passpilot.plugin import _core
from passpilot.runners.native import spec_of

ROW = re.compile(r"M\(\s*(\w+)\s*,\s*\{([\d,\s]*)\}\s*,\s*(\w+)\s*,")


@pytest.fixture(scope="module")
def analysis_headers() -> Path:
    command = ["llvm-config-22", "--includedir"]
    folder = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    return Path(folder, "llvm", "Analysis")


def macro_body(text: str, macro: str) -> str:
    """What a list macro of one parameter M stands for."""
    found = re.search(rf"#define {macro}\(M\)((?:[^\n]*\\\n)*[^\n]*\n)", text)
    assert found is not None
    return found[1].replace("\\\n", "\n")


def macro_rows(text: str, macro: str) -> list[TensorSpec]:
    """The rows of one list macro of LLVM as tensor specs."""
    body = macro_body(text, macro)
    rows = ROW.findall(body)
    assert len(rows) == len(re.findall(r"\bM\(", body)), "every row was understood"
    return [
        TensorSpec.from_json({"name": name, "type": llvm, "shape": [int(n) for n in shape.split(",")]})
        for llvm, shape, name in rows
    ]


def test_table_is_that_of_the_installed_header(analysis_headers: Path) -> None:
    text = (analysis_headers / "InlineModelFeatureMaps.h").read_text()
    cost = macro_rows(text, "INLINE_COST_FEATURE_ITERATOR")
    other = macro_rows(text, "INLINE_FEATURE_ITERATOR")
    assert (len(cost), len(other)) == (25, 13)
    assert [row.spec for row in inline.FEATURES] == cost + other


def test_scalar_types_are_those_of_the_installed_header(analysis_headers: Path) -> None:
    text = (analysis_headers / "TensorSpec.h").read_text()
    llvm = re.findall(r"\bM\((\w+),\s*\w+\)", macro_body(text, "SUPPORTED_TENSOR_TYPES"))
    assert llvm == [TensorSpec("x", dtype, (1,)).to_json()["type"] for dtype in DTYPES]


def test_documentation_is_in_words_of_its_own(analysis_headers: Path) -> None:
    header = " ".join((analysis_headers / "InlineModelFeatureMaps.h").read_text().split())
    docs = [row.doc for row in inline.FEATURES]
    assert [doc for doc in docs if f'"{doc}' in header] == []


def test_point_offers_the_table_and_then_the_default() -> None:
    point = inline.TABLE.point()
    assert point.name == "inline"
    assert point.features[:39] == (*(row.spec for row in inline.FEATURES), inline.TABLE.default)
    assert point.default == inline.TABLE.default
    assert point.advice == TensorSpec("inlining_decision", "int64", (1,))


def test_table_is_that_of_the_core() -> None:
    point = _core.point("inline")
    assert [spec_of(spec) for spec in point.features] == [row.spec for row in inline.FEATURES]
    assert spec_of(point.default) == TensorSpec(inline.TABLE.default.name, "int64", (1,))
    assert spec_of(point.advice) == TensorSpec(inline.DECISION.name, "int64", (1,))
