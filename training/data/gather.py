# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gathers decisions: compiles modules with teachers, one process per module, and keeps every decision.

With several teachers, a module's decisions are those of the teacher that makes its code smallest.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Any, Final

import numpy as np

from passpilot.features.catalogue import hooked
from passpilot.features.log.reader import read_log
from passpilot.passes.advisor import advisor
from passpilot.passes.point_search import search_point
from passpilot.passes.unasked import cause
from passpilot.plugin.errors import Error, InputError, restated
from passpilot.plugin.files import read_regular
from passpilot.plugin.module import Module
from passpilot.runners.spec import parse_runner_spec
from passpilot.training.data.shards import TEXTS, DecisionRows, DecisionSchema, TextColumn
from passpilot.training.machines.local import Machines
from passpilot.training.rewards import check_reward, find_measure
from passpilot.training.task import Task
from passpilot.training.tuning.decision_file import CallKey, read_decisions

PROGRAM: Final = "{program}"
"""Stands for the name of the program in a teacher's spec."""

_LOGGED: Final = ("context", "caller", "callee")


@dataclass(frozen=True, slots=True)
class TaughtModule:
    """A module to compile.

    Attributes:
        program: the program that it belongs to.
        name: its name, for the shard.
        path: its file.
        pipeline: the passes to run.
        code: its bitcode, if it has no file.
    """

    program: str
    name: str
    path: str
    pipeline: str
    code: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Teaching:
    """How modules are compiled.

    Attributes:
        point: the decision point.
        teachers: runner specs; ``{program}`` stands for the name of the program.
        at: more pipelines, by LLVM's extension points.
        reward: what the best teacher makes smallest.
        opt_level: the level of code generation.
        deadline: the seconds that a module may take.
        machines: what compiles.
    """

    point: str = "inline"
    teachers: tuple[str, ...] = ("default",)
    at: Mapping[str, str] = field(default_factory=dict)
    reward: str = "native-size"
    opt_level: int = 2
    deadline: float = 600.0
    machines: Machines = field(default_factory=Machines)


@dataclass(frozen=True, slots=True)
class Taught:
    """The decisions of a module, and which teacher took them."""

    module: TaughtModule
    rows: DecisionRows
    teacher: str
    sizes: Mapping[str, float]
    """What the teachers made of the module, if there are several; less is better."""
    problem: str = ""
    """Why there are no decisions, if the module is not as it should be."""


def gather(
    modules: Sequence[TaughtModule], teaching: Teaching, step: Callable[[], object] = lambda: None
) -> Iterator[Taught | Error]:
    """Compile modules; yields what each teaches, or why it teaches nothing, in the modules' order.

    The modules of a program are compiled together, so that memory holds one program.
    """
    search_point(teaching.point)
    check_reward(teaching.reward, [teaching.point])
    sent = replace(teaching, machines=Machines())
    for _, program in groupby(modules, key=lambda module: module.program):
        together = list(program)
        runs = [partial(_taught, module, sent) for module in together]
        results = teaching.machines.run(
            "train data", runs, teaching.deadline, lambda _number, _result: step()
        )
        for module, result in zip(together, results, strict=True):
            if isinstance(result, Error) and not str(result).startswith(module.name):
                yield restated(result, f"{module.name}: {result}")
            else:
                yield result


def _taught(module: TaughtModule, teaching: Teaching) -> Taught:
    """Compile with all teachers, in a process of its own."""
    try:
        code = module.code or read_regular(module.path)
    except OSError as error:
        raise InputError(f"expected to read {module.path}, got: {error.strerror}") from error
    several = len(teaching.teachers) > 1
    measure = find_measure(teaching.reward) if several else None
    pipeline = module.pipeline if module.pipeline or teaching.point in hooked("emit") else "default<Oz>"
    task = Task(code, pipeline, teaching.at, teaching.opt_level, measure, "", name=module.name)
    sizes: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="passpilot-") as folder:
        for number, teacher in enumerate(teaching.teachers):
            log = os.path.join(folder, str(number))
            spec = teacher.replace(PROGRAM, module.program)
            with advisor(teaching.point, spec, log=log) as logging:
                logging.may_idle = True  # a module without calls has nothing to ask
                value = task.run([logging])
            sizes[teacher] = math.inf if value is None else value
        best = min(range(len(teaching.teachers)), key=lambda number: sizes[teaching.teachers[number]])
        rows = logged_decisions(os.path.join(folder, str(best)), teaching.point, module.program, module.name)
    teacher = teaching.teachers[best]
    gains = _gains(teacher.replace(PROGRAM, module.program), code, rows)
    rows = DecisionRows(rows.schema, rows.tensors, rows.texts, gains)
    why = "" if len(rows) else cause(Module.read(code))
    return Taught(
        module, rows, teacher, sizes if several else {}, why and f"{module.name}: asks nothing: {why}"
    )


def logged_decisions(path: str, point: str, program: str, module: str) -> DecisionRows:
    """The decisions of a log of `point`.

    Raises:
        LogError: the log cannot be read.
        InputError: it is of another point.
    """
    log = read_log(path)
    advice = search_point(point).advice
    if str(log.features[-1]) != str(advice) or log.features[-1].name != advice.name:
        got = log.features[-1].name
        raise InputError(f"log {path}: expected one of {point}, which ends with {advice.name}, got {got}")
    schema = DecisionSchema(point, log.features[:-1], log.features[-1])
    parts: dict[str, list[Any]] = {name: [] for name in (*(spec.name for spec in schema.tensors), *_LOGGED)}
    for batch in log.batches(parts):
        for name, values in batch.items():
            parts[name] += values.tolist() if name in _LOGGED else [values]
    tensors = {
        spec.name: np.concatenate([np.zeros((0, *spec.shape), spec.numpy_dtype), *parts[spec.name]])
        for spec in schema.tensors
    }
    rows = len(parts["context"])
    texts = {name: TextColumn.of(parts[name]) for name in _LOGGED}
    texts |= {"program": TextColumn.same(program, rows), "module": TextColumn.same(module, rows)}
    return DecisionRows(schema, tensors, {name: texts[name] for name in TEXTS}, np.zeros(rows, np.float32))


def _gains(teacher: str, code: bytes, rows: DecisionRows) -> np.ndarray:
    """What the decisions gain, if they come from a decision file."""
    gains = np.zeros(len(rows), np.float32)
    spec = parse_runner_spec(teacher)
    if spec.scheme != "decisions":
        return gains
    name = Module.read(code).source_file
    unit = next((unit for unit in read_decisions(spec.target) if unit.name == name), None)
    if unit is None or not unit.gains:
        return gains
    callers, callees = rows.texts["caller"], rows.texts["callee"]
    counts: Counter[tuple[str, str]] = Counter()
    for row, (caller, callee) in enumerate(zip(callers.codes, callees.codes, strict=True)):
        pair = callers.words[caller], callees.words[callee]
        counts[pair] += 1
        gains[row] = unit.gains.get(CallKey(*pair, counts[pair]), 0)
    return gains
