# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot plugin-path`; test_plugin.py and test_programs.py load what it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from passpilot.plugin.toolchain import llvm_plugin, mlir_plugin
from tests.command import PASSPILOT, passpilot, run


@pytest.mark.parametrize(
    ("options", "path", "tools", "package"),
    [
        ((), llvm_plugin(), "opt-22 or clang-22 or llc-22 or ld.lld-22", "llvm-22"),
        (("--mlir",), mlir_plugin(), "mlir-opt-22", "mlir-22-tools"),
    ],
)
def test_a_plugin_without_a_tool(
    options: tuple[str, ...], path: Path, tools: str, package: str, tmp_path: Path
) -> None:
    with_tools = passpilot("plugin-path", *options, cwd=tmp_path)
    assert (with_tools.code, with_tools.out.decode(), with_tools.err) == (0, f"{path}\n", "")
    without = run("/usr/bin/env", f"PATH={tmp_path}", PASSPILOT, "plugin-path", *options, cwd=tmp_path)
    assert (without.code, without.out) == (0, with_tools.out)
    assert without.err == (
        f"passpilot: warning: plugin-path: no {tools} is on the PATH; sudo apt-get install {package}\n"
    )
