# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot aot MODEL -o policy.so`: compiles a model, or a function in Python, to native code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot.cli.outputs import say
from passpilot.cli.parser import Parser, argument, flag, option, record, several, shared
from passpilot.passes.point_search import search_point
from passpilot.plugin.errors import ModelError, UsageError, restated
from passpilot.plugin.extras import needs
from passpilot.plugin.files import write_file
from passpilot.plugin.load import load_file
from passpilot.plugin.numbers import whole_number
from passpilot.plugin.toolchain import include_folder

if TYPE_CHECKING:
    from passpilot.runners.aot.emitc import CppModel
    from passpilot.runners.aot.function.program import Function
    from passpilot.runners.aot.graph import Graph

TAKEN: Final = "MODEL.onnx, FILE.py:NAME or FILE.cpp"
"""What a model may be."""

_EPILOG: Final = """\
examples:
  passpilot aot model.onnx -o policy.so -mcpu=native
  passpilot aot policy.py:decide -o policy.so
  passpilot aot model.cpp --buffer=callee_users,caller_users,logits -o policy.so
  passpilot opt in.bc -passes='default<Oz>' --inline=aot:policy.so -o out.bc
  passpilot aot model.onnx -o policy.o --symbol=my_policy
  cc -I$(passpilot aot --include-dir) host.c policy.o

The suffix of the output selects its kind: .so is a shared library for aot: and dlopen, .o is an object to
link into any program, .ll is the optimized LLVM IR.
"""


class AotOptions(NamedTuple):
    model: str | None = argument(
        "MODEL", "model.onnx; a function: policy.py:decide; C++ of LLVM's EmitC: model.cpp", nargs="?"
    )
    output: str | None = option("o", metavar="FILE", help="the output: policy.so, policy.o or policy.ll")
    mcpu: str = option(default="generic", metavar="CPU", help="native, or a name of LLVM's (generic)")
    point: str | None = shared(
        "point", "take open dimensions from its tensors, and a function's features (inline)"
    )
    load: tuple[str, ...] = shared("load")
    shape: tuple[str, ...] = several(metavar="INPUT:1,38", help="fix the dimensions of an input")
    outputs: tuple[str, ...] = several("output", metavar="NAME", help="answer this tensor")
    buffers: tuple[str, ...] = several(
        "buffer", metavar="NAMES", help="the names of a C++ model's buffers, in order, joined by commas"
    )
    symbol: str = option(default="", metavar="NAME", help="the symbol of the .o (passpilot_policy)")
    include_dir: bool = flag("print the folder of passpilot_model.h and stop")


def main(argv: Sequence[str]) -> int:
    options = record(AotOptions, make_parser().values(argv))
    if options.include_dir:
        print(include_folder())
        return 0
    if options.model is None or options.output is None:
        got = f"{options.model} without -o" if options.model else "none"
        raise UsageError(
            f"aot: expected {TAKEN}, and -o FILE.so, .o or .ll, got {got}; see `passpilot aot --help`"
        )
    _compile(options, options.model, options.output)
    return 0


def make_parser() -> Parser:
    parser = Parser(
        "passpilot aot",
        description="Compile an ONNX model, a function in Python or a model in C++ to native code, for "
        "aot:policy.so and for C (passpilot_model.h).",
        epilog=_EPILOG,
    )
    parser.add_fields(AotOptions)
    parser.traceback_option()
    return parser


def _compile(options: AotOptions, model: str, output: str) -> None:
    with needs("aot", "aot"):
        from passpilot.runners.aot import build

    for file in options.load:
        load_file(file)
    kind = build.file_kind(output)
    symbol = options.symbol or build.SYMBOL
    if symbol != build.SYMBOL and (kind == "so" or not build.is_symbol(symbol)):
        raise UsageError(
            f"aot: expected --symbol with -o policy.o and a name of C's of your own, got {symbol!r}"
        )
    processor = build.Processor.find(options.mcpu)
    driver: list[str] = []
    if cpp := _cpp(options, model):
        from passpilot.runners.aot.emitc import compile_cpp, linker_driver

        module, custom, driver = compile_cpp(cpp, processor, symbol), "", linker_driver(cpp.path)
    else:
        try:
            graph = _function(options, model) or _graph(options, model)
            module, custom = build.compile_graph(graph, processor, symbol), graph.custom_features
        except ModelError as error:
            text = str(error) if str(error).startswith("model ") else f"model {model}: {error}"
            takes = "" if model.endswith(".onnx") else f"; aot takes {TAKEN}"
            raise restated(error, f"{text}{takes}") from error
    if kind == "ll":
        module.write(output)
        return
    code = build.object_of(module, processor)
    write_file(output, build.link(code, driver) if kind == "so" else code)
    if custom:
        _say_loads(output, model, custom)


def _say_loads(output: str, model: str, custom_features: str) -> None:
    """Say which files a compiler loads for the model's own features."""
    pairs = [text.partition("=") for text in custom_features.split(",")]
    files = dict.fromkeys(os.path.basename(file) for _, _, file in pairs)
    folder = os.path.dirname(model.removeprefix("python:"))
    beside = [os.path.join(folder, file) for file in files]
    loads = " ".join(
        f"--load={path if os.path.exists(path) else file}" for path, file in zip(beside, files, strict=True)
    )
    say(f"{output}: a compiler needs {loads} for {', '.join(name for name, _, _ in pairs)}")


def _graph(options: AotOptions, model: str) -> Graph:
    from passpilot.runners.aot.graph import Choices, read_graph

    point = search_point(options.point) if options.point else None
    return read_graph(model, Choices(options.outputs, dict(map(_shape, options.shape)), point))


def _cpp(options: AotOptions, model: str) -> CppModel | None:
    """The model that ``FILE.cpp`` or ``FILE.cpp:NAME`` names; None if it is no C++ file."""
    from passpilot.runners.aot.emitc import SUFFIXES, check_features, read_cpp

    file, _, name = ("", "", "") if model.endswith(SUFFIXES) else model.rpartition(":")
    path = file or model
    if not path.endswith(SUFFIXES):
        if options.buffers:
            raise UsageError(f"aot: expected --buffer with a model in C++, got {model}")
        return None
    if options.shape:
        raise UsageError("aot: expected --shape with an ONNX model, got one in C++, whose shapes are fixed")
    cpp = read_cpp(path, name if file else "", options.buffers, options.outputs)
    if options.point:
        check_features(cpp, search_point(options.point))
    return cpp


def _function(options: AotOptions, model: str) -> Function | None:
    """The function that ``FILE.py:NAME`` or ``python:FILE.py:NAME`` names; None if it is a model."""
    file, _, name = model.removeprefix("python:").rpartition(":")
    if not file.endswith(".py"):
        if model.startswith("python:") or model.endswith(".py"):
            raise UsageError(
                f"aot: expected FILE.py:NAME, got {model!r}; the file is read, and no module imported"
            )
        return None
    if options.outputs or options.shape:
        raise UsageError("aot: expected --output and --shape with a model, got a function in Python")
    from passpilot.runners.aot.function.program import Function
    from passpilot.runners.aot.function.source import PolicySource

    return Function(PolicySource(file), name, search_point(options.point or "inline"))


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, _, dims = text.rpartition(":")
    parts = dims.split(",")
    if not name or not all(map(whole_number, parts)):
        raise UsageError(f"aot: expected --shape=INPUT:1,38, got {text!r}")
    return name, tuple(map(int, parts))
