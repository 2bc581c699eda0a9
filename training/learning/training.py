# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Training`: what all trainers of models share, and `TrainedModel`, what comes of them.

The output folder gets `model.onnx`, `card.md`, `settings.toml` (all settings), `curve.csv`, `curve.svg`,
`tensorboard/`, `checkpoint.npz`, from which `resume` goes on, and of a network `network.json`, its weights.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, TypeAlias, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from passpilot.features.columns import custom_files
from passpilot.features.point import POINTS, Point
from passpilot.plugin.errors import InputError
from passpilot.plugin.files import make_folder, read_regular, write_file
from passpilot.plugin.json_and_toml import check_typed_dict
from passpilot.runners.plurals import size_change
from passpilot.training.data.matrix import Examples
from passpilot.training.learning.card import CARD
from passpilot.training.learning.checkpoint import Checkpoint
from passpilot.training.learning.curves import Curve
from passpilot.training.learning.decision_network import WEIGHTS, DecisionNetwork
from passpilot.training.learning.export import onnx_model
from passpilot.training.learning.export_check import ExportCheck, check_export
from passpilot.training.learning.learner import RatingModel, Scaling
from passpilot.training.learning.metrics import Agreement
from passpilot.training.learning.toml_settings import toml_text

Arrays: TypeAlias = dict[str, NDArray[np.generic]]

MODEL: Final = "model.onnx"
SETTINGS: Final = "settings.toml"
CHECKPOINT: Final = "checkpoint.npz"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedModel:
    """What came of a training; as text, the figures that the command prints."""

    folder: str
    """The folder with all files."""
    point: str
    """The decision point."""
    description: str
    """The model in words."""
    rounds: int
    """After how many rounds, iterations or decisions it was taken."""
    check: ExportCheck
    """How the exported model compares with the trained one."""
    seconds: float
    """The time of all training, earlier runs included."""
    parts: Mapping[str, Agreement] = field(default_factory=dict)
    """Of imitation: how it decides in the data, by part."""
    programs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The programs of the parts."""
    importance: Sequence[tuple[str, float]] = ()
    """How much agreement is lost without a feature, the greatest first."""
    measure: str = ""
    """The name of the reward."""
    rewards: Mapping[str, float] = field(default_factory=dict)
    """The mean gain over the compiler's own decisions, by part."""
    others: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The gain of what the model is compared with, by name and part."""
    compilations: int = 0
    """How many compilations this run has made."""
    files: Sequence[str] = ()
    """The files of the folder with the user's features that the model needs."""

    @property
    def path(self) -> str:
        """The ONNX file."""
        return f"{self.folder}/{MODEL}"

    def __repr__(self) -> str:
        return f"TrainedModel({self.path!r}: {self.description})"

    def __str__(self) -> str:
        lines = [f"{self.path}: {self.description}"]
        lines += [f"{part:10} {agreement.text()}" for part, agreement in self.parts.items()]
        for part, reward in self.rewards.items():
            start = self.others.get("at the start", {})
            more = f"; at the start it was {size_change(1 - start[part], 3)}" if part in start else ""
            change = size_change(1 - reward, 3)
            link = "as" if change == "the same" else "than"
            lines.append(f"{part:10} {self.measure} {change} {link} LLVM's{more}")
        return "\n".join(lines)


class RunOptions(TypedDict, total=False):
    """What trainings take beside their settings."""

    callbacks: Sequence[Callable[..., object]]
    """Functions that are called with the training and every new row of the curve."""
    resume: bool
    """Whether to go on from the folder's checkpoint, if there is one."""
    command: str
    """What the card says was called."""


class Training(ABC):
    """A training; `run` does it.

    Args:
        point: the decision point.
        settings: a dataclass; the checkpoint can be used with the same ones alone.
        folder: where the files come.
        total: the rounds, iterations or decisions that the settings want.
        run: see `RunOptions`.
    """

    charts: ClassVar[Sequence[Sequence[str]]]
    """What the plot of the curve shows."""

    facts: ClassVar[Sequence[str]]
    """The attributes that a checkpoint has, beside the rows and the seconds; JSON can hold them."""

    def __init__(
        self, point: Point, settings: object, folder: str, total: int, **run: Unpack[RunOptions]
    ) -> None:
        self._point, self._settings = point, settings
        self._resume, self._command = run.get("resume", False), run.get("command", "")
        self._callbacks = run.get("callbacks", ())
        self.folder = folder
        self.total = total
        """The rounds, iterations or decisions that the settings want."""
        self.done = 0
        """Those so far."""
        self.rows: list[dict[str, float]] = []
        """The curve so far."""
        self._seconds, self._stopped = 0.0, False
        self._files: list[str] = []

    def stop(self) -> None:
        """End the training after the present row; the best model so far is written."""
        self._stopped = True

    def run(self) -> TrainedModel:
        """Train, and write the model.

        Raises:
            InputError: a file cannot be written, or the checkpoint is of another training.
            ModelError: the exported model does not decide as the trained one.
        """
        make_folder(self.folder)
        path = os.path.join(self.folder, CHECKPOINT)
        if self._resume and os.path.exists(path):
            self._go_on(Checkpoint.read(path, self._key()), path)
        self._curve = Curve(self.folder, self.rows)
        self._began = time.monotonic() - self._seconds
        self._train()
        self._curve.close(self._title(), self.charts)
        trained = self._finished()
        write_file(os.path.join(self.folder, SETTINGS), toml_text(self._settings))
        trained = replace(trained, files=tuple(dict.fromkeys(self._files)))
        write_file(os.path.join(self.folder, CARD), self._card(trained, self._command))
        return trained

    def _go_on(self, found: Checkpoint, path: str) -> None:
        """Take up a checkpoint.

        Raises:
            InputError: it lacks a value, or has one of another type or shape.
        """
        try:
            check_typed_dict(found.facts["rows"], list[dict[str, float]], "rows")
            self.rows, self._seconds = found.facts["rows"], float(found.facts["seconds"])
            for name in self.facts:
                kind = type(getattr(self, name))
                check_typed_dict(value := found.facts[name], dict[str, float] if kind is dict else kind, name)
                setattr(self, name, value)
            self._restore(found.arrays)
        except Exception as error:  # numpy, lightgbm and cma raise many kinds
            hint = "train without --resume, or into another folder"
            raise InputError(
                f"{path}: expected a checkpoint of this training, got a damaged one: {error!r:.100}; {hint}"
            ) from error

    def _add(self, row: Mapping[str, float]) -> None:
        """Add a row to the curve, write a checkpoint, and call the callbacks."""
        self._curve.add(row)
        self.rows, self._seconds = self._curve.rows, time.monotonic() - self._began
        facts = {name: getattr(self, name) for name in self.facts}
        facts |= {"rows": self.rows, "seconds": self._seconds}
        Checkpoint(self._key(), facts, self._arrays()).write(os.path.join(self.folder, CHECKPOINT))
        for callback in self._callbacks:
            callback(self, row)

    def _exported(
        self, how: str, model: RatingModel, scaling: Scaling, parts: Sequence[Examples]
    ) -> ExportCheck:
        """Write the model, and compare it with the trained one."""
        seed = self._settings.seed  # type: ignore[attr-defined]
        facts = {
            "passpilot/point": self._point.name,
            "passpilot/trained": f"{how}, {model.describe()}, seed {seed}",
        }
        data = onnx_model(model, parts[0].arrangement, scaling, facts).SerializeToString()
        check = check_export(data, model, scaling, parts, seed)
        write_file(os.path.join(self.folder, MODEL), data)
        needed = [*custom_files(spec.name for spec in parts[0].arrangement.features).values()]
        if self._point.name not in POINTS.own:
            needed.append(POINTS[self._point.name].origin.rpartition(":")[0])
        for path in dict.fromkeys(needed):
            self._files.append(os.path.basename(path))
            beside = os.path.join(self.folder, os.path.basename(path))
            if os.path.isfile(path) and not (os.path.exists(beside) and os.path.samefile(path, beside)):
                write_file(beside, read_regular(path))  # for --load where the model is used
        if isinstance(model, DecisionNetwork):
            write_file(os.path.join(self.folder, WEIGHTS), model.to_json())
        return check

    @property
    @abstractmethod
    def line(self) -> str:
        """How good the model is so far, in a few words."""

    @abstractmethod
    def _key(self) -> str:
        """What the training depends on."""

    @abstractmethod
    def _restore(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Go on from the arrays of a checkpoint; the facts are there already."""

    @abstractmethod
    def _arrays(self) -> Arrays:
        """The arrays of a checkpoint."""

    @abstractmethod
    def _train(self) -> None:
        """Train to the end, or until `stop`; adds rows."""

    @abstractmethod
    def _title(self) -> str:
        """The title of the plot."""

    @abstractmethod
    def _finished(self) -> TrainedModel:
        """Export the model."""

    @abstractmethod
    def _card(self, trained: TrainedModel, command: str) -> str:
        """The model card."""
