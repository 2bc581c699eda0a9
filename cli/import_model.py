# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot import SAVED_MODEL -o model.onnx`: converts a policy of MLGO to ONNX, and compares the two."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from passpilot.cli.outputs import say
from passpilot.cli.parser import Parser, argument, count_of, option, record, shared
from passpilot.cli.progress import progress
from passpilot.passes.point_search import search_point
from passpilot.plugin.errors import InputError
from passpilot.plugin.extras import needs
from passpilot.plugin.files import write_file
from passpilot.plugin.json_and_toml import read_input
from passpilot.plugin.load import load_file

_EXPECTED: Final = "a SavedModel's folder or a TFLite file"

_MARK: Final = re.compile(rb".{4}TFL3", re.DOTALL)
"""How a TFLite file begins."""

_EPILOG: Final = """\
examples:
  passpilot import saved_policy -o model.onnx
  passpilot import evictor.tflite --point=evict -o model.onnx
  passpilot cc -Oz -c prog.c --inline=onnx:model.onnx -o prog.o

The model's inputs are features of the decision point by their names; step_type, reward and discount become
zeros. The two models must give the same answers on random observations.
It needs TensorFlow: pip install "passpilot[tensorflow]".
"""


class ImportOptions(NamedTuple):
    model: str = argument("MODEL", "a SavedModel's folder, or a TFLite file")
    output: str = option("o", metavar="FILE", required=True, help="the output: an ONNX model")
    point: str = shared("point", "the one that the model answers for (inline)", default="inline")
    signature: str = option(default="action", metavar="NAME", help="the function of the model (action)")
    observations: int = option(
        type=count_of("observations", 1),
        default=10_000,
        metavar="N",
        help="compare on N random observations (10000)",
    )
    load: tuple[str, ...] = shared("load")


def _check_kind(path: str) -> None:
    """Refuse what is no model of TensorFlow's before TensorFlow is asked for."""
    if os.path.isdir(path):
        got = "" if os.path.isfile(os.path.join(path, "saved_model.pb")) else "no saved_model.pb in it"
    else:
        got = "" if _MARK.match(read_input(path, _EXPECTED)) else "another file"
    if got:
        raise InputError(f"model {path}: expected {_EXPECTED}, got {got}")


def main(argv: Sequence[str]) -> int:
    options = record(ImportOptions, make_parser().values(argv))
    _check_kind(options.model)
    with needs("tensorflow", "import"):
        from passpilot.runners.foreign.saved_model import import_model

    for file in options.load:
        load_file(file)
    point = search_point(options.point)
    with progress("comparing the models", options.observations) as steps:
        imported = import_model(
            options.model, point, signature=options.signature, observations=options.observations, step=steps
        )
    write_file(options.output, imported.model.SerializeToString())
    same = f"{options.observations - imported.different} of {options.observations} random observations"
    features = f"{len(imported.inputs)} features of {point.name}"
    say(f"{options.output}: {features}; the same answers as {options.model} on {same}")
    return 0


def make_parser() -> Parser:
    parser = Parser(
        "passpilot import",
        description="Convert a policy of MLGO, a SavedModel or a TFLite file, to ONNX, and compare the two.",
        epilog=_EPILOG,
    )
    parser.add_fields(ImportOptions)
    parser.traceback_option()
    return parser
