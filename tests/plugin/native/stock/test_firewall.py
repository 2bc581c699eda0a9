# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nothing is thrown through LLVM: what the system refuses is an error with exit code 1, in every tool."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.toolchain import mlir_plugin
from tests import stock
from tests.plugin.native.mlir.tools import CALLS, MLIR_OPT
from tests.plugin.native.stock.tools import Done, run, tool

LONG: Final = "x" * 300
MODELS: Final = {
    f"{LONG}.onnx": "File name too long",
    "circle.onnx": "Too many levels of symbolic links",
    "folder.onnx": "Is a directory",
    "fifo.onnx": "not a regular file",
    "policy.py/x.onnx": "Not a directory",
    "large.onnx": "File too large",
}
"""Names that `std::filesystem` throws at, or that `open` waits for, and what they are."""

OPEN: Final = r"""
#include <cstdarg>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" int open(const char *Name, int Flags, ...) {
  if (std::strstr(Name, "throws.onnx"))
    throw std::runtime_error("no luck");
  va_list More;
  va_start(More, Flags);
  const int Mode = va_arg(More, int);
  va_end(More);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, Name, Flags, Mode));
}
"""

TOOLS: Final = {
    "opt": ("-passes=default<O1>",),
    "clang": ("-O1", "-c", "-x", "ir"),
    "llc": ("-filetype=obj",),
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A module beside the names of `MODELS`."""
    (tmp_path / "policy.py").write_text("def no(obs):\n    return False\n")
    (tmp_path / "circle.onnx").symlink_to("circle.onnx")
    (tmp_path / "folder.onnx").mkdir()
    os.mkfifo(tmp_path / "fifo.onnx")
    with (tmp_path / "large.onnx").open("wb") as file:
        file.truncate(1 << 40)
    return stock.clang(stock.MANY_CALLS, tmp_path / "in.bc")


def variable(name: str) -> str:
    """The variable of an advisor that the tool asks."""
    return "PASSPILOT_EVICT" if name == "llc" else "PASSPILOT_INLINE"


def failing(name: str, source: Path, runner: str, env: dict[str, str]) -> Done:
    """Run a tool with a runner that cannot be made; there must be no output."""
    here = source.parent
    if name == "mlir-opt":
        (here / "in.mlir").write_text(CALLS)
        pipeline = f"--pass-pipeline=builtin.module(advised-inline{{runner={runner}}})"
        load = f"--load-pass-plugin={mlir_plugin()}"
        done = run(MLIR_OPT, load, "in.mlir", pipeline, "-o", "out", cwd=here, env=env)
    else:
        done = tool(name, *TOOLS[name], source, "-o", "out", cwd=here, env=env)
    assert not (here / "out").exists()
    return done


def refused(done: Done, expected: str) -> None:
    """It has failed with one error, and not by a signal."""
    assert done.code == 1, done
    assert f"error: {expected}" in done.err
    for word in ("Traceback", "PLEASE submit", "LLVM ERROR"):
        assert word not in done.err


@pytest.mark.parametrize("model", MODELS, ids=lambda name: name[:20])
@pytest.mark.parametrize("name", [*TOOLS, "mlir-opt"])
def test_a_model_that_cannot_be_read(name: str, model: str, source: Path) -> None:
    done = failing(name, source, f"onnx:{model}", {variable(name): f"onnx:{model}"})
    refused(done, f"model {model}: expected an ONNX file, got: {MODELS[model]}")


def test_an_aot_model_that_is_a_fifo(source: Path) -> None:
    advice = "-passpilot-inline=aot:fifo.onnx"
    done = tool("opt", advice, *TOOLS["opt"], source, "-o", "out", cwd=source.parent)
    model = source.parent / "fifo.onnx"
    refused(done, f"model {model}: expected a model of 'passpilot aot', got not a regular file")


@pytest.mark.parametrize("name", TOOLS)
def test_a_file_to_load_that_is_a_fifo(name: str, source: Path) -> None:
    env = {"PASSPILOT_LOAD": "fifo.onnx"}
    done = tool(name, *TOOLS[name], source, "-o", "out", cwd=source.parent, env=env)
    refused(done, "file fifo.onnx: expected a Python file that can be read, got: not a regular file")


@pytest.fixture(scope="session")
def throwing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library to preload, whose `open` throws an exception at throws.onnx."""
    folder = tmp_path_factory.mktemp("throwing")
    (folder / "open.cpp").write_text(OPEN)
    stock.run("clang++", "-shared", "-fPIC", folder / "open.cpp", "-o", folder / "open.so")
    return folder / "open.so"


@pytest.mark.parametrize("name", [*TOOLS, "mlir-opt"])
def test_an_exception_ends_where_the_compiler_calls(name: str, throwing: Path, source: Path) -> None:
    first = os.environ.get("LD_PRELOAD", "")  # a sanitizer's runtime must come first
    preloaded = f"{first} {throwing}".strip()
    env = {"LD_PRELOAD": preloaded, variable(name): "onnx:throws.onnx"}
    done = failing(name, source, "onnx:throws.onnx", env)
    refused(done, "passpilot: expected no exception, got: no luck")


@pytest.mark.parametrize("name", ["opt", "llc"])
def test_an_error_text_that_is_no_unicode(name: str, source: Path) -> None:
    """The text reaches the tool all the same: an error without a text would pass for success."""
    (source.parent / "policy.py").write_text(
        "from passpilot.errors import InputError\nraise InputError('no \\ud800')\n"
    )
    env = {variable(name): "python:policy.py:no"}
    done = tool(name, *TOOLS[name], source, "-o", "out", cwd=source.parent, env=env)
    refused(done, "no \\ud800")


def test_the_hosted_door_refuses_the_same(source: Path) -> None:
    passpilot = Path(sys.executable).with_name("passpilot")
    flags = ("-passes=default<O1>", "in.bc", "-o", "out")
    for model, got in MODELS.items():
        done = run(passpilot, "opt", *flags, f"--inline=onnx:{model}", cwd=source.parent)
        assert done.code == 1
        assert f"model {model}: expected an ONNX file, got: {got}" in done.err
    done = run(passpilot, "opt", *flags, "--load=fifo.onnx", cwd=source.parent)
    assert done.code == 1
    assert "file fifo.onnx: expected a Python file that can be read, got: not a regular file" in done.err
