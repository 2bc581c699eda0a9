# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Learns a `NativeSize` model from functions whose machine code is measured.

The vocabulary comes from partial least squares: directions in the space of IR2Vec's entities that explain the
bytes best, one after the other. They are linear, so that LLVM's IR2Vec computes them. A linear model on the
embedding gives a first estimate, and boosted trees correct it by a factor. Relative errors count, so that a
large function does not count more than a hundred small ones.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from passpilot.plugin import _core
from passpilot.plugin.errors import InputError
from passpilot.plugin.extras import needs
from passpilot.plugin.files import write_file
from passpilot.training.learning.export import GraphBuilder, tree_attributes
from passpilot.training.native_size.functions import SHAPE
from passpilot.training.native_size.model import HEAD, VOCABULARY

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # on a busy machine, threads that spin wait for ever
with needs("train", "train native-size"):
    import lightgbm
    import onnx
    from onnx import TensorProto
    from sklearn.cross_decomposition import PLSRegression
    from sklearn.linear_model import Ridge
    from sklearn.metrics import r2_score

if TYPE_CHECKING:
    from passpilot.training.native_size.functions import Doubles, FunctionRows

INSTRUCTIONS: Final = SHAPE.index("instructions")

LEAST: Final = 4.0
"""Bytes; no linear estimate is below them."""

NEAR: Final = 16.0
"""Bytes that are added before logarithms, so that an error of a few bytes counts little."""

EASY: Final = 50.0
"""Bytes that are added before relative errors are weighed."""

DIGITS: Final = 6
"""Of numbers in the vocabulary."""


@dataclass(frozen=True, slots=True)
class FitSettings:
    """How a model is learned.

    Attributes:
        dimension: the length of the vocabulary's vectors.
        trees: how many.
        leaves: of a tree, at most.
        rate: the learning rate.
        seed: of LightGBM.
    """

    dimension: int = 32
    trees: int = 200
    leaves: int = 31
    rate: float = 0.1
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How good estimates are on some functions."""

    functions: int
    r2: float
    """The share of the variance of bytes that is explained."""
    log_r2: float
    """The same of logarithms, in which small functions count as much as large ones."""
    median_error: float
    total: float
    """The sum of estimates relative to the sum of sizes."""

    @classmethod
    def of(cls, estimates: Doubles, sizes: Doubles) -> Accuracy:
        error = np.abs(estimates - sizes) / np.maximum(sizes, 1)
        return cls(
            len(sizes),
            float(r2_score(sizes, estimates)),
            float(r2_score(np.log(sizes + NEAR), np.log(estimates + NEAR))),
            float(np.median(error)),
            float(estimates.sum() / sizes.sum()),
        )


class FittedSize:
    """A model that has learned; `write` makes the folder of a `NativeSize` of it."""

    def __init__(self, rows: FunctionRows, settings: FitSettings) -> None:
        """Learn from functions.

        Raises:
            InputError: there are too few of them.
        """
        if len(rows.sizes) < 10 * settings.dimension:
            needed = f"{10 * settings.dimension} functions to learn {settings.dimension} dimensions"
            raise InputError(f"train native-size: expected at least {needed}, got {len(rows.sizes)}")
        weights = np.sqrt(1 / (rows.sizes + EASY))[:, None]
        present = rows.counts.std(axis=0) > 0  # PLSRegression divides by it
        if (kinds := int(present.sum())) < settings.dimension:
            needed = f"functions that differ in at least {settings.dimension} entities of IR2Vec"
            raise InputError(f"train native-size: expected {needed}, got {kinds}; lower --dimension")
        directions = PLSRegression(settings.dimension)
        directions.fit(rows.counts[:, present] * weights, rows.sizes[:, None] * weights)
        found = directions.x_rotations_ / (rows.counts[:, present] * weights).std(axis=0, ddof=1)[:, None]
        self.vectors: Doubles = np.zeros((rows.counts.shape[1], settings.dimension))
        """float64[E, D], by IR2Vec's entities."""
        self.vectors[present] = found
        self.vectors = _rounded(self.vectors)
        inputs = self._inputs(rows)
        self._linear = Ridge(1e-3).fit(inputs, rows.sizes, sample_weight=weights[:, 0] ** 2)
        base = self._base(inputs)
        self._trees = lightgbm.LGBMRegressor(
            n_estimators=settings.trees,
            num_leaves=settings.leaves,
            learning_rate=settings.rate,
            random_state=settings.seed,
            deterministic=True,
            force_row_wise=True,
            n_jobs=1,
            verbose=-1,
        ).fit(_more(inputs, base), np.log(rows.sizes + NEAR) - np.log(base + NEAR))

    def sizes(self, rows: FunctionRows) -> Doubles:
        """The estimated bytes, float64[N]."""
        inputs = self._inputs(rows)
        base = self._base(inputs)
        factor = np.exp(np.asarray(self._trees.predict(_more(inputs, base)), np.float64))
        return np.maximum((base + NEAR) * factor - NEAR, 0.0)

    def write(self, folder: str) -> None:
        """Write `VOCABULARY` and `HEAD`.

        Raises:
            InputError: a file cannot be written.
        """
        sections: dict[str, dict[str, list[float]]] = {}
        for (section, key), vector in zip(_core.ir2vec_entities(), self.vectors, strict=True):
            sections.setdefault(section, {})[key] = [float(value) for value in vector]
        text = json.dumps(sections, indent=None, separators=(",", ":")).replace("],", "],\n")
        write_file(os.path.join(folder, VOCABULARY), text + "\n")
        write_file(os.path.join(folder, HEAD), self.head().SerializeToString())

    def head(self) -> onnx.ModelProto:
        """The ONNX model that makes bytes of embeddings."""
        dimension = self.vectors.shape[1]
        columns = dimension + len(SHAPE)
        graph = GraphBuilder()

        def number(value: float) -> str:
            return graph.constant(np.array(value, np.float32), "number")

        weights = graph.constant(self._linear.coef_.astype(np.float32)[:, None], "weights")
        linear = graph.add(
            "Add", graph.add("MatMul", "functions", weights), number(float(self._linear.intercept_))
        )
        base = graph.add("Max", linear, number(LEAST))
        indices = graph.constant(np.array([dimension + INSTRUCTIONS]), "instructions")
        instructions = graph.add("Max", graph.add("Gather", "functions", indices, axis=1), number(1))
        dimensions = graph.constant(np.arange(dimension), "dimensions")
        means = graph.add("Div", graph.add("Gather", "functions", dimensions, axis=1), instructions)
        density = graph.add("Div", base, instructions)
        inputs = graph.add("Concat", "functions", means, density, axis=1)
        dumped: dict[str, Any] = self._trees.booster_.dump_model()
        trees = [tree["tree_structure"] for tree in dumped["tree_info"]]
        attributes = tree_attributes(trees, [0] * len(trees))
        logs = graph.add("TreeEnsembleRegressor", inputs, domain="ai.onnx.ml", n_targets=1, **attributes)
        near = graph.add("Mul", graph.add("Add", base, number(NEAR)), graph.add("Exp", logs))
        graph.add("Max", graph.add("Sub", near, number(NEAR)), number(0), output="bytes")
        return graph.model("native size", "functions", columns, "bytes", TensorProto.FLOAT, 1)

    def _inputs(self, rows: FunctionRows) -> Doubles:
        """What the head sees, as float32 has it."""
        both = np.column_stack([rows.counts @ self.vectors, rows.shape])
        return both.astype(np.float32).astype(np.float64)

    def _base(self, inputs: Doubles) -> Doubles:
        return np.maximum(np.asarray(self._linear.predict(inputs), np.float64), LEAST)


def _more(inputs: Doubles, base: Doubles) -> Doubles:
    """The inputs of the trees: also the embedding and the linear estimate per instruction."""
    dimension = inputs.shape[1] - len(SHAPE)
    instructions = np.maximum(inputs[:, dimension + INSTRUCTIONS, None], 1)
    return np.column_stack([inputs, inputs[:, :dimension] / instructions, base[:, None] / instructions])


def _rounded(values: Doubles) -> Doubles:
    """With `DIGITS` digits, as in the file."""
    return np.array([[float(f"{value:.{DIGITS}g}") for value in row] for row in values])
