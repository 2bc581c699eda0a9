# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The result of an evaluation: a JSON object that grows by one program after the other.

{"format": "passpilot eval 2", "complete": true,
 "passpilot": "0.1.0", "compiler": "Debian clang version 22.1.8", "machine": "...", "corpus": "DIR",
     "rounds": 5, "lto": false,
 "contenders": [{"name": "-Oz", "kind": "baseline"}, {"name": "inline=onnx:m.onnx", "kind": "policy"}],
 "baselines": ["-Oz", "-Os", "-O2", "-Oz+outline"],
 "programs": [ProgramResult, ...],
 "summary": {BASELINE: {METRIC: {CONTENDER: MeanRatio}}}}
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final, TypedDict, cast

from passpilot.plugin.errors import InputError
from passpilot.plugin.files import write_file
from passpilot.plugin.json_and_toml import check_typed_dict, read_json
from passpilot.training.timing.paired_times import RunTime, is_known

FORMAT: Final = "passpilot eval 2"
RESAMPLES: Final = 10_000
FEWEST: Final = 3
"""The fewest programs with an interval."""

_SEED: Final = 20
_LOW, _HIGH = 2.5, 97.5


class MeanRatio(TypedDict):
    """A geometric mean; the interval is None where there are too few values."""

    ratio: float
    low: float | None
    high: float | None
    programs: int


class CompetitorResult(TypedDict):
    """What a baseline or a policy makes of a program; None where it was not measured."""

    allocated: int | None
    """The bytes of the linked program that are loaded: all sections of memory but those of zeros."""
    text: int | None
    """Those of its machine code."""
    stripped: int | None
    """The size of the program's file without symbols and debug information."""
    xz: int | None
    """The size of that file, compressed."""
    objects: int | None
    """The bytes of its objects that are loaded, together."""
    compile_seconds: float | None
    """The processor time to compile all units."""
    cached: int
    """The units whose objects came from the cache."""
    decisions: int | None
    agreed: int | None
    """The decisions that LLVM's default would have taken in the same situation."""
    run: RunTime | None
    instructions: int | None
    """Those that the program's runs execute."""
    output: str
    """Whether the runs printed what they should: ``right``, ``wrong``, or ``unknown`` if none ended well."""
    errors: list[str]


class FunctionSizes(TypedDict):
    """The bytes of the largest functions of the linked programs, and of all others together."""

    names: list[str]
    sizes: dict[str, list[int]]
    rest: dict[str, int]


class ProgramResult(TypedDict):
    """One program with all competitors, by name."""

    name: str
    language: str
    units: int
    results: dict[str, CompetitorResult]
    functions: FunctionSizes
    warnings: list[str]


METRICS: Final[Mapping[str, Callable[[CompetitorResult], float | None]]] = {
    "allocated": lambda result: result.get("allocated"),
    "text": lambda result: result.get("text"),
    "stripped": lambda result: result.get("stripped"),
    "xz": lambda result: result.get("xz"),
    "objects": lambda result: result.get("objects"),
    "compile": lambda result: result["compile_seconds"],
    "run": lambda result: result["run"]["seconds"] if result["run"] and is_known(result["run"]) else None,
    "instructions": lambda result: result.get("instructions"),
}


@dataclass
class EvaluationResult:
    """A result while it is made."""

    facts: Mapping[str, object]
    """Versions, the machine, the corpus, the options."""
    contenders: Sequence[Mapping[str, str]]
    """The policies that were evaluated, with their options."""
    baselines: Sequence[str]
    """The compiler's own levels; ratios are against the first."""
    programs: list[ProgramResult] = field(default_factory=list)
    """What was measured, by program."""

    @property
    def rows(self) -> list[dict[str, object]]:
        """A flat row for each program and competitor, as ``pandas.DataFrame`` takes them."""
        base = self.baselines[0]
        return [
            {
                "program": program["name"],
                "policy": name,
                **{key: value for key, value in result.items() if key not in ("run", "errors")},
                **{f"run_{key}": value for key, value in (result["run"] or dict[str, object]()).items()},
                **{f"{metric}_ratio": ratio_of(program, metric, name, base) for metric in METRICS},
                "errors": "; ".join(result["errors"]),
            }
            for program in self.programs
            for name, result in program["results"].items()
        ]

    def __iter__(self) -> Iterator[dict[str, object]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        from passpilot.training.evaluation.tables import table_text

        return table_text(self)

    def _repr_markdown_(self) -> str:
        from passpilot.training.evaluation.tables import markdown

        return markdown(self)

    @property
    def names(self) -> list[str]:
        """The names of all competitors."""
        return [contender["name"] for contender in self.contenders]

    def to_json(self, *, complete: bool) -> dict[str, object]:
        """The result as it is written."""
        return {
            "format": FORMAT,
            "complete": complete,
            **self.facts,
            "contenders": list(self.contenders),
            "baselines": list(self.baselines),
            "programs": self.programs,
            "summary": {base: self.summary(base) for base in self.baselines},
        }

    def write(self, path: str, *, complete: bool) -> None:
        """Write the result; the file appears whole or not at all.

        Raises:
            InputError: it cannot be written.
        """
        text = json.dumps(self.to_json(complete=complete), indent=1, allow_nan=False)
        write_file(path, text + "\n")

    def take_up(self, path: str) -> None:
        """Take the programs without errors from an earlier result of the same evaluation.

        Raises:
            InputError: the file is not a result, or one of another corpus, compiler or other competitors.
        """
        raw = read_result(path)
        for key, mine in {**self.facts, "contenders": list(self.contenders)}.items():
            if raw.get(key) != mine:
                msg = f"{path}: expected a result of the same evaluation to resume, got another {key}"
                raise InputError(f"eval: {msg}; choose another file, or leave out --resume")
        check_typed_dict(raw["programs"], list[ProgramResult], f"{path}: programs")
        self.programs = [
            program
            for program in cast("list[ProgramResult]", raw["programs"])
            if not any(result["errors"] for result in program["results"].values())
        ]

    def summary(self, base: str) -> dict[str, dict[str, MeanRatio]]:
        """The geometric means against a baseline, by metric and competitor."""
        whole: dict[str, dict[str, MeanRatio]] = {}
        for metric in METRICS:
            means = {name: mean_ratio(self.ratios(metric, name, base)) for name in self.names if name != base}
            if known := {name: mean for name, mean in means.items() if mean}:
                whole[metric] = known
        return whole

    def ratios(self, metric: str, name: str, base: str) -> list[float]:
        """The ratios of the programs that both have."""
        found = (ratio_of(program, metric, name, base) for program in self.programs)
        return [ratio for ratio in found if ratio and ratio > 0]


def mean_ratio(ratios: Sequence[float]) -> MeanRatio | None:
    """The geometric mean, and its 95 % interval by bootstrap over the values; None without values."""
    if not ratios:
        return None
    mean = math.exp(fmean(map(math.log, ratios)))
    low: float | None = None
    high: float | None = None
    if len(ratios) >= FEWEST:
        import numpy as np

        logs = np.log(np.array(ratios))
        drawn = np.random.default_rng(_SEED).integers(0, len(logs), (RESAMPLES, len(logs)))
        low, high = (float(math.exp(log)) for log in np.percentile(logs[drawn].mean(axis=1), (_LOW, _HIGH)))
    return {"ratio": mean, "low": low, "high": high, "programs": len(ratios)}


def ratio_of(program: ProgramResult, metric: str, name: str, base: str) -> float | None:
    """The ratio of two competitors; None if one of them was not measured."""
    sides = [program["results"].get(side) for side in (name, base)]
    values = [METRICS[metric](side) if side else None for side in sides]
    own, other = values
    return own / other if own and other else None


def read_result(path: str) -> dict[str, object]:
    """The JSON of a result.

    Raises:
        InputError: the file cannot be read, or is not a result.
    """
    raw = read_json(path, "a result of `passpilot eval`")
    check_result(path, raw)
    return cast("dict[str, object]", raw)


def check_result(where: str, raw: object) -> None:
    """Check that a JSON value is a result.

    Raises:
        InputError: it is not; says which part is wrong.
    """
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise InputError(f"{where}: expected a result of `passpilot eval`, got other JSON")
    for key in ("contenders", "baselines", "programs"):
        if not isinstance(raw.get(key), list):
            raise InputError(f"{where}: {key}: expected an array, got {type(raw.get(key)).__name__}")
    for program in raw["programs"]:
        fields = program.keys() if isinstance(program, dict) else ()
        if not {"name", "results"} <= set(fields) or not isinstance(program["results"], dict):
            raise InputError(
                f"{where}: programs: expected objects with a name and results, got {program!r:.60}"
            )
    for contender in raw["contenders"]:
        if not isinstance(contender, dict) or not isinstance(contender.get("name"), str):
            raise InputError(f"{where}: contenders: expected objects with a name, got {contender!r:.60}")
