# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a model in C++, as LLVM's EmitC route writes it, to the constant of passpilot_model.h.

``mlir-translate --mlir-to-cpp`` prints a function whose parameters are the model's buffers, or, behind the
pass ``wrap-emitc-func-in-class``, a class whose fields are the buffers. A newer LLVM adds a map from names to
fields, which its EmitCModelRunner reads; without the map, nothing in the file names a buffer.

The text is searched for the buffers only. A wrapper includes the file, asserts what was found, and clang
compiles both; so a file that means something else is an error of clang's, never a wrong model.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np
from onnx import helper

from passpilot.features.point import Point
from passpilot.plugin import _core
from passpilot.plugin.errors import ModelError
from passpilot.plugin.failures import did_you_mean
from passpilot.plugin.files import read_regular
from passpilot.plugin.module import Module
from passpilot.plugin.toolchain import include_folder
from passpilot.plugin.version import MAJOR
from passpilot.runners.aot.build import ABI, LINKERS, Processor
from passpilot.runners.aot.graph import Tensor
from passpilot.runners.base import own_features

SUFFIXES: Final = (".cpp", ".cc", ".cxx", ".h", ".hpp")

_TYPES: Final = {
    "bool": "bool",
    "double": "float64",
    "float": "float32",
    "ptrdiff_t": "int64",
    "size_t": "uint64",
    "ssize_t": "int64",
    **{f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_FUNCTION: Final = re.compile(
    r"^(?!static\b|return\b)(?:extern\s+\"C\"\s+)?(?:inline\s+)?([\w:]+)\s+(\w+)\s*\(([^()]*)\)\s*\{",
    re.MULTILINE,
)
_CLASS: Final = re.compile(r"^(?:class|struct)\s+(\w+)(?:\s+final)?\s*\{(.*?)^\};", re.MULTILINE | re.DOTALL)
_METHOD: Final = re.compile(r"([\w:]+)\s+(execute|operator\s*\(\s*\))\s*\(\s*\)\s*\{")
_BUFFER: Final = re.compile(r"(?:const\s+)?((?:\w+::)?\w+)\s+(\w+)((?:\s*\[\s*\d+\s*\])*)")
_FIELD: Final = re.compile(rf"(?:^|[;{{}}:])\s*(?!const\b){_BUFFER.pattern}(?=\s*;)")
_NAMED_FIELD: Final = re.compile(
    r'\{\s*"((?:[^"\\]|\\.)*)"\s*,\s*reinterpret_cast\s*<\s*char\s*\*\s*>\s*\(\s*&\s*(\w+)\s*\)'
)
_CLANG: Final = f"clang++-{MAJOR}"
_CLANG_SECONDS: Final = 300
_SUMS: Final = ("-ffp-contract=fast", "-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math")
"""Sums may be reordered and fused with products, as in ONNX models: the loops then use vectors."""


@dataclass(frozen=True, slots=True)
class CppModel:
    """A function or a class in C++ that computes a model."""

    path: str
    name: str
    method: str
    """The class's method; empty for a function."""
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    places: tuple[str, ...]
    """The parameters or fields, in order; the name of a tensor may be another."""
    order: tuple[str, ...]
    """The names of the tensors of `places`."""
    returns: str
    """The type that the function or method returns, or ``void``."""
    digest: str
    """SHA-256 of the file, in hexadecimal."""

    def wrapper(self, symbol: str, processor: Processor) -> str:
        """The text in C++ that includes the file and defines the constant."""
        offsets = _offsets(self.outputs)
        texts = (self.digest, processor.triple, processor.name, ",".join(processor.features))
        return _WRAPPER.format(
            path=_quoted(os.path.abspath(self.path)),
            inputs=_tensors("inputs", self.inputs, [0] * len(self.inputs)),
            outputs=_tensors("outputs", self.outputs, offsets),
            body=self._class_body(offsets) if self.method else self._function_body(offsets),
            symbol=symbol,
            counts=f"{ABI}, {len(self.inputs)}, {len(self.outputs)}, 0",
            size=offsets[-1],
            texts=", ".join(map(_quoted, texts)),
        )

    def _pairs(self) -> list[tuple[str, Tensor]]:
        tensors = {tensor.name: tensor for tensor in (*self.inputs, *self.outputs)}
        return [(place, tensors[name]) for place, name in zip(self.places, self.order, strict=True)]

    def _function_body(self, offsets: Sequence[int]) -> str:
        arguments = []
        for _, tensor in self._pairs():
            address = self._address(tensor, offsets)
            arguments.append(f"*({_pointer(tensor)})({address})")
        call = f"::{self.name}({', '.join(arguments)})"
        return _STATELESS + _evaluate(self._result(call, offsets))

    def _class_body(self, offsets: Sequence[int]) -> str:
        before, after, checks = [], [], []
        for place, tensor in self._pairs():
            field, kind = f"model->{place}", f"{_c_type(tensor)}{_dims(tensor)}"
            checks.append(f"static_assert(std::is_same_v<decltype(::{self.name}::{place}), {kind}>);")
            address = self._address(tensor, offsets)
            if tensor in self.inputs:
                before.append(f"std::memcpy(&{field}, {address}, sizeof {field});")
            else:
                after.append(f"std::memcpy({address}, &{field}, sizeof {field});")
        run = self._result(f"model->{self.method}()", offsets)
        lines = [f"auto *model = static_cast<::{self.name} *>(context);", *before, *run, *after]
        return "\n".join(checks) + _STATEFUL.format(name=self.name) + _evaluate(lines)

    def _address(self, tensor: Tensor, offsets: Sequence[int]) -> str:
        if tensor in self.inputs:
            return f"in[{self.inputs.index(tensor)}]"
        return f"static_cast<char *>(out) + {offsets[self.outputs.index(tensor)]}"

    def _result(self, call: str, offsets: Sequence[int]) -> list[str]:
        """The statements that call; what is returned is the last output."""
        if self.returns == "void":
            return [f"{call};"]
        place = f"static_cast<char *>(out) + {offsets[len(self.outputs) - 1]}"
        return [f"{self.returns} result = {call};", f"std::memcpy({place}, &result, sizeof result);"]


def read_cpp(path: str, function: str, buffers: Sequence[str], outputs: Sequence[str]) -> CppModel:
    """Find the model in a C++ file.

    Args:
        path: the file.
        function: the function or class; empty if the file has one.
        buffers: the names of its buffers, in order, and of the value that it returns, if it does.
        outputs: the buffers that the model writes; without any, the last one.

    Raises:
        ModelError: the file cannot be read, has no such model, or the names do not fit.
    """
    try:
        data = read_regular(path)
    except OSError as error:
        raise ModelError(f"{path}: expected a C++ file, got: {error.strerror or error}") from error
    text = _COMMENT.sub(" ", data.decode(errors="replace"))
    found = [*_classes(path, text), *_functions(path, text)]
    chosen = [model for model in found if model.name == function] if function else found
    if len(chosen) != 1:
        names = ", ".join(model.name for model in found) or "none"
        hint = f"name one, {path}:{found[0].name}" if len(found) > 1 else "docs/aot.md shows the forms"
        wanted = f"a model {function}" if function else "one function with buffers, or class with execute()"
        raise ModelError(f"{path}: expected {wanted}, got {names}; {hint}")
    return _named(chosen[0], data, buffers, outputs)


@dataclass(frozen=True, slots=True)
class _Unnamed:
    """What the text has: `buffers` are (type, place, shape); `names` those of a reflection map, by place."""

    path: str
    name: str
    method: str
    returns: str
    buffers: tuple[tuple[str, str, tuple[int, ...]], ...]
    names: dict[str, str]

    def spell(self) -> str:
        sizes = ["".join(map("[{}]".format, shape)) for _, _, shape in self.buffers]
        buffers = [f"{kind} {name}{size}" for (kind, name, _), size in zip(self.buffers, sizes, strict=True)]
        more = [] if self.returns == "void" else [f"the {self.returns} that it returns"]
        return ", ".join([*buffers, *more])


def _functions(path: str, text: str) -> list[_Unnamed]:
    found = []
    for returns, name, parameters in _FUNCTION.findall(text):
        parts = [part.strip() for part in parameters.split(",") if part.strip()]
        buffers = []
        for part in parts:
            match = _BUFFER.fullmatch(part)
            if match is None:
                raise ModelError(
                    f"{path}: {name}: expected parameters such as float v1[1][38], got {part!r}; "
                    "fix the model's shapes before it is lowered"
                )
            buffers.append(_buffer(match))
        if buffers:
            found.append(_Unnamed(path, name, "", returns, tuple(buffers), {}))
    return found


def _classes(path: str, text: str) -> list[_Unnamed]:
    found = []
    for name, body in _CLASS.findall(text):
        method = _METHOD.search(body)
        if method is None:
            continue
        names = {field: name for name, field in _NAMED_FIELD.findall(body)}
        fields = tuple(_buffer(match) for match in _FIELD.finditer(_shallow(body)))
        if names:
            fields = tuple(field for field in fields if field[1] in names)
        called = re.sub(r"\s", "", method[2])
        found.append(_Unnamed(path, name, called, method[1], fields, names))
    return found


def _buffer(match: re.Match[str]) -> tuple[str, str, tuple[int, ...]]:
    return match[1].removeprefix("std::"), match[2], tuple(map(int, re.findall(r"\d+", match[3])))


def _shallow(body: str) -> str:
    """The body of a class without what is in braces."""
    depth, kept = 0, []
    for part in re.split(r"([{}])", body):
        if part in ("{", "}"):
            depth += 1 if part == "{" else -1
            kept.append(";" if part == "}" and depth == 0 else "")
        elif depth == 0:
            kept.append(part)
    return "".join(kept)


def _named(model: _Unnamed, data: bytes, buffers: Sequence[str], outputs: Sequence[str]) -> CppModel:
    """Give the buffers their names and split them into inputs and outputs."""
    who, places = f"{model.path}: {model.name}", [place for _, place, _ in model.buffers]
    results = [] if model.returns == "void" else [model.returns]
    given = [name for text in buffers for name in text.split(",")]
    if not given and model.names:
        given = [model.names[place] for place in places] + ["answer"] * len(results)
    if len(given) != len(places) + len(results) or not all(given) or len(set(given)) != len(given):
        named = ", ".join(given) or "none"
        raise ModelError(f"{who}: expected --buffer with a name for each of {model.spell()}, got {named}")
    kinds = [(kind, shape) for kind, _, shape in model.buffers] + [(kind, ()) for kind in results]
    for kind, _ in kinds:
        if kind not in _TYPES:
            raise ModelError(f"{who}: expected buffers of {', '.join(_TYPES)}, got {kind}")
    tensors = {
        name: Tensor(name, np.dtype(_TYPES[kind]), shape)
        for name, (kind, shape) in zip(given, kinds, strict=True)
    }
    chosen = list(outputs) or given[-1:]
    for name in chosen:
        if name not in tensors:
            raise ModelError(f"{who}: expected --output among {', '.join(given)}, got {name}")
    chosen += [name for name in given[len(places) :] if name not in chosen]
    inputs = tuple(tensor for name, tensor in tensors.items() if name not in chosen)
    if results:  # what is returned is the last output
        chosen.sort(key=lambda name: name == given[-1])
    written = tuple(tensors[name] for name in chosen)
    order, digest = tuple(given[: len(places)]), hashlib.sha256(data).hexdigest()
    for tensor in written if not model.method else ():
        if tensor.name in order and not tensor.shape:
            raise ModelError(f"{who}: expected an output that is an array, got {tensor}")
    return CppModel(
        model.path, model.name, model.method, inputs, written, tuple(places), order, model.returns, digest
    )


def check_features(model: CppModel, point: Point) -> None:
    """Compare the inputs with the features of a decision point.

    Raises:
        ModelError: the point has no feature of that name, or one of another type or size.
    """
    features = {spec.name: spec for spec in own_features(point)}
    for tensor in model.inputs:
        spec = features.get(tensor.name)
        if spec is None:
            raise ModelError(
                f"{model.path}: {model.name}: expected a feature of {point.name}, got {tensor.name}"
                f"{did_you_mean(tensor.name, features)}"
            )
        if np.dtype(spec.dtype) != tensor.dtype or prod(spec.shape) != prod(tensor.shape):
            raise ModelError(f"{model.path}: {model.name}: expected the feature {spec}, got {tensor}")


def compile_cpp(model: CppModel, processor: Processor, symbol: str) -> Module:
    """Compile the file and its wrapper to an optimized module.

    Raises:
        ModelError: clang refuses the file, or is not installed.
    """
    command = [_clang(model.path), "-x", "c++", "-std=c++17", "-O3", "-w", "-fPIC", "-fno-exceptions"]
    command += ["-Xclang", "-disable-llvm-passes", "-emit-llvm", f"--target={processor.triple}"]
    command += _SUMS
    if processor.name != "generic":
        command += ["-Xclang", "-target-cpu", "-Xclang", processor.name]
    for attribute in filter(None, processor.attributes.split(",")):
        command += ["-Xclang", "-target-feature", "-Xclang", attribute]
    command += [f"-I{include_folder()}", "-c", "-", "-o", "-"]
    wrapper = model.wrapper(symbol, processor).encode()
    done = _run(model.path, command, wrapper)
    module = Module.read(done, name=symbol, mtriple=processor.triple, for_codegen=True)
    options = _core.PipelineOptions()
    options.cpu, options.features = processor.name, processor.attributes
    module._core.optimize(f"internalize<preserve-gv={symbol}>,default<O3>", [], None, options)
    return module


def linker_driver(path: str) -> list[str]:
    """The command that links the object with the libraries of C++, where it needs them."""
    linker = next(filter(None, map(shutil.which, LINKERS[:3])), None)
    chosen = [f"--ld-path={linker}"] if linker else []
    return [_clang(path), *chosen, "-Wl,--as-needed"]


def _clang(path: str) -> str:
    clang = shutil.which(_CLANG)
    if clang is None:
        raise ModelError(f"{path}: expected {_CLANG}, got none; sudo apt-get install clang-{MAJOR}")
    return clang


def _run(path: str, command: Sequence[str], text: bytes) -> bytes:
    try:
        done = subprocess.run(command, input=text, capture_output=True, timeout=_CLANG_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ModelError(f"{path}: expected clang to compile it, got: {error}") from error
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").splitlines()
        first = next((line for line in lines if "error:" in line), "no message")
        raise ModelError(f"{path}: expected C++ that clang compiles, got: {first.strip()}")
    return done.stdout


def _offsets(tensors: Sequence[Tensor]) -> list[int]:
    """The byte offsets of outputs in their block, then the block's size."""
    offsets = [0]
    for tensor in tensors:
        offsets.append(offsets[-1] + -(-tensor.dtype.itemsize * prod(tensor.shape) // 8) * 8)
    return offsets


def _c_type(tensor: Tensor) -> str:
    names = {"bool": "bool", "float32": "float", "float64": "double"}
    return names.get(tensor.dtype.name, f"{tensor.dtype.name}_t")


def _dims(tensor: Tensor) -> str:
    return "".join(f"[{size}]" for size in tensor.shape)


def _pointer(tensor: Tensor) -> str:
    return f"{_c_type(tensor)} (*){_dims(tensor)}" if tensor.shape else f"{_c_type(tensor)} *"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _tensors(name: str, tensors: Sequence[Tensor], offsets: Sequence[int]) -> str:
    lines, rows = [], []
    for number, (tensor, offset) in enumerate(zip(tensors, offsets, strict=False)):
        sizes = ", ".join(map(str, tensor.shape)) or "1"
        lines.append(f"const int64_t {name}_shape{number}[] = {{{sizes}}};")
        kind = int(helper.np_dtype_to_tensor_dtype(tensor.dtype))
        row = (_quoted(tensor.name), f"{name}_shape{number}", len(tensor.shape), kind, offset, '""')
        rows.append(f"{{{', '.join(map(str, row))}}}")
    table = f"const passpilot_tensor {name}[] = {{{', '.join(rows) or '{}'}}};"
    return "\n".join([*lines, table])


def _evaluate(statements: Sequence[str]) -> str:
    inside = "\n  ".join(statements)
    return f"int evaluate(void *context, const void *const *in, void *out) {{\n  {inside}\n  return 0;\n}}\n"


_STATELESS: Final = """
const int64_t no_context = 0;
void *create() { return const_cast<int64_t *>(&no_context); }
void destroy(void *) {}
"""
_STATEFUL: Final = """
void *create() {{ return new (std::nothrow) ::{name}(); }}
void destroy(void *context) {{ delete static_cast<::{name} *>(context); }}
"""
_WRAPPER: Final = """\
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include {path}
#include <passpilot_model.h>
namespace passpilot_wrapper {{
namespace {{
{inputs}
{outputs}
{body}
void switch_context(void *, const char *) {{}}
}} // namespace
}} // namespace passpilot_wrapper
extern "C" __attribute__((used)) const passpilot_model {symbol} = {{
    {counts}, passpilot_wrapper::inputs, passpilot_wrapper::outputs, {size}, {texts},
    passpilot_wrapper::create, passpilot_wrapper::evaluate, passpilot_wrapper::switch_context,
    passpilot_wrapper::destroy}};
"""
