# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""C and C++ that measurements compile and call: functions that answer, loops that ask, onnxruntime alone."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

from bench.lib.records import ROOT
from passpilot.runners.native import onnx_library


def shared_library(target: Path, compiler: str, *arguments: str | Path) -> ctypes.CDLL:
    subprocess.run([compiler, *arguments, "-O2", "-shared", "-fPIC", "-o", target, "-ldl"], check=True)
    return ctypes.CDLL(str(target))


def c_library(target: Path, code: str, *arguments: str | Path) -> ctypes.CDLL:
    """The same of C code in a string."""
    source = target.with_suffix(".c")
    source.write_text(code)
    return shared_library(target, "cc", source, *arguments)


def address(function: object) -> int:
    found = ctypes.cast(function, ctypes.c_void_p).value  # type: ignore[arg-type]
    assert found is not None
    return found


def c_function(target: Path, body: str) -> int:
    """The address of a C function for `function_runner`, whose body reads `inputs` and writes `*output`."""
    code = f"""
#include <stdint.h>
int decide(void *context, const void *const *inputs, void *output) {{
  (void)context;
  {body}
  return 0;
}}
"""
    return address(c_library(target, code).decide)


class Floor:
    """A model in onnxruntime's C API alone, on one thread: the least that an ONNX runner can take.

    Attributes:
        context: of `function`.
        function: the address of a function that evaluates the model, as `function_runner` takes it.
        input: the address of the model's input.
    """

    def __init__(self, target: Path, model: Path, inputs: int = 38, outputs: int = 2) -> None:
        runtime = ROOT / "plugin/native/runtime"
        sources = [
            ROOT / "bench/native/onnx_floor.cpp",
            runtime / "onnx_api.cpp",
            runtime / "environment.cpp",
        ]
        library = shared_library(target, "c++", "-std=c++17", f"-I{runtime}", *sources)
        library.floor_open.restype = library.floor_input.restype = ctypes.c_void_p
        library.floor_input.argtypes = [ctypes.c_void_p]
        self.context: int = library.floor_open(onnx_library().encode(), str(model).encode(), inputs, outputs)
        assert self.context, "the model opens"
        self.function = address(library.floor_decide)
        self.input: int = library.floor_input(self.context)
