# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of the tests' corpus, for measurements."""

from __future__ import annotations

import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import geometric_mean
from typing import TypeVar

from passpilot.training.corpus.layout import Corpus
from passpilot.training.rewards import code_bytes
from tests.corpus.build import build
from tests.corpus.export import export
from tests.corpus.programs import HERE, Program, all_programs
from tests.passes.allocation.allocated import driver_output

T = TypeVar("T")


def built(names: Iterable[str]) -> list[Program]:
    """Programs of the corpus, which are fetched and compiled if need be; the process ends if that fails."""
    wanted = list(names)
    if problems := build(wanted):
        sys.exit("\n".join(problems))
    return [all_programs()[name] for name in wanted]


def part(*names: str) -> tuple[str, ...]:
    """The programs of parts of the corpus: `train`, `validation`, `test`."""
    parts = tomllib.loads((HERE / "split.toml").read_text())["parts"]
    return tuple(program for name in names for program in parts[name])


def check_output(program: Program, code: bytes, how: str) -> None:
    """Link an object file of a program and run it; the process ends if it prints something else."""
    with tempfile.TemporaryDirectory() as folder:
        if (digest := driver_output(program, code, Path(folder))) != program.driver.stdout_sha256:
            sys.exit(f"{program.name}: {how}: expected the output of the corpus, got {digest}")


def best_elsewhere(costs: Mapping[str, Mapping[str, float]], program: str, policies: Iterable[str]) -> str:
    """The policy with the least geometric mean of the costs of all programs but this one.

    What it costs this program is what a fixed policy gains on programs that it was not selected on.
    """
    others = [row for name, row in costs.items() if name != program]
    known = [policy for policy in policies if all(policy in row for row in others)]
    return min(known, key=lambda policy: geometric_mean(row[policy] for row in others))


def checked(results: Iterable[T | Exception]) -> list[T]:
    """The results of compilations; raises the first exception among them."""
    values = []
    for result in results:
        if isinstance(result, Exception):
            raise result
        values.append(result)
    return values


def exported(name: str, level: str, folder: Path, reference: str = "R1") -> Corpus:
    """A program as a corpus of `passpilot corpus`; the process ends if a unit cannot be compiled."""
    if problems := export(folder, [name], level, reference=reference):
        sys.exit("\n".join(problems))
    return Corpus.read(folder)


def code_size(path: Path) -> int:
    return code_bytes(path.read_bytes())
