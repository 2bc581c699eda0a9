# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM's levels for size: pipelines before LLVM 23, attributes of functions since then."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from passpilot import Module, optimize
from passpilot.plugin.version import MAJOR
from tests import stock

ATTRIBUTES: Final = {"Os": "optsize", "Oz": "minsize optsize"}
SOURCE: Final = """\
declare void @use(i32)
define internal void @leaf(i32 %x) {size} {{
  call void @use(i32 %x)
  call void @use(i32 7)
  call void @use(i32 %x)
  ret void
}}
define void @top(i32 %x) {size} {{
  call void @leaf(i32 %x)
  call void @leaf(i32 1)
  ret void
}}
define void @apart() noinline optnone {{
  ret void
}}
"""


@pytest.mark.parametrize("level", ATTRIBUTES)
@pytest.mark.parametrize("pipeline", ["default<{}>", "forceattrs,default<{}>"])
def test_a_level_for_size(level: str, pipeline: str, tmp_path: Path) -> None:
    """With LLVM 23, as stock opt's O2 of functions that ask for size; functions left alone stay so."""
    text = pipeline.format(level)
    source = tmp_path / "source.ll"
    source.write_text(SOURCE.format(size=""))
    module = Module.read(source)
    optimize(module, text)
    source.write_text(SOURCE.format(size=ATTRIBUTES[level] if MAJOR >= 23 else ""))
    assert module.bitcode() == stock.run("opt", f"-passes={text}", source, "-o", "-")
    assert ("minsize" in str(module)) == (MAJOR >= 23 and level == "Oz")


def test_other_pipelines_ask_for_nothing() -> None:
    module = Module.read(SOURCE.format(size="").encode())
    optimize(module, "default<O2>,function(instcombine<no-verify-fixpoint>)")
    assert "optsize" not in str(module)
