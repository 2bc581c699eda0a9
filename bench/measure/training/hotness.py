# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much code a model finds that programs which it never saw do not run, beside LLVM's estimates.

usage: python -m bench.measure.training.hotness [FOLDER]

Every program of the parts `train` and `validation` runs its driver once, instrumented (hotness_rows). A score
says how hot a block, or a whole function, is. What is below a threshold is called cold. The threshold is the
one at which 2 % of the executed instructions of the training programs are in cold code, in the mean over
programs; for the trees it comes from cross-validation by program. The last column has the best threshold
for every validation program, which nobody knows before the run. Writes bench/results/training/hotness.json.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor

from bench.lib import command, show_rows, write
from bench.lib.corpus import built, part
from bench.measure.training.hotness_rows import SILENT, Rows, rows

COLD: Final = 0.02
"""The share of executed instructions that may be in code that is called cold."""
FLOOR: Final = -7.0
"""The logarithm of the density of a block that never ran."""
MOST: Final = 3_000
"""Blocks of one program that trees learn from, at random."""
FOLDS: Final = 4
COUNTS: Final = (3, 10)
"""Numbers of training programs, beside all of them."""

Array = NDArray[np.float64]
Scores = Mapping[str, Array]
Programs = Mapping[str, Rows]


def density(block: Rows) -> Array:
    """How often an instruction runs, relative to the mean of its program, as a logarithm to the base 10."""
    mean = block.executed.sum() / block.sizes.sum()
    with np.errstate(divide="ignore"):
        found: Array = np.maximum(FLOOR, np.log10(block.executed / block.sizes / mean))
    return found


def whole(block: Rows) -> Rows:
    """Functions instead of blocks: means of the features, weighted by size."""
    count = int(block.functions.max()) + 1
    sizes = np.bincount(block.functions, block.sizes, count).astype(np.float64)
    sums = [np.bincount(block.functions, column * block.sizes, count) for column in block.features.T]
    executed = np.bincount(block.functions, block.executed, count).astype(np.float64)
    features = (np.array(sums) / sizes).T.astype(np.float32)
    return Rows(block.names, features, executed, sizes, np.arange(count))


def fitted(programs: Programs, columns: Sequence[int]) -> Callable[[Rows], Array]:
    """Trees that learned the density; every program weighs the same, and code as much as what runs."""
    random = np.random.default_rng(0)
    features, labels, weights = [], [], []
    for each in programs.values():
        chosen = random.permutation(len(each.sizes))[:MOST]
        weight = each.sizes / each.sizes.sum() + each.executed / each.executed.sum()
        features.append(each.features[chosen][:, list(columns)])
        labels.append(density(each)[chosen])
        weights.append(weight[chosen] / weight[chosen].sum())
    weight = np.concatenate(weights)
    trees = HistGradientBoostingRegressor(
        max_iter=200,
        learning_rate=0.05,
        max_leaf_nodes=15,
        min_samples_leaf=30,
        l2_regularization=5.0,
        random_state=0,
    )
    trees.fit(np.concatenate(features), np.concatenate(labels), sample_weight=weight / weight.mean())
    return lambda each: np.asarray(trees.predict(each.features[:, list(columns)]), np.float64)


def out_of_fold(programs: Programs, columns: Sequence[int]) -> Scores:
    """Scores of every program by trees that did not see it."""
    names = list(programs)
    found: dict[str, Array] = {}
    for fold in range(min(FOLDS, len(names))):
        held = names[fold::FOLDS]
        score = fitted({name: programs[name] for name in names if name not in held}, columns)
        found |= {name: score(programs[name]) for name in held}
    return found


def shares(block: Rows, cold: NDArray[np.bool_]) -> tuple[float, float]:
    """The share of code that is called cold, and of executed instructions in it."""
    code = block.sizes[cold].sum() / block.sizes.sum()
    return float(code), float(block.executed[cold].sum() / block.executed.sum())


def mean_shares(programs: Programs, scores: Scores, threshold: float) -> tuple[float, float]:
    found = [shares(each, scores[name] < threshold) for name, each in programs.items()]
    return float(np.mean([code for code, _ in found])), float(np.mean([run for _, run in found]))


def threshold_of(programs: Programs, scores: Scores) -> float:
    """The highest threshold with which cold code runs at most `COLD`, in the mean."""
    candidates = np.quantile(np.concatenate(list(scores.values())), np.linspace(0, 1, 200))
    kept = [float(each) for each in candidates if mean_shares(programs, scores, each)[1] <= COLD]
    return max(kept, default=-np.inf)


def best_share(block: Rows, score: Array) -> float:
    """The share of code below the program's own best threshold."""
    order = np.argsort(score, kind="stable")
    run = np.cumsum(block.executed[order]) / block.executed.sum()
    return float(block.sizes[order][run <= COLD].sum() / block.sizes.sum())


def judged(train: Programs, validation: Programs, before: Scores, after: Scores) -> dict[str, float]:
    """What scores are worth: `before` of the training programs, `after` of those for validation."""
    code, run = mean_shares(validation, after, threshold_of(train, before))
    best = np.mean([best_share(each, after[name]) for name, each in validation.items()])
    return {"cold": code, "executed in it": run, "cold, best threshold": float(best)}


def scores_of(programs: Programs, score: Callable[[Rows], Array]) -> Scores:
    return {name: score(each) for name, each in programs.items()}


def in_functions(programs: Programs) -> Programs:
    return {name: whole(each) for name, each in programs.items()}


def ways(train: Programs, validation: Programs) -> dict[str, dict[str, float]]:
    """What every way to score is worth."""
    names = next(iter(train.values())).names
    every = list(range(len(names)))
    nameless = [at for at, name in enumerate(names) if not name.startswith(("name_", "fails_"))]

    def column(name: str) -> Callable[[Rows], Array]:
        return lambda each: each.features[:, names.index(name)].astype(np.float64)

    found = {
        way: judged(train, validation, scores_of(train, score), scores_of(validation, score))
        for way, score in {
            "the counts of the run itself": density,
            "block frequencies of LLVM": column("frequency"),
            "times how often callers repeat": column("runs_here"),
        }.items()
    }
    some = {f"trees, {count} programs": (count, every) for count in COUNTS if count < len(train)}
    for way, (count, columns) in {
        **some,
        f"trees, {len(train)} programs": (len(train), every),
        "trees without names": (len(train), nameless),
    }.items():
        seen = dict(list(train.items())[:count])
        after = scores_of(validation, fitted(seen, columns))
        found[way] = judged(seen, validation, out_of_fold(seen, columns), after)
    return found


@command
def main(folder: str = "build/hotness") -> None:
    home = Path(folder).absolute()
    home.mkdir(parents=True, exist_ok=True)
    parts: list[dict[str, Rows]] = []
    for name in ("train", "validation"):
        found = {}
        for program in built(each for each in part(name) if each not in SILENT):
            found[program.name] = rows(program, home)
            print(f"{program.name}: {len(found[program.name].sizes):,} blocks", file=sys.stderr, flush=True)
        parts.append(found)
    results = {}
    for unit, shaped in {"blocks": lambda programs: programs, "whole functions": in_functions}.items():
        results[unit] = ways(*map(shaped, parts))
        heads = ("score", *next(iter(results[unit].values())))
        rounded = ((way, *(f"{value:.3f}" for value in row.values())) for way, row in results[unit].items())
        show_rows(unit, heads, rounded)
    write("training/hotness.json", {"train": [*parts[0]], "validation": [*parts[1]], "ways": results})
