# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`fit_native_size`: compiles modules, learns from one part of them, and tests on the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from passpilot.plugin.errors import Error, InputError, UsageError
from passpilot.plugin.files import make_folder, write_file
from passpilot.plugin.load import load_file
from passpilot.plugin.version import MAJOR
from passpilot.runners.plurals import counted
from passpilot.training.corpus.layout import Corpus
from passpilot.training.corpus.partition import SplitFile, programs_of
from passpilot.training.data.collection import Steps, chosen_modules
from passpilot.training.data.gather import TaughtModule
from passpilot.training.learning.card import CARD, card, table
from passpilot.training.machines.local import Machines, machines
from passpilot.training.native_size.fit import Accuracy, FitSettings, FittedSize
from passpilot.training.native_size.functions import FunctionRows, measured_rows
from passpilot.training.native_size.model import NativeSize

TRAIN: Final = "train"
TOGETHER: Final = 256
"""Modules whose functions are in memory beside those that were chosen."""
MOST_FUNCTIONS: Final = 100_000
"""Functions of a part that are kept; learning from so many takes 0.6 GB."""


def fit_native_size(
    inputs: Sequence[str] = (),
    output: str = "sizes",
    *,
    corpus: str = "",
    program: Sequence[str] = (),
    split: str = "",
    passes: str = "",
    dimension: int = 32,
    trees: int = 200,
    seed: int = 0,
    load: Sequence[str] = (),
    timeout: float = 600.0,
    engine: str = "local",
    address: str = "",
    jobs: int = 0,
    callbacks: Sequence[Callable[[int, int], object]] = (),
    command: str = "",
) -> NativeSizeTraining:
    """Learn the bytes of machine code of functions from their IR, as `passpilot train native-size` does.

    The arguments are the options of the command. `inputs` are modules; `output` is the folder of the model.

    Args:
        callbacks: functions that are called with how many modules are done, and of how many.
        command: what the card says was called.

    Raises:
        UsageError: the arguments do not go together.
        Error: a file cannot be read or written, or there is too little to learn from.
    """
    for file in load:
        load_file(file)
    if bool(inputs) == bool(corpus):
        raise UsageError("train native-size: give modules or --corpus=DIR, one of them")
    modules = chosen_modules(inputs, corpus, program, passes)
    parts = {module.program: TRAIN for module in modules}
    if split:
        everything = programs_of(Corpus.read(corpus)) if corpus else {module.program for module in modules}
        fixed = SplitFile.of(split, everything).by_program()
        parts = {name: fixed[name] for name in parts if name in fixed}
    step = Steps(callbacks)
    step.total = sum(module.program in parts for module in modules)
    with machines(engine, address, jobs, load) as where:
        settings = FitSettings(dimension, trees, seed=seed)
        training = NativeSizeTraining(modules, parts, settings, where, timeout)
        training.run(output, command, step)
    return training


@dataclass(repr=False)
class NativeSizeTraining:
    """One training; as text, how good the model is by part.

    Attributes:
        modules: what to compile.
        parts: by programs; the model learns from `TRAIN`.
        settings: how it learns.
        machines: what compiles.
        deadline: the seconds for one module.
        problems: modules that are left out, and why.
        accuracy: how good the model is, by part.
    """

    modules: Sequence[TaughtModule]
    parts: Mapping[str, str]
    settings: FitSettings = field(default_factory=FitSettings)
    machines: Machines = field(default_factory=Machines)
    deadline: float = 600.0
    problems: list[str] = field(default_factory=list)
    accuracy: dict[str, Accuracy] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"NativeSizeTraining({counted(len(self.modules), 'module')})"

    def __str__(self) -> str:
        return "\n".join(f"{part:10} {accuracy_text(accuracy)}" for part, accuracy in self.accuracy.items())

    def run(self, folder: str, command: str, step: Callable[[], None] = lambda: None) -> dict[str, Accuracy]:
        """Learn, write the model and its card, and return how good it is by part.

        Raises:
            InputError: there is too little to learn from, or a file cannot be written.
        """
        rows = self._gathered(step)
        if TRAIN not in rows:
            raise InputError(f"train native-size: expected programs in the part {TRAIN}, got none")
        model = FittedSize(rows[TRAIN], self.settings)
        make_folder(folder)
        model.write(folder)
        NativeSize.read(folder)  # it must be readable where it is used
        self.accuracy = {
            part: Accuracy.of(model.sizes(functions), functions.sizes)
            for part, functions in rows.items()
            if len(np.unique(functions.sizes)) > 1  # there is a variance
        }
        write_file(os.path.join(folder, CARD), self._card(command))
        return self.accuracy

    def _gathered(self, step: Callable[[], None]) -> dict[str, FunctionRows]:
        wanted = [module for module in self.modules if module.program in self.parts]
        found: dict[str, FunctionRows] = {}
        for start in range(0, len(wanted), TOGETHER):
            modules = wanted[start : start + TOGETHER]
            results = measured_rows(modules, self.machines, self.deadline, lambda _number, _made: step())
            rows: dict[str, list[FunctionRows]] = {}
            for module, result in zip(modules, results, strict=True):
                if isinstance(result, Error):
                    self.problems.append(f"{module.name}: {result}")
                else:
                    rows.setdefault(self.parts[module.program], []).append(result)
            for part, new in rows.items():
                earlier = [found[part]] if part in found else []
                found[part] = FunctionRows.joined([*earlier, *new]).sampled(MOST_FUNCTIONS)
        return found

    def _card(self, command: str) -> str:
        pipelines = sorted({module.pipeline for module in self.modules})
        about = (
            f"An IR2Vec vocabulary of {self.settings.dimension} dimensions, and a head of "
            f"{self.settings.trees} boosted trees that makes bytes of embeddings. The sizes are those of "
            f"LLVM {MAJOR} behind {', '.join(pipelines)}, with code generation of level 2 that is "
            "position-independent."
        )
        head = ("part", "functions", "R²", "R² of logarithms", "median error", "sum")
        rows = [(part, *_cells(accuracy)) for part, accuracy in self.accuracy.items()]
        programs = [
            f"{part}: {', '.join(sorted(name for name, place in self.parts.items() if place == part))}."
            for part in self.accuracy
        ]
        sections = {
            "Figures": (
                *table(head, rows),
                "",
                "R² is the share of the variance of bytes by function that is explained; large functions",
                "dominate it, and those of logarithms count small ones as much. `sum` is the sum of all",
                "estimates relative to that of all sizes. Programs of other parts than `train` had no part",
                "in learning.",
            ),
            "Data": programs,
            "Training": (f"    {command}", "", f"All settings: {self.settings}."),
        }
        return card("The bytes of machine code of a function, from its IR", about, sections)


def _cells(accuracy: Accuracy) -> tuple[str, ...]:
    return (
        f"{accuracy.functions:,}",
        f"{accuracy.r2:.3f}",
        f"{accuracy.log_r2:.3f}",
        f"{accuracy.median_error:.1%}",
        f"{accuracy.total:.3f}",
    )


def accuracy_text(accuracy: Accuracy) -> str:
    functions, r2, log_r2, median, total = _cells(accuracy)
    return f"{functions} functions, R2 {r2} ({log_r2} of logarithms), median error {median}, sum {total}"
