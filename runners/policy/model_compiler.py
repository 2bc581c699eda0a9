# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles one model of a policy, in a process of its own.

usage: python -m passpilot.runners.policy.model_compiler MODEL.onnx LIBRARY.so POINT SCORES [OUTPUT]

SCORES is 1 for a model that sees one column of the point's tensors. The last line of standard error says what
was wrong.
"""

from __future__ import annotations

import sys

from passpilot.features.point import find_point, is_known
from passpilot.plugin.errors import Error
from passpilot.plugin.files import write_file
from passpilot.runners.aot import build
from passpilot.runners.aot.graph import Choices, read_graph


def compile_model(model: str, library: str, point: str, scores: bool, outputs: list[str]) -> None:
    """Compile a model to a shared library for any processor of this architecture.

    Raises:
        Error: the model cannot be compiled or linked.
    """
    offered = find_point(point) if is_known(point) else None
    if offered is not None and scores:
        offered = offered.column()
    processor = build.Processor.find("generic")
    module = build.compile_graph(read_graph(model, Choices(outputs, {}, offered)), processor)
    write_file(library, build.link(build.object_of(module, processor)))


def main() -> int:
    """Run the program; returns its exit code."""
    _, model, library, point, scores, *outputs = sys.argv
    try:
        compile_model(model, library, point, scores == "1", outputs)
    except Error as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
