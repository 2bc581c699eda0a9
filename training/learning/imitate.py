# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Imitation`: learns the decisions in shards, and writes the policy with all that belongs to it.

The output folder gets `model.onnx`, `card.md`, `settings.toml` (all settings), `curve.csv`, `curve.svg`,
`tensorboard/`, `checkpoint.npz`, from which `resume` goes on, and of a network `statistics.json` and
`network.json`.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from passpilot.features.domain import Choice, Flag
from passpilot.passes.points import search_point
from passpilot.plugin.errors import InputError, PasspilotWarning
from passpilot.plugin.files import write_file
from passpilot.training.data.matrix import Arrangement, Examples
from passpilot.training.data.shards import DecisionShards
from passpilot.training.learning.checkpoint import Checkpoint, prefixed, without_prefix
from passpilot.training.learning.curves import Curve
from passpilot.training.learning.graph import policy_model
from passpilot.training.learning.learner import Scaling, loss_name
from passpilot.training.learning.metrics import Agreement
from passpilot.training.learning.network import NetworkLearner
from passpilot.training.learning.policy import WEIGHTS, NetworkPolicy, policy_text
from passpilot.training.learning.policy_check import check_export
from passpilot.training.learning.set_network import fresh_network
from passpilot.training.learning.toml_settings import settings_of, toml_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from passpilot.features.point import Point
    from passpilot.training.data.matrix import Label
    from passpilot.training.learning.learner import Learner, State
    from passpilot.training.learning.policy_check import ExportCheck
    from passpilot.training.learning.settings import ImitateSettings

MODEL: Final = "model.onnx"
SETTINGS: Final = "settings.toml"
STATISTICS: Final = "statistics.json"
CHECKPOINT: Final = "checkpoint.npz"
SAMPLE: Final = 20_000
"""The decisions of the training data on which the curve is measured."""

_CHARTS: Final = (("train loss", "validation loss"), ("train agreement", "validation agreement"))
_BEST: Final = "best_"
_LAST: Final = "last_"


@dataclass(frozen=True, slots=True)
class Imitated:
    """What came of a training.

    Attributes:
        folder: with all files.
        point: the decision point.
        description: the model in words.
        rounds: of the model that was kept.
        parts: what it makes of the data, by part.
        check: how the exported model compares with the trained one.
        seconds: the time of all training, earlier runs included.
        importance: how much agreement is lost without a feature, the greatest first.
        programs: the programs of the parts.
    """

    folder: str
    point: str
    description: str
    rounds: int
    parts: Mapping[str, Agreement]
    check: ExportCheck
    seconds: float
    importance: Sequence[tuple[str, float]]
    programs: Mapping[str, Sequence[str]]


class Imitation:
    """A training; `run` does it.

    Args:
        settings: paths in them are relative to the current folder.
        folder: where the files come.
        jobs: threads.
        resume: whether to go on from the folder's checkpoint, if there is one.

    Raises:
        InputError: the data cannot be used.
    """

    def __init__(
        self, settings: ImitateSettings, folder: str, *, jobs: int = 1, resume: bool = False
    ) -> None:
        self._settings, self._folder, self._jobs = settings, folder, jobs
        data = settings.data
        shards = {"train": DecisionShards(*data.train)}
        for part in ("validation", "test"):
            if paths := getattr(data, part):
                shards[part] = DecisionShards(*paths)
        self._point = search_point(shards["train"].schema.point)
        arrangement = Arrangement.of(self._point, settings.features)
        for each in shards.values():
            _check_fit(each, arrangement)
        self._parts = {
            part: Examples.load(
                each,
                arrangement,
                self._point.default.name,
                cast("Label", settings.label),
                settings.weights,
            )
            for part, each in shards.items()
        }
        _check_parts(self._parts)
        self._scaling = _scaling(self._parts["train"])
        self._key = _key(settings, shards)
        self._learner = self._make_learner()
        self._seconds, self._resume = 0.0, resume
        self._best: State = {}
        self._best_row: dict[str, float] = {}

    def _make_learner(self) -> Learner:
        settings, train, validation = self._settings, self._parts["train"], self._parts.get("validation")
        if settings.policy == "trees":
            from passpilot.training.learning.trees import TreeLearner

            return TreeLearner(settings.trees, settings.seed, train, validation, self._scaling, self._jobs)
        first = fresh_network(settings.policy, train.arrangement, settings.network.hidden, settings.seed)
        return NetworkLearner(settings.network, first, settings.seed, train, validation, self._scaling)

    @property
    def rounds(self) -> int:
        """The rounds that the settings want."""
        return self._learner.most_rounds

    def run(self, step: Callable[[int, str], object] = lambda _rounds, _text: None) -> Imitated:
        """Train, and write the policy; `step` is called with the rounds so far and a line of text.

        Raises:
            InputError: a file cannot be written, or the checkpoint is of another training.
            ModelError: the exported model does not decide as the trained one.
        """
        try:
            os.makedirs(self._folder, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self._folder}: expected a folder, got: {error.strerror}") from error
        curve = self._begun()
        began = time.monotonic() - self._seconds
        while self._learner.rounds < self._learner.most_rounds and not self._is_over(curve.rows):
            self._learner.advance(self._settings.checkpoint)
            self._seconds = time.monotonic() - began
            row = self._measured()
            if not self._best_row or row[_watched(row)] < self._best_row[_watched(row)]:
                self._best, self._best_row = self._learner.state(), row
            curve.add(row)
            self._save(curve.rows)
            step(self._learner.rounds, _told(row))
        name = "squared error of bytes" if self._settings.label == "worth" else loss_name(self._point.domain)
        title = f"Imitation at {self._point.name}: {name} and agreement"
        curve.close(title, _CHARTS)
        return self._finished()

    def _begun(self) -> Curve:
        path = os.path.join(self._folder, CHECKPOINT)
        if not self._resume or not os.path.exists(path):
            return Curve(self._folder)
        found = Checkpoint.read(path, self._key)
        self._learner.restore(without_prefix(_LAST, found.arrays))
        self._best = without_prefix(_BEST, found.arrays)
        facts = found.facts
        rows, best, seconds = facts["rows"], facts["best"], facts["seconds"]
        assert isinstance(rows, list), "our own file"
        assert isinstance(best, dict), "our own file"
        assert isinstance(seconds, float), "our own file"
        self._best_row, self._seconds = best, seconds
        return Curve(self._folder, rows)

    def _save(self, rows: Sequence[Mapping[str, float]]) -> None:
        arrays = prefixed(_LAST, self._learner.state()) | prefixed(_BEST, self._best)
        facts = {"rows": list(rows), "best": self._best_row, "seconds": self._seconds}
        Checkpoint(self._key, facts, arrays).write(os.path.join(self._folder, CHECKPOINT))

    def _is_over(self, rows: Sequence[Mapping[str, float]]) -> bool:
        patience = self._settings.patience
        if not patience or not rows:
            return False
        since = sum(row["round"] > self._best_row["round"] for row in rows)
        return since >= patience

    def _measured(self) -> dict[str, float]:
        """A row of the curve."""
        row: dict[str, float] = {"round": self._learner.rounds}
        train = _sampled(self._parts["train"], self._settings.seed)
        seen = Agreement.of(train, self._learner.scores(train.flat), self._scaling)
        row |= {"train loss": seen.loss, "train agreement": seen.agreement}
        if validation := self._parts.get("validation"):
            seen = Agreement.of(validation, self._learner.validation_scores(), self._scaling)
            row |= {"validation loss": seen.loss, "validation agreement": seen.agreement}
            row |= {"validation changed found": seen.found, "validation changed right": seen.right}
            row |= {"validation gain kept": seen.kept} if seen.kept else {}
        return row

    def _finished(self) -> Imitated:
        if self._settings.keep == "best" and self._best:
            self._learner.restore(self._best)
        train = self._parts["train"]
        facts = {
            "passpilot/point": self._point.name,
            "passpilot/trained": f"imitation, {self._learner.describe()}, seed {self._settings.seed}",
        }
        model = policy_model(self._learner, train.arrangement, self._scaling, facts).SerializeToString()
        check = check_export(
            model, self._learner, self._scaling, list(self._parts.values()), self._settings.seed
        )
        write_file(os.path.join(self._folder, MODEL), model)
        write_file(os.path.join(self._folder, SETTINGS), toml_text(self._settings).encode())
        if isinstance(self._learner, NetworkLearner):
            text = json.dumps(self._learner.statistics.to_json(), indent=1) + "\n"
            write_file(os.path.join(self._folder, STATISTICS), text.encode())
            learner = self._learner
            policy = NetworkPolicy(train.arrangement, learner.statistics, learner.network, self._scaling)
            write_file(os.path.join(self._folder, WEIGHTS), policy_text(policy).encode())
        parts = {
            name: Agreement.of(part, self._learner.scores(part.flat), self._scaling)
            for name, part in self._parts.items()
        }
        return Imitated(
            self._folder,
            self._point.name,
            self._learner.describe(),
            self._learner.rounds,
            parts,
            check,
            self._seconds,
            self._importance(),
            {name: sorted(part.names) for name, part in self._parts.items()},
        )

    def _importance(self) -> list[tuple[str, float]]:
        """How much agreement is lost when the values of a feature are shuffled among decisions."""
        part = _sampled(self._parts.get("validation", self._parts["train"]), self._settings.seed, 4000)
        whole = Agreement.of(part, self._learner.scores(part.flat), self._scaling).agreement
        random, at, found = np.random.default_rng(self._settings.seed), 0, []
        for spec in part.arrangement.features:
            flat = part.flat.copy()
            flat[:, at : at + spec.size] = flat[random.permutation(len(flat)), at : at + spec.size]
            at += spec.size
            lost = whole - Agreement.of(part, self._learner.scores(flat), self._scaling).agreement
            found.append((spec.name, lost))
        return sorted(found, key=lambda pair: -pair[1])


def _watched(row: Mapping[str, float]) -> str:
    return "validation loss" if "validation loss" in row else "train loss"


def _told(row: Mapping[str, float]) -> str:
    part = _watched(row).removesuffix(" loss")
    return f"{part} loss {row[f'{part} loss']:.4f}, agreement {row[f'{part} agreement']:.2%}"


def _check_fit(shards: DecisionShards, arrangement: Arrangement) -> None:
    """Check that shards have the features as the point offers them now."""
    have = {spec.name: str(spec) for spec in shards.schema.tensors}
    for spec in arrangement.features:
        if have.get(spec.name) != str(spec):
            got = f"{spec.name} as {have[spec.name]}" if spec.name in have else f"no {spec.name}"
            raise InputError(f"{shards.files[0]}: expected decisions with {spec.name} as {spec}, got {got}")


def _check_parts(parts: Mapping[str, Examples]) -> None:
    train = set(parts["train"].names)
    for part, examples in parts.items():
        if part != "train" and (both := sorted(train & set(examples.names))):
            text = f"programs of train and {part}: expected different ones, got {', '.join(both)} in both"
            warnings.warn(
                f"{text}; its figures say nothing about unseen programs", PasspilotWarning, stacklevel=2
            )


def _scaling(train: Examples) -> Scaling:
    if isinstance(train.arrangement.domain, (Flag, Choice)):
        return Scaling()
    return Scaling(float(train.labels.mean()), float(train.labels.std()) or 1.0)


def _sampled(examples: Examples, seed: int, most: int = SAMPLE) -> Examples:
    """Some decisions, always the same ones."""
    if len(examples) <= most:
        return examples
    chosen: NDArray[np.int64] = np.sort(np.random.default_rng(seed).permutation(len(examples))[:most])
    return replace(
        examples,
        flat=examples.flat[chosen],
        labels=examples.labels[chosen],
        default=examples.default[chosen],
        mask=None if examples.mask is None else examples.mask[chosen],
        weights=examples.weights[chosen],
        programs=examples.programs[chosen],
        gains=examples.gains[chosen],
        targets=None if examples.targets is None else examples.targets[chosen],
    )


def _key(settings: ImitateSettings, shards: Mapping[str, DecisionShards]) -> str:
    """A hash of the settings and the data."""
    digest = hashlib.sha256(toml_text(settings).encode())
    for each in shards.values():
        for file in each.files:
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def rebased(settings: ImitateSettings, folder: str) -> ImitateSettings:
    """The settings with their relative paths taken from `folder`."""
    data = settings.data
    moved = {
        part: tuple(os.path.join(folder, path) for path in getattr(data, part))
        for part in ("train", "validation", "test")
    }
    return replace(settings, data=settings_of({k: list(v) for k, v in moved.items()}, type(data), "data"))


def point_of(settings: ImitateSettings) -> Point:
    """The decision point of the data."""
    return search_point(DecisionShards(*settings.data.train).schema.point)
