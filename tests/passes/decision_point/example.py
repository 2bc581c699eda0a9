# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A decision point of two numbers and a choice, and who asks it: for the tests of decision points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import onnx
from onnx import helper

from passpilot.features.domain import Choice
from passpilot.features.spec import TensorSpec
from passpilot.passes.decision_point import DecisionPoint
from passpilot.passes.point_advisor import PointAdvisor
from passpilot.plugin.ir import Function
from passpilot.plugin.module import Module
from tests.passes.python.passes import run_once
from tests.runners.aot.models import FLOAT, mlp, model

NAME: Final = "test-scored"
FEATURES: Final = (TensorSpec("size", "int64", (1,)), TensorSpec("share", "float64", (1,)))
ADVICE: Final = TensorSpec("column", "int64", (1,))
COLUMNS: Final = 4
FUNCTIONS: Final = 33
MAP: Final = "map=x:size,share"

SOURCE: Final = f"""\
import passpilot
from passpilot import Choice, TensorSpec

SCORED = passpilot.DecisionPoint(
    {NAME!r},
    features=[TensorSpec("size", "int64", (1,)), TensorSpec("share", "float64", (1,))],
    advice=TensorSpec("column", "int64", (1,)),
    domain=Choice({COLUMNS}),
    default=lambda values: values["size"] % 2,
)


def decide(obs):
    return int(obs["size"].item() + obs["share"].item() > 9)
"""
"""The same point, and a policy, in a file for ``--load``."""

Row = Mapping[str, object]


def declared() -> DecisionPoint[int]:
    return DecisionPoint[int](
        NAME,
        features=FEATURES,
        advice=ADVICE,
        domain=Choice(COLUMNS),
        default=lambda values: int(str(values["size"])) % 2,
    )


def row(number: int) -> Row:
    """The values of a question; some have a mask, which allows the default and column 2."""
    plain = {"size": number, "share": number / 8}
    mask = [[int(column in (number % 2, 2)) for column in range(COLUMNS)]]
    return {**plain, "mask": mask} if number % 5 == 3 else plain


ROWS: Final = [row(number) for number in range(FUNCTIONS)]


def program() -> Module:
    """As many functions as there are rows."""
    text = "".join(f"define void @f{number}() {{\n  ret void\n}}\n" for number in range(FUNCTIONS))
    return Module.read(text.encode(), name="functions")


def asked(
    point: DecisionPoint[int], advisors: Sequence[PointAdvisor], rows: Sequence[Row] = ROWS, *, at_once: bool
) -> list[int]:
    """The advice on each row, about one function each, which a pass asks for."""
    answers: list[int] = []

    def run(module: Module) -> bool:
        sites: list[Function] = list(module.functions)[: len(rows)]
        if at_once:
            answers.extend(point.ask_all(rows, sites))
        else:
            for values, site in zip(rows, sites, strict=True):
                answers.append(point.ask(values, site))
        return False

    run_once("module", run, program(), advisors)
    return answers


def perceptron(path: Path, batch: int | str = "batch") -> Path:
    """Logits of the columns by both features, for as many questions at once as `batch` says."""
    made = mlp((len(FEATURES), 8, COLUMNS), seed=5)
    dimension = made.graph.input[0].type.tensor_type.shape.dim[0]
    if isinstance(batch, int):
        dimension.dim_value = batch
    for value in made.graph.output:
        del value.type.tensor_type.shape.dim[:]
    made = onnx.shape_inference.infer_shapes(made)
    onnx.save(made, str(path))
    return path


def identity(path: Path) -> Path:
    """Its one number is the column, whatever it is."""
    node = helper.make_node("Identity", ["x"], ["y"])
    onnx.save(model([node], [("x", FLOAT, ["n", 1])], ["y"]), str(path))
    return path
