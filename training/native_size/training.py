# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot train native-size`: compiles modules, learns from one part of them, and tests on the others."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from passpilot.plugin.errors import Error, InputError
from passpilot.plugin.files import write_file
from passpilot.plugin.version import MAJOR
from passpilot.training.machines.local import ThisMachine
from passpilot.training.native_size.fit import Accuracy, FitSettings, FittedSize
from passpilot.training.native_size.functions import FunctionRows, measured_rows
from passpilot.training.native_size.model import NativeSize

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from passpilot.training.data.gather import TaughtModule
    from passpilot.training.machines.local import Machines

TRAIN: Final = "train"
CARD: Final = "card.md"


@dataclass
class NativeSizeTraining:
    """One training.

    Attributes:
        modules: what to compile.
        parts: by programs; the model learns from `TRAIN`.
        settings: how it learns.
        machines: what compiles.
        deadline: the seconds for one module.
    """

    modules: Sequence[TaughtModule]
    parts: Mapping[str, str]
    settings: FitSettings = field(default_factory=FitSettings)
    machines: Machines = field(default_factory=ThisMachine)
    deadline: float = 600.0
    problems: list[str] = field(default_factory=list)
    """Modules that are left out, and why."""

    def run(self, folder: str, command: str, step: Callable[[], None] = lambda: None) -> dict[str, Accuracy]:
        """Learn, write the model and its card, and return how good it is by part.

        Raises:
            InputError: there is too little to learn from, or a file cannot be written.
        """
        rows = self._gathered(step)
        if TRAIN not in rows:
            raise InputError(f"train native-size: expected programs in the part {TRAIN}, got none")
        model = FittedSize(rows[TRAIN], self.settings)
        os.makedirs(folder, exist_ok=True)
        model.write(folder)
        NativeSize.read(folder)  # it must be readable where it is used
        made = {
            part: Accuracy.of(model.sizes(each), each.sizes)
            for part, each in rows.items()
            if len(np.unique(each.sizes)) > 1  # there is a variance
        }
        write_file(os.path.join(folder, CARD), self._card(made, command).encode())
        return made

    def _gathered(self, step: Callable[[], None]) -> dict[str, FunctionRows]:
        wanted = [each for each in self.modules if each.program in self.parts]
        made = measured_rows(wanted, self.machines, self.deadline, lambda _number, _made: step())
        found: dict[str, list[FunctionRows]] = {}
        for module, each in zip(wanted, made, strict=True):
            if isinstance(each, Error):
                self.problems.append(f"{module.name}: {each}")
            else:
                found.setdefault(self.parts[module.program], []).append(each)
        return {part: FunctionRows.joined(each) for part, each in found.items()}

    def _card(self, made: Mapping[str, Accuracy], command: str) -> str:
        programs = {part: sorted(name for name, each in self.parts.items() if each == part) for part in made}
        pipelines = sorted({each.pipeline for each in self.modules})
        lines = [
            "# The bytes of machine code of a function, from its IR",
            "",
            f"An IR2Vec vocabulary of {self.settings.dimension} dimensions, and a head of",
            f"{self.settings.trees} boosted trees that makes bytes of embeddings. The sizes are those of",
            f"LLVM {MAJOR} behind {', '.join(pipelines)}, with code generation of level 2 that is",
            "position-independent.",
            "",
            "| part | functions | R² | R² of logarithms | median error | sum |",
            "|---|---|---|---|---|---|",
        ]
        lines += [f"| {part} | {' | '.join(_cells(each))} |" for part, each in made.items()]
        lines += [
            "",
            "R² is the share of the variance of bytes by function that is explained; large functions",
            "dominate it, and those of logarithms count small ones as much. `sum` is the sum of all",
            "estimates relative to that of all sizes. Programs of other parts than `train` had no part in",
            "learning.",
            "",
            *(f"{part}: {', '.join(names)}." for part, names in programs.items()),
            "",
            f"    {command}",
            "",
            f"All settings: {self.settings}.",
            "",
        ]
        return "\n".join(lines)


def _cells(each: Accuracy) -> tuple[str, ...]:
    return (
        f"{each.functions:,}",
        f"{each.r2:.3f}",
        f"{each.log_r2:.3f}",
        f"{each.median_error:.1%}",
        f"{each.total:.3f}",
    )


def accuracy_text(each: Accuracy) -> str:
    """An accuracy in words."""
    functions, r2, log_r2, median, total = _cells(each)
    return f"{functions} functions, R2 {r2} ({log_r2} of logarithms), median error {median}, sum {total}"
