# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot plugin-path`; test_plugin.py and test_programs.py load what it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from passpilot.plugin.errors import InputError
from passpilot.plugin.toolchain import llvm_plugin, mlir_plugin
from passpilot.plugin.version import MAJOR
from tests.cli.cc.test_other_llvm import built
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


@pytest.mark.parametrize("ours", [".venv", f".venv-{MAJOR}"])
def test_the_plugin_for_another_llvm(ours: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.prefix", str(tmp_path / ours))
    with pytest.raises(InputError) as caught:
        llvm_plugin(MAJOR + 1)
    assert str(caught.value) == (
        f"passpilot: expected LLVM {MAJOR}, which it is built with, got {MAJOR + 1}; "
        f"PASSPILOT_LLVM={MAJOR + 1} tools/setup.sh build makes {tmp_path}/.venv-{MAJOR + 1}"
    )
    if ours != ".venv":  # then the default is another one, too
        built(tmp_path / ".venv", MAJOR - 1)
        assert llvm_plugin(MAJOR - 1).is_relative_to(tmp_path / ".venv")
    other = built(tmp_path / f".venv-{MAJOR + 1}", MAJOR + 1)
    assert (llvm_plugin(MAJOR + 1), llvm_plugin(MAJOR)) == (other, llvm_plugin())


def test_a_plugin_for_another_llvm_is_not_for_mlir(tmp_path: Path) -> None:
    done = passpilot("plugin-path", "--mlir", f"--llvm={MAJOR + 1}", cwd=tmp_path)
    text = f"plugin-path: expected --llvm={MAJOR} with another option, got {MAJOR + 1}"
    assert (done.code, done.out, done.err.splitlines()[0]) == (2, b"", f"passpilot: error: {text}")
