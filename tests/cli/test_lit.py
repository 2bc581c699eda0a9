# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot.lit.configure`: what it adds to a configuration of lit, with and without the stock tools."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from passpilot.cli import lit as module
from passpilot.cli.lit import NEEDED, STOCK, configure
from passpilot.plugin.errors import InputError
from passpilot.plugin.toolchain import llvm_plugin, mlir_plugin
from tests.corpus.build import bindir

PAGE = Path(__file__).parents[2] / "docs" / "lit.md"


class Configuration:
    def __init__(self) -> None:
        self.environment: dict[str, str] = {}
        self.substitutions: list[tuple[str, str]] = []
        self.available_features: set[str] = set()


class Reporter:
    def fatal(self, message: str) -> NoReturn:
        raise SystemExit(message)


def configured() -> Configuration:
    made = Configuration()
    configure(made, Reporter())
    return made


def test_all_tools() -> None:
    made = configured()
    folders = made.environment["PATH"].split(os.pathsep)
    assert folders[:2] == [os.path.dirname(sys.executable), str(bindir())]
    assert dict(made.substitutions) == {
        "%plugin": str(llvm_plugin()),
        "%opt": f"opt -load-pass-plugin={llvm_plugin()}",
        "%clang": f"clang {STOCK['clang'].format(llvm_plugin())}",
        "%llc": f"llc -load={llvm_plugin()}",
        "%mlir-opt": f"mlir-opt --load-pass-plugin={mlir_plugin()}",
    }
    features = {"opt", "clang", "llc", "lld", "mlir-plugin", "grpc", "llvmlite", "onnx"}
    assert made.available_features == features
    assert made.environment["HOME"] == os.environ["HOME"]


def test_the_page_has_every_feature_and_substitution() -> None:
    made, page = configured(), PAGE.read_text()
    named = set(re.findall(r"`([^` ]+)`", page))
    assert made.available_features | {name for name, _ in made.substitutions} <= named
    assert set(NEEDED) <= named


def few_tools(folder: Path, monkeypatch: pytest.MonkeyPatch, *tools: str) -> None:
    """Let PATH have only these of LLVM's tools."""
    folder.mkdir()
    for tool in tools:
        (folder / tool).symlink_to(bindir() / tool)
    monkeypatch.setenv("PATH", str(folder))


def test_without_stock_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few_tools(tmp_path / "bin", monkeypatch, *NEEDED)
    made = configured()
    assert made.substitutions == [("%plugin", str(llvm_plugin()))]
    assert made.available_features == {"grpc", "llvmlite", "onnx"}


def test_a_missing_tool_ends_lit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few_tools(tmp_path / "bin", monkeypatch, "FileCheck", "not")
    with pytest.raises(
        SystemExit, match=r"^passpilot\.lit: count is not on the PATH; install llvm-22-tools$"
    ):
        configured()


def test_without_the_plugin_for_mlir_opt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_mlir_plugin", lambda: "")
    made = configured()
    assert "mlir-plugin" not in made.available_features
    assert "%mlir-opt" not in dict(made.substitutions)


def test_variables_that_tests_see(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, f"/of/{name}")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    monkeypatch.setenv("SECRET", "x")
    seen = configured().environment
    assert {name: seen[name] for name in seen if name != "PATH"} == {
        "HOME": "/of/HOME",
        "XDG_CACHE_HOME": "/of/XDG_CACHE_HOME",
    }
    monkeypatch.setenv("LD_LIBRARY_PATH", "/lib/of/mine")
    assert configured().environment["LD_LIBRARY_PATH"] == "/lib/of/mine"


def test_the_path_of_the_user_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few_tools(tmp_path / "bin", monkeypatch, *NEEDED)
    folders = configured().environment["PATH"].split(os.pathsep)
    assert folders == [os.path.dirname(sys.executable), str(tmp_path / "bin")]


@pytest.mark.parametrize(
    ("tool", "feature", "substitutions"),
    [
        ("opt", "opt", {"%plugin", "%opt"}),
        ("clang", "clang", {"%plugin", "%clang"}),
        ("llc", "llc", {"%plugin", "%llc"}),
        ("ld.lld", "lld", {"%plugin"}),
        ("mlir-opt", "mlir-plugin", {"%plugin", "%mlir-opt"}),
    ],
)
def test_one_stock_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, feature: str, substitutions: set[str]
) -> None:
    few_tools(tmp_path / "bin", monkeypatch, *NEEDED, tool)
    made = configured()
    assert made.available_features == {"grpc", "llvmlite", "onnx", feature}
    assert {name for name, _ in made.substitutions} == substitutions


@pytest.mark.parametrize("tool", ["FileCheck", "opt", "clang", "llc"])
def test_a_tool_with_a_version_leads_to_the_plain_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    (tmp_path / f"{tool}-22").symlink_to(bindir() / tool)
    monkeypatch.setenv("PATH", str(tmp_path))
    folder = os.path.dirname(os.path.realpath(bindir() / tool))
    assert module._llvm_folders() == [folder]


def test_a_missing_passpilot_ends_lit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few_tools(tmp_path / "bin", monkeypatch, *NEEDED)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none" / "python"))
    with pytest.raises(SystemExit, match=r"passpilot is not on the PATH; install passpilot$"):
        configured()


@pytest.mark.parametrize("missing", ["grpc", "llvmlite", "onnx"])
def test_a_package_that_is_not_installed(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == missing else name)
    found = configured().available_features
    assert {"grpc", "llvmlite", "onnx"} - found == {missing}


def test_the_plugin_for_mlir_opt_may_not_be_built(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Path:
        raise InputError("none")

    monkeypatch.setattr(module, "mlir_plugin", none)
    assert module._mlir_plugin() == ""
