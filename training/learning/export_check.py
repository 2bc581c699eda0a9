# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares an exported model, in onnxruntime, with the trained one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from passpilot.features.domain import Choice, Flag
from passpilot.plugin.errors import ModelError
from passpilot.runners.onnx_session import onnx_session
from passpilot.training.data.matrix import LARGEST, Examples, Floats, decide
from passpilot.training.learning.export import INPUT
from passpilot.training.learning.learner import RatingModel, Scaling

Bools = NDArray[np.bool_]

OBSERVATIONS: Final = 10_000
NEAR: Final = 1e-3
"""Scores so near to each other, relative to the largest, may be ordered differently after rounding."""


@dataclass(frozen=True, slots=True)
class ExportCheck:
    """How an exported model compares with the trained one.

    Attributes:
        observations: the decisions that both have taken.
        differing: how many of them differ, all of them nearly undecided.
        distance: the largest difference of scores, relative to the largest score.
    """

    observations: int
    differing: int
    distance: float


def check_export(
    model: bytes, learner: RatingModel, scaling: Scaling, parts: Sequence[Examples], seed: int
) -> ExportCheck:
    """Compare them on `OBSERVATIONS` observations: those of the data, and if they are few, distorted ones.

    Raises:
        ModelError: they decide differently, where it is no matter of rounding.
    """
    flat, mask = _observations(parts, np.random.default_rng(seed))
    arrangement = parts[0].arrangement
    domain = arrangement.domain
    session = onnx_session(model)
    given = np.concatenate([session.run(None, {INPUT: part})[0] for part in np.array_split(flat, 20)])
    scores = learner.scores(flat)
    if isinstance(domain, Flag):
        differing, near, distance = _compared_flags(given, scores)
    elif isinstance(domain, Choice):
        differing, near, distance = _compared_choices(given, scores, domain, mask)
    else:
        wanted = decide(domain, scaling.advice(scores), None)
        distance = float(np.abs(given[:, 0] - wanted).max() / (np.abs(wanted).max() or 1.0))
        differing = near = np.zeros(len(flat), bool)
    if (differing & ~near).any() or not distance < NEAR:
        count = int((differing & ~near).sum())
        msg = f"{count} of {len(flat)} decisions differ, and scores by {distance:.2g}"
        raise ModelError(f"export to ONNX: expected the decisions of the trained model, got others: {msg}")
    return ExportCheck(len(flat), int(differing.sum()), distance)


def _compared_flags(given: NDArray[np.generic], scores: Floats) -> tuple[Bools, Bools, float]:
    """Which decisions differ, which are nearly undecided, and how far scores differ."""
    wanted, near = scores[:, 0] >= 0, np.abs(scores[:, 0]) < NEAR * (np.abs(scores).max() or 1)
    if given.dtype.kind != "f":
        return (given[:, 0] != 0) != wanted, near, 0.0
    probability = 0.5 * (1 + np.tanh(0.5 * scores[:, 0].astype(np.float64)))
    answer = given[:, 0].astype(np.float64)
    return (answer >= 0.5) != wanted, near, float(np.abs(answer - probability).max())


def _compared_choices(
    given: Floats, scores: Floats, domain: Choice, mask: Bools | None
) -> tuple[Bools, Bools, float]:
    """Which decisions differ, which are nearly undecided, and how far scores differ."""
    chosen, wanted = decide(domain, given, mask), decide(domain, scores, mask)
    largest, rows = float(np.abs(scores).max()) or 1.0, np.arange(len(scores))
    gap = scores[rows, wanted.astype(np.int64)] - scores[rows, chosen.astype(np.int64)]
    return chosen != wanted, gap < NEAR * largest, float(np.abs(given - scores).max()) / largest


def _observations(
    parts: Sequence[Examples], random: np.random.Generator
) -> tuple[Floats, NDArray[np.bool_] | None]:
    """The elements and the masks of `OBSERVATIONS` decisions."""
    flat = np.concatenate([part.flat for part in parts])
    masks = [
        np.ones((len(part), part.arrangement.columns), bool) if part.mask is None else part.mask
        for part in parts
    ]
    chosen = random.permutation(len(flat))[:OBSERVATIONS]
    rest = random.integers(0, len(flat), OBSERVATIONS - len(chosen))
    known = flat[rest]
    moved = known * random.uniform(0.5, 1.5, known.shape)
    moved = np.where(known == np.round(known), np.round(moved), moved)
    distorted = np.clip(moved, -LARGEST, LARGEST).astype(np.float32)
    return np.concatenate([flat[chosen], distorted]), np.concatenate(masks)[np.concatenate([chosen, rest])]
