# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Imitation`: learns the decisions in shards. Of a network the folder also gets `statistics.json`."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from passpilot.passes.point_search import search_point
from passpilot.plugin.errors import InputError, PasspilotWarning, restated
from passpilot.plugin.failures import utf8
from passpilot.plugin.files import write_file
from passpilot.plugin.load import load_file
from passpilot.training.data.matrix import Arrangement, Examples, Floats, Label
from passpilot.training.data.shards import DecisionShards
from passpilot.training.learning.card import imitation_card
from passpilot.training.learning.checkpoint import prefixed, without_prefix
from passpilot.training.learning.learner import Scaling, loss_name
from passpilot.training.learning.metrics import Agreement
from passpilot.training.learning.network_learner import NetworkLearner
from passpilot.training.learning.set_network import fresh_network
from passpilot.training.learning.settings import ImitateSettings
from passpilot.training.learning.toml_settings import features_of, settings_from, toml_text
from passpilot.training.learning.training import Arrays, RunOptions, TrainedModel, Training

if TYPE_CHECKING:
    from passpilot.training.learning.learner import Learner, State

STATISTICS: Final = "statistics.json"
SAMPLE: Final = 20_000
"""The decisions of the training data on which the curve is measured."""

_BEST: Final = "best_"
_LAST: Final = "last_"


def imitate(
    settings: str | Mapping[str, object],
    output: str,
    *,
    resume: bool = False,
    jobs: int = 0,
    load: Sequence[str] = (),
    callbacks: Sequence[Callable[[Imitation, Mapping[str, float]], object]] = (),
    command: str = "",
) -> TrainedModel:
    """Learn the decisions in shards, as `passpilot train imitate` does.

    Args:
        settings: a TOML file, or a mapping with the same keys; paths are relative to the file's folder.
        output: the folder of the model.
        resume: whether to go on from the checkpoint in the folder, if there is one.
        jobs: threads; 0 for as many as there are processors.
        load: Python files to run first, which register features and passes.
        callbacks: functions that are called with the training and every new row of the curve; a training has
            `rows`, `done`, `total`, `line` and `stop()`.
        command: what the card says was called.

    Raises:
        Error: a file or a setting is wrong, or nothing can be learned.
    """
    for file in load:
        load_file(file)
    found, base = settings_from(settings, ImitateSettings)
    found = replace(found, data=found.data.within(base))
    jobs = jobs or len(os.sched_getaffinity(0))
    with features_of(settings):
        training = Imitation(found, output, jobs=jobs, callbacks=callbacks, resume=resume, command=command)
    return training.run()


class Imitation(Training):
    """Learns decisions; see `Training`.

    Args:
        settings: paths in them are relative to the current folder.
        folder: where the files come.
        jobs: threads.
        run: see `RunOptions`.

    Raises:
        InputError: the data cannot be used.
    """

    charts: ClassVar = (("train loss", "validation loss"), ("train agreement", "validation agreement"))
    facts: ClassVar = ("best",)

    def __init__(
        self, settings: ImitateSettings, folder: str, *, jobs: int = 1, **run: Unpack[RunOptions]
    ) -> None:
        data = settings.data
        paths = {"train": data.train, "validation": data.validation, "test": data.test}
        self._shards = {part: _opened(part, paths[part]) for part in paths if paths[part] or part == "train"}
        point = search_point(self._shards["train"].schema.point)
        arrangement = Arrangement.of(point, settings.features)
        for shards in self._shards.values():
            _check_fit(shards, arrangement)
        label = cast("Label", settings.label)
        self._parts = {
            part: Examples.load(shards, arrangement, point.default.name, label, settings.weights)
            for part, shards in self._shards.items()
        }
        _check_parts(self._parts)
        train, validation = self._parts["train"], self._parts.get("validation")
        self._scaling = Scaling.of(train)
        self._learner: Learner
        if settings.policy == "trees":
            from passpilot.training.learning.trees import TreeLearner

            self._learner = TreeLearner(settings.trees, settings.seed, train, validation, self._scaling, jobs)
        else:
            first = fresh_network(settings.policy, arrangement, settings.network.hidden, settings.seed)
            self._learner = NetworkLearner(
                settings.network, first, settings.seed, train, validation, self._scaling
            )
        self._settings: ImitateSettings
        super().__init__(point, settings, folder, self._learner.most_rounds, **run)
        self.best: dict[str, float] = {}
        """The row of the curve with the least loss."""
        self._best: State = {}

    @property
    def line(self) -> str:
        row, part = self.rows[-1], _watched(self.rows[-1]).removesuffix(" loss")
        return f"{part} loss {row[f'{part} loss']:.4f}, agreement {row[f'{part} agreement']:.2%}"

    def _key(self) -> str:
        digest = hashlib.sha256(utf8(toml_text(self._settings)))
        for shards in self._shards.values():
            for file in shards.files:
                digest.update(hashlib.sha256(file.read_bytes()).digest())
        return digest.hexdigest()

    def _restore(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self._learner.restore(without_prefix(_LAST, arrays))
        self._best = without_prefix(_BEST, arrays)

    def _arrays(self) -> Arrays:
        return prefixed(_LAST, self._learner.state()) | prefixed(_BEST, self._best)

    def _train(self) -> None:
        while self._learner.rounds < self._learner.most_rounds and not self._stopped:
            patience = self._settings.patience
            if patience and sum(row["round"] > self.best["round"] for row in self.rows) >= patience:
                break
            self._learner.advance(self._settings.checkpoint)
            self.done, self.total = self._learner.rounds, self._learner.most_rounds
            row = self._measured()
            if not self.best or row[_watched(row)] < self.best[_watched(row)]:
                self._best, self.best = self._learner.state(), row
            self._add(row)

    def _title(self) -> str:
        name = "squared error of bytes" if self._settings.label == "worth" else loss_name(self._point.domain)
        return f"Imitation at {self._point.name}: {name} and agreement"

    def _agreement(self, part: Examples, scores: Floats | None = None) -> Agreement:
        scores = self._learner.scores(part.flat) if scores is None else scores
        return Agreement.of(part, scores, self._scaling)

    def _measured(self) -> dict[str, float]:
        row: dict[str, float] = {"round": self._learner.rounds}
        seen = self._agreement(self._parts["train"].sample(SAMPLE, self._settings.seed))
        row |= {"train loss": seen.loss, "train agreement": seen.agreement}
        if validation := self._parts.get("validation"):
            seen = self._agreement(validation, self._learner.validation_scores())
            row |= {"validation loss": seen.loss, "validation agreement": seen.agreement}
            row |= {"validation changed found": seen.found, "validation changed right": seen.right}
            row |= {"validation gain kept": seen.kept} if seen.kept else {}
        return row

    def _finished(self) -> TrainedModel:
        if self._settings.keep == "best" and self._best:
            self._learner.restore(self._best)
        check = self._exported("imitation", self._learner, self._scaling, list(self._parts.values()))
        if isinstance(self._learner, NetworkLearner):
            text = json.dumps(self._learner.statistics.to_json(), indent=1) + "\n"
            write_file(os.path.join(self.folder, STATISTICS), text)
        return TrainedModel(
            folder=self.folder,
            point=self._point.name,
            description=self._learner.describe(),
            rounds=self._learner.rounds,
            check=check,
            seconds=self._seconds,
            parts={name: self._agreement(part) for name, part in self._parts.items()},
            programs={name: sorted(part.names) for name, part in self._parts.items()},
            importance=self._importance(),
        )

    def _importance(self) -> list[tuple[str, float]]:
        """How much agreement is lost when the values of a feature are shuffled among decisions."""
        part = self._parts.get("validation", self._parts["train"]).sample(4000, self._settings.seed)
        whole = self._agreement(part).agreement
        random, at, found = np.random.default_rng(self._settings.seed), 0, []
        for spec in part.arrangement.features:
            flat = part.flat.copy()
            flat[:, at : at + spec.size] = flat[random.permutation(len(flat)), at : at + spec.size]
            at += spec.size
            found.append((spec.name, whole - self._agreement(part, self._learner.scores(flat)).agreement))
        return sorted(found, key=lambda pair: -pair[1])

    def _card(self, trained: TrainedModel, command: str) -> str:
        return imitation_card(trained, self._settings, command)


def _watched(row: Mapping[str, float]) -> str:
    return "validation loss" if "validation loss" in row else "train loss"


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


def _opened(part: str, paths: Sequence[str]) -> DecisionShards:
    try:
        return DecisionShards(*paths)
    except InputError as error:
        raise restated(error, f"data.{part}: {error}") from error
