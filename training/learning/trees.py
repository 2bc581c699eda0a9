# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`TreeLearner`: gradient-boosted trees by LightGBM.

Every call of `advance` is a model of LightGBM of its own, which starts from the scores of those before it. So
training that goes on from a checkpoint makes the same trees as training without a break.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from passpilot.plugin.extras import needs
from passpilot.training.learning.export import GraphBuilder, tree_attributes

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # on a busy machine, threads that spin wait for ever
with needs("train", "boosted trees"), warnings.catch_warnings():
    # of joblib where /dev/shm cannot be written: training does not use it
    warnings.filterwarnings("ignore", ".*joblib will operate in serial mode", UserWarning)
    import lightgbm

if TYPE_CHECKING:
    from passpilot.training.data.matrix import Examples, Floats
    from passpilot.training.learning.learner import Scaling, State
    from passpilot.training.learning.settings import TreeSettings

    Doubles = NDArray[np.float64]

_MODEL: Final = "model_"

PER_THREAD: Final = 20_000
"""Rows for which another thread pays."""


class TreeLearner:
    """Boosted trees in training; see `Learner`.

    Args:
        settings: those of the trees.
        seed: of the features and decisions that are drawn.
        train: the decisions to learn from.
        validation: decisions of other programs, if there are any.
        scaling: that of numbers.
        jobs: threads.
    """

    def __init__(
        self,
        settings: TreeSettings,
        seed: int,
        train: Examples,
        validation: Examples | None,
        scaling: Scaling,
        jobs: int = 1,
    ) -> None:
        self._settings, self._seed = settings, seed
        self._arrangement, self._by_class = train.arrangement, train.by_class
        self._models: list[lightgbm.Booster] = []
        rows, labels, weights = _table(train, scaling)
        self._rows = rows
        self._jobs = max(1, min(jobs, len(rows) // PER_THREAD))
        self._exhausted = False
        self._outputs = self._arrangement.outputs
        self._base = _base(self._by_class, self._outputs, labels, weights)
        self._data = lightgbm.Dataset(
            rows, labels, weight=weights, params=self._parameters(0), free_raw_data=False
        )
        self._scores: Doubles = np.tile(self._base, (len(rows), 1))
        self._watched = train if validation is None else validation
        self._watched_scores: Doubles = self._zero(self._watched.flat)

    @property
    def rounds(self) -> int:
        return sum(model.current_iteration() for model in self._models)

    @property
    def most_rounds(self) -> int:
        """See `Learner`; no more than so far where no tree can be split any further."""
        return self.rounds if self._exhausted else self._settings.rounds

    def advance(self, rounds: int) -> None:
        count = min(rounds, self.most_rounds - self.rounds)
        if count <= 0:
            return
        self._data.set_init_score(self._scores.reshape(-1, order="F"))
        model = lightgbm.train(self._parameters(len(self._models)), self._data, count)
        self._take(model)
        self._exhausted = model.current_iteration() < count

    def _take(self, model: lightgbm.Booster) -> None:
        """Add a model, whose scores come on top."""
        self._models.append(model)
        self._scores += self._raw(model, self._rows)
        self._watched_scores += self._rated(model, self._watched.flat)

    def _parameters(self, number: int) -> dict[str, object]:
        settings = self._settings
        objective: dict[str, object] = {"objective": "binary"}
        if self._outputs > 1:
            objective = {"objective": "multiclass", "num_class": self._outputs}
        elif not self._by_class:
            objective = {"objective": "regression"}
        drawn = {"bagging_freq": 1, "bagging_fraction": settings.sample} if settings.sample < 1 else {}
        return {
            **objective,
            **drawn,
            "boost_from_average": False,
            "num_leaves": settings.leaves,
            "learning_rate": settings.learning_rate,
            "min_data_in_leaf": settings.least_rows,
            "lambda_l2": settings.l2,
            "feature_fraction": settings.columns,
            "max_bin": settings.bins,
            "extra_trees": settings.extra,
            "path_smooth": settings.smoothing,
            "seed": (self._seed * 1_000_003 + number) % (1 << 31),
            "data_random_seed": self._seed,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": self._jobs,
            "verbosity": -1,
        }

    def _raw(self, model: lightgbm.Booster, rows: Floats) -> Doubles:
        """What a model adds to the scores of rows: [N, outputs]."""
        raw = model.predict(rows, raw_score=True, num_threads=self._jobs)
        return np.asarray(raw, np.float64).reshape(len(rows), self._outputs)

    def _rated(self, model: lightgbm.Booster, flat: Floats) -> Doubles:
        """What a model adds to the scores of decisions: [N, columns]."""
        rows = self._arrangement.rows(flat)
        raw = self._raw(model, rows.reshape(-1, rows.shape[-1]))
        return raw.reshape(len(flat), self._arrangement.columns)

    def _zero(self, flat: Floats) -> Doubles:
        """The scores before the first tree."""
        return np.tile(self._base, (len(flat), self._arrangement.columns // self._outputs))

    def scores(self, flat: Floats) -> Floats:
        scores = self._zero(flat)
        for model in self._models:
            scores += self._rated(model, flat)
        return scores.astype(np.float32)

    def validation_scores(self) -> Floats:
        return self._watched_scores.astype(np.float32)

    def state(self) -> State:
        texts = [model.model_to_string(num_iteration=-1).encode() for model in self._models]
        state: State = {f"{_MODEL}{place}": np.frombuffer(text, np.uint8) for place, text in enumerate(texts)}
        return {**state, "exhausted": np.array(self._exhausted)}

    def restore(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        self._models, self._exhausted = [], bool(state["exhausted"])
        self._scores = np.tile(self._base, (len(self._rows), 1))
        self._watched_scores = self._zero(self._watched.flat)
        for place in range(sum(name.startswith(_MODEL) for name in state)):
            text = state[f"{_MODEL}{place}"].tobytes().decode()
            self._take(lightgbm.Booster(model_str=text))

    def build(self, graph: GraphBuilder, rows: str) -> str:
        trees, targets = [], []
        for model in self._models:
            for number, tree in enumerate(model.dump_model()["tree_info"]):
                trees.append(tree["tree_structure"])
                targets.append(number % self._outputs)
        if not trees:  # before the first round
            trees, targets = [{"leaf_value": 0.0}], [0]
        return graph.add(
            "TreeEnsembleRegressor",
            rows,
            domain="ai.onnx.ml",
            n_targets=self._outputs,
            base_values=[float(score) for score in self._base],
            **tree_attributes(trees, targets),
        )

    def describe(self) -> str:
        trees = sum(model.num_trees() for model in self._models)
        return f"{trees} boosted trees of up to {self._settings.leaves} leaves (LightGBM)"


def _table(examples: Examples, scaling: Scaling) -> tuple[Floats, Doubles, Doubles]:
    """Rows, labels and weights for LightGBM; where columns are rated, a row per legal column."""
    labels, weights = examples.numbers, examples.weights
    arrangement = examples.arrangement
    if not arrangement.by_column:
        return examples.flat, labels if examples.by_class else scaling.scores(labels), weights
    legal = np.ones((len(examples), arrangement.columns), bool) if examples.mask is None else examples.mask
    decision, column = np.nonzero(legal)
    rows = arrangement.extended(examples.flat)[decision[:, None], arrangement.places()[column]]
    return rows, (labels[decision] == column).astype(np.float64), weights[decision]


def _base(by_class: bool, outputs: int, labels: Doubles, weights: Doubles) -> Doubles:
    """The scores that fit best without any feature."""
    if outputs > 1:
        shares = np.bincount(labels.astype(np.int64), weights, outputs) + 1e-3
        return np.asarray(np.log(shares / shares.sum()), np.float64)
    mean = float(np.average(labels, weights=weights))
    if not by_class:
        return np.array([mean])
    mean = min(max(mean, 1e-6), 1 - 1e-6)
    return np.array([np.log(mean / (1 - mean))])
