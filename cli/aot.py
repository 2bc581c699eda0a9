# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot aot MODEL.onnx -o policy.so`: compiles a model to native code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, NamedTuple

from passpilot.cli.outputs import say
from passpilot.cli.parser import Parser, argument, flag, option, record, several, shared
from passpilot.passes.point_search import search_point
from passpilot.plugin.errors import UsageError
from passpilot.plugin.extras import needs
from passpilot.plugin.files import write_file
from passpilot.plugin.load import load_file
from passpilot.plugin.numbers import whole_number
from passpilot.plugin.toolchain import include_folder

_EPILOG: Final = """\
examples:
  passpilot aot model.onnx -o policy.so -mcpu=native
  passpilot opt in.bc -passes='default<Oz>' --inline=aot:policy.so -o out.bc
  passpilot aot model.onnx -o policy.o --symbol=my_policy
  cc -I$(passpilot aot --include-dir) host.c policy.o

The suffix of the output selects its kind: .so is a shared library for aot: and dlopen, .o is an object to
link into any program, .ll is the optimized LLVM IR.
"""


class AotOptions(NamedTuple):
    model: str | None = argument("MODEL.onnx", "the model", nargs="?")
    output: str | None = option("o", metavar="FILE", help="the output: policy.so, policy.o or policy.ll")
    mcpu: str = option(default="generic", metavar="CPU", help="native, or a name of LLVM's (generic)")
    point: str | None = shared("point", "take open dimensions from its tensors")
    load: tuple[str, ...] = shared("load")
    shape: tuple[str, ...] = several(metavar="INPUT:1,38", help="fix the dimensions of an input")
    outputs: tuple[str, ...] = several("output", metavar="NAME", help="answer this tensor")
    symbol: str = option(default="", metavar="NAME", help="the symbol of the .o (passpilot_policy)")
    include_dir: bool = flag("print the folder of passpilot_model.h and stop")


def main(argv: Sequence[str]) -> int:
    options = record(AotOptions, make_parser().values(argv))
    if options.include_dir:
        print(include_folder())
        return 0
    if options.model is None or options.output is None:
        raise UsageError("aot: expected MODEL.onnx and -o policy.so, .o or .ll; see `passpilot aot --help`")
    _compile(options, options.model, options.output)
    return 0


def make_parser() -> Parser:
    parser = Parser(
        "passpilot aot",
        description="Compile an ONNX model to native code, for aot:policy.so and for C (passpilot_model.h).",
        epilog=_EPILOG,
    )
    parser.add_fields(AotOptions)
    parser.traceback_option()
    return parser


def _compile(options: AotOptions, model: str, output: str) -> None:
    with needs("aot", "aot"):
        from passpilot.runners.aot import build
        from passpilot.runners.aot.graph import Choices, read_graph

    for file in options.load:
        load_file(file)
    kind = build.file_kind(output)
    symbol = options.symbol or build.SYMBOL
    if symbol != build.SYMBOL and (kind == "so" or not build.is_symbol(symbol)):
        raise UsageError(
            f"aot: expected --symbol with -o policy.o and a name of C's of your own, got {symbol!r}"
        )
    processor = build.Processor.find(options.mcpu)
    point = search_point(options.point) if options.point else None
    shapes = dict(map(_shape, options.shape))
    graph = read_graph(model, Choices(options.outputs, shapes, point))
    module = build.compile_graph(graph, processor, symbol)
    if kind == "ll":
        module.write(output)
        return
    code = build.object_of(module, processor)
    write_file(output, build.link(code) if kind == "so" else code)
    if graph.custom_features:
        pairs = [text.partition("=") for text in graph.custom_features.split(",")]
        files = dict.fromkeys(os.path.basename(file) for _, _, file in pairs)
        loads = " ".join(f"--load={os.path.join(os.path.dirname(model), file)}" for file in files)
        say(f"{output}: a compiler needs {loads} for {', '.join(name for name, _, _ in pairs)}")


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, _, dims = text.rpartition(":")
    parts = dims.split(",")
    if not name or not all(map(whole_number, parts)):
        raise UsageError(f"aot: expected --shape=INPUT:1,38, got {text!r}")
    return name, tuple(map(int, parts))
