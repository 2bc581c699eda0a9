# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`configure`: makes passpilot's commands, the stock tools and their plugins available to lit tests.

A project's lit.cfg.py calls it; lit itself must run in the environment that passpilot is installed in.
"""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from typing import Final, NoReturn, Protocol

from passpilot.plugin.errors import InputError, publish
from passpilot.plugin.toolchain import llvm_plugin, mlir_plugin
from passpilot.plugin.version import MAJOR

__all__ = ["configure"]

NEEDED: Final = ("FileCheck", "not", "count", "split-file")
"""LLVM's tools for tests, which most RUN lines use."""

STOCK: Final = {
    "opt": "-load-pass-plugin={0}",
    "clang": "-fpass-plugin={0}" + " -Xclang -load -Xclang {0}" * (MAJOR < 22),
    "llc": "-load={0}",
}
"""The tools that load libpasspilot.so, each with the flag for it. Before LLVM 22, clang knows the options of
what `-load` names alone."""

MODULES: Final = ("grpc", "llvmlite", "onnx")
"""The optional packages that are features of their own."""

KEPT: Final = ("HOME", "XDG_CACHE_HOME", "LD_LIBRARY_PATH")
"""The variables that tests see besides those that lit itself keeps."""


class Configuration(Protocol):
    """The part of lit's `TestingConfig` that is filled in."""

    environment: dict[str, str]
    substitutions: list[tuple[str, str]]
    available_features: set[str]


class Reporter(Protocol):
    """The part of lit's `LitConfig` that reports errors."""

    def fatal(self, message: str) -> NoReturn:
        """Print the message and end lit."""


def configure(config: Configuration, lit_config: Reporter) -> None:
    """Add passpilot's commands, LLVM's tools, substitutions and features to a lit configuration.

    * The PATH starts with the folders of `passpilot` and of LLVM's tools by their plain names.
    * ``%opt``, ``%clang`` and ``%llc`` are the stock tools with the plugin loaded, ``%mlir-opt`` is mlir-opt
      with its plugin, ``%plugin`` is the plugin's path.
    * The features are ``opt``, ``clang``, ``llc``, ``lld`` and ``mlir-plugin`` for the installed stock tools,
      and ``grpc``, ``llvmlite`` and ``onnx`` for installed Python packages.

    lit gives `config` and `lit_config` to a lit.cfg.py under these names. If FileCheck or another of LLVM's
    tools for tests is missing, lit ends with an error.
    """
    folders = [os.path.dirname(sys.executable), *_llvm_folders()]
    path = os.pathsep.join([*folders, os.environ.get("PATH", os.defpath)])
    config.environment["PATH"] = path
    config.environment.update({name: os.environ[name] for name in KEPT if name in os.environ})
    for tool in ("passpilot", *NEEDED):
        if not shutil.which(tool, path=path):
            package = "passpilot" if tool == "passpilot" else f"llvm-{MAJOR}-tools"
            lit_config.fatal(f"passpilot.lit: {tool} is not on the PATH; install {package}")
    found = {tool for tool in (*STOCK, "ld.lld", "mlir-opt") if shutil.which(tool, path=path)}
    _add_tools(config, found)
    config.available_features.update(name for name in MODULES if find_spec(name))


def _llvm_folders() -> list[str]:
    """The folder of LLVM's tools by their plain names, where the tools with a version in the name lead to."""
    for tool in (NEEDED[0], *STOCK):
        if versioned := shutil.which(f"{tool}-{MAJOR}"):
            return [os.path.dirname(os.path.realpath(versioned))]
    return []


def _add_tools(config: Configuration, found: set[str]) -> None:
    plugin = llvm_plugin()
    config.substitutions.append(("%plugin", str(plugin)))
    for tool in found & STOCK.keys():
        config.available_features.add(tool)
        config.substitutions.append((f"%{tool}", f"{tool} {STOCK[tool].format(plugin)}"))
    if "ld.lld" in found:
        config.available_features.add("lld")
    if "mlir-opt" in found and (mlir := _mlir_plugin()):
        config.available_features.add("mlir-plugin")
        config.substitutions.append(("%mlir-opt", f"mlir-opt --load-pass-plugin={mlir}"))


def _mlir_plugin() -> str:
    """The path of the plugin for mlir-opt; empty if it has not been built."""
    try:
        return str(mlir_plugin())
    except InputError:
        return ""


publish("passpilot.lit", [configure])
