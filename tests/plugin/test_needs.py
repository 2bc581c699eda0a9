# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lines about parts of an installation that are missing or broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from passpilot import plugin
from passpilot.plugin.errors import InputError
from passpilot.plugin.extras import needs
from passpilot.plugin.toolchain import c_library, include_folder, installed, llvm_plugin, mlir_plugin

LINE = r'^serve: expected the packages of passpilot\[grpc\], got {}; run: pip install "passpilot\[grpc\]"$'


@pytest.mark.parametrize(
    ("error", "got"),
    [
        (ModuleNotFoundError("No module named 'grpc'", name="grpc"), "no grpc"),
        (ModuleNotFoundError("No module named 'google'", name="google"), "no google.protobuf"),
        (ModuleNotFoundError("No module named 'other.part'", name="other.part"), "no other.part"),
        (ModuleNotFoundError("without a name"), "ImportError: without a name"),
        (ImportError("undefined\n  symbol", name="grpc"), "ImportError: undefined symbol"),
    ],
)
def test_a_package_of_an_extra(error: ImportError, got: str) -> None:
    with pytest.raises(InputError, match=LINE.format(got)) as caught, needs("grpc", "serve"):
        raise error
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("name", ["numpy", "numpy.linalg", "passpilot.plugin.no_such", "rich"])
def test_a_package_that_every_installation_has_is_no_extra(name: str) -> None:
    error = ModuleNotFoundError(f"No module named {name!r}", name=name)
    with pytest.raises(ModuleNotFoundError) as caught, needs("grpc", "serve"):
        raise error
    assert caught.value is error


def test_other_errors_pass_through() -> None:
    with pytest.raises(ValueError, match="mine"), needs("grpc", "serve"):
        raise ValueError("mine")


def test_files_of_the_build_that_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "include").mkdir()
    monkeypatch.setattr(plugin, "__path__", [str(tmp_path / "first"), str(tmp_path / "second")])
    assert include_folder() == tmp_path / "second" / "include"
    told = f"^passpilot: expected {{}} in {tmp_path}/second, got none; {{}}$"
    for find, name in ((llvm_plugin, "libpasspilot.so"), (c_library, "libpasspilot_c.so.1")):
        with pytest.raises(InputError, match=told.format(name, "build passpilot again")):
            find()
    install = "sudo apt-get install clang-22 libmlir-22-dev, and build passpilot again"
    with pytest.raises(InputError, match=told.format("libpasspilot_mlir.so", install)):
        mlir_plugin()
    with pytest.raises(InputError, match=told.format("x", "do it")):
        installed("x", "do it")
