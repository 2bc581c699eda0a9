# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gathers what inlining decisions are worth: flips those of a teacher, and measures the linked program.

A search keeps the flips that help, on the way to one good program. A model learns more from all flips, good
and bad, and from their bytes. A flip is about a callee: all its inlined calls are kept, or all its kept calls
are inlined, because the worth of one call depends on whether the callee's body is still needed for
the others. Every compilation flips callees that cannot influence the same functions, so that the sizes of the
functions tell what each flip changes (`passpilot.training.tuning.influence`).
The teacher is LLVM, or a model that has learned from flips: what a decision is worth depends on the others.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, Final

import numpy as np

from passpilot.features.columns import columns_of
from passpilot.plugin.errors import Error, InputError, restated
from passpilot.plugin.files import read_regular
from passpilot.runners.onnx_session import onnx_session
from passpilot.runners.spec import parse_runner_spec
from passpilot.training.data.gather import Taught, TaughtModule, Teaching, gather
from passpilot.training.data.shards import DecisionRows, TextColumn
from passpilot.training.machines.local import Machines
from passpilot.training.tuning.decision_file import CallKey
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.influence import disjoint
from passpilot.training.tuning.reward import RewardText
from passpilot.training.tuning.sizes import ALLOCATED
from passpilot.training.tuning.study import Budget, Study
from passpilot.training.tuning.tuned_program import linked_program
from passpilot.training.tuning.unit import UnitChoice
from passpilot.training.tuning.whole_program import merged_program

if TYPE_CHECKING:
    from passpilot.runners.python import Observation
    from passpilot.training.corpus.layout import Corpus
    from passpilot.training.tuning.study import Call

PIPELINE: Final = "default<Oz>"
TEACHER: Final = "flips"
"""The name of this teacher in descriptions of data."""


class OnnxDecider:
    """A policy of `imitate` in this process, and in those that are copies of it.

    Args:
        spec: ``onnx:FILE``.

    Raises:
        InputError: it is another runner, or the model has no names of columns.
    """

    def __init__(self, spec: str) -> None:
        import onnx

        parsed = parse_runner_spec(spec)
        if parsed.scheme != "onnx" or parsed.options:
            raise InputError(f"--flips: expected the teacher default or onnx:FILE, got {spec}")
        try:
            data = read_regular(parsed.target)
        except OSError as error:
            raise InputError(f"{parsed.target}: expected a model, got: {error.strerror}") from error
        self._session = onnx_session(data)
        self._spec, self._input = spec, self._session.get_inputs()[0].name
        self._names = columns_of(onnx.load_from_string(data)).get(self._input, ())
        if not self._names:
            raise InputError(f"{parsed.target}: expected a model that names its columns, got another one")

    def __reduce__(self) -> tuple[type[OnnxDecider], tuple[str]]:
        return OnnxDecider, (self._spec,)  # a cluster's machines read the file themselves

    def __call__(self, obs: Observation) -> bool:
        default = {"inlining_default": int(obs.default())} if "inlining_default" in self._names else {}
        row = [default[name] if name in default else obs[name].item() for name in self._names]
        (scores,) = self._session.run(None, {self._input: np.array([row], np.float32)})
        return bool(scores[0, 0] >= 0.5)


@dataclass(frozen=True, slots=True)
class FlipSettings:
    """How flips are tried.

    Attributes:
        rounds: compilations of a program, after that with LLVM's own decisions.
        seconds: the time for a program, after which no more compilation begins.
        seed: of the order of flips.
        teacher: whose decisions are flipped: LLVM's (``default``), or those of ``onnx:FILE``.
        lto: whether the decisions are those of lld's full link-time optimization.
        deadline: the seconds that one compilation may take.
        machines: what compiles.
    """

    rounds: int
    seconds: float = float("inf")
    seed: int = 0
    teacher: str = "default"
    lto: bool = False
    deadline: float = 600.0
    machines: Machines = field(default_factory=Machines)


def flip_worths(
    study: Study, rounds: int, seed: int = 0, teacher: Callable[[Observation], bool] | None = None
) -> dict[Call, float]:
    """By how many bytes the flip of a callee makes the program smaller, divided by its calls.

    Args:
        study: compiles the program; no flip is kept.
        rounds: the compilations after the one with the teacher's decisions.
        seed: of the order of flips.
        teacher: decides first; None for LLVM.

    Raises:
        Error: the program does not compile with the teacher's decisions, or does not link.
    """
    before = study.begin(UnitChoice(policy=teacher)).sizes.functions
    decided = study.decided()
    influence, todo = study.influence(decided), _groups(study, random.Random(seed))
    worths: dict[Call, float] = {}
    for _ in range(rounds):
        changed = [frozenset().union(*(influence.of(study.edge(*call)) for call in calls)) for calls in todo]
        is_chosen = disjoint(changed)
        batch = list(compress(zip(todo, changed, strict=True), is_chosen))
        todo = [calls for calls, chosen in zip(todo, is_chosen, strict=True) if not chosen]
        if not batch or not study.budget.remains:
            break
        for outcome in study.outcomes(
            [study.flipped(decided, [call for calls, _ in batch for call in calls])]
        ):
            after = outcome.sizes.functions if outcome else {}
            for calls, names in batch if outcome else ():
                saved = sum(before.get(name, 0) - after.get(name, 0) for name in names)
                worths.update(dict.fromkeys(calls, saved / len(calls)))
    return worths


def _groups(study: Study, order: random.Random) -> list[list[Call]]:
    """The calls of every callee that the teacher decides alike, in random order."""
    groups: dict[tuple[str, bool], list[Call]] = {}
    for number, call in sorted(study.worthwhile(order)):
        key = study.edge(number, call).callee, study.best.units[number].asked[call].inlined
        groups.setdefault(key, []).append((number, call))
    shuffled = list(groups.values())
    order.shuffle(shuffled)
    return shuffled


def gather_flips(
    corpus: Corpus,
    programs: Sequence[str],
    settings: FlipSettings,
    step: Callable[[], object] = lambda: None,
) -> Iterator[Taught | Error]:
    """The decisions of programs whose flips were tried, module by module, or why a program teaches nothing.

    The advice is the better answer, and the gain the bytes between both answers, as a share of the call.
    """
    for name in programs:
        try:
            yield from _program(corpus, name, settings)
        except Error as error:
            yield restated(error, f"{name}: {error}")
        step()


def _program(corpus: Corpus, name: str, settings: FlipSettings) -> Iterator[Taught | Error]:
    program = next((program for program in corpus.programs if program.name == name), None)
    if program is None:
        raise InputError(f"{corpus.folder}: expected the link of {name}, got its modules alone")
    reward = RewardText.parse(ALLOCATED)
    if settings.lto:
        linked = merged_program(corpus, program, reward, settings.machines.jobs)
    else:
        linked = linked_program(corpus, program, PIPELINE, reward)
    names = (name,) if settings.lto else program.modules
    engine = Engine(linked.units, settings.machines, settings.deadline)
    study = Study(linked.units, engine, linked.measure, Budget(seconds=settings.seconds))
    teacher = None if settings.teacher == "default" else OnnxDecider(settings.teacher)
    worths = flip_worths(study, settings.rounds, settings.seed, teacher)
    modules = [
        TaughtModule(name, module, "", unit.pipeline, unit.module.bitcode())
        for module, unit in zip(names, linked.units, strict=True)
    ]
    teaching = Teaching(teachers=(settings.teacher,), deadline=settings.deadline, machines=settings.machines)
    for number, taught in enumerate(gather(modules, teaching)):
        if isinstance(taught, Error):
            yield taught
            continue
        own = {call: worth for (unit, call), worth in worths.items() if unit == number}
        yield Taught(taught.module, judged(taught.rows, own), TEACHER, {})


def judged(rows: DecisionRows, worths: Mapping[CallKey, float]) -> DecisionRows:
    """The decisions whose flips were tried, with the better answers and what is between both.

    Args:
        rows: the teacher's decisions in a module, in their order.
        worths: by how many bytes a flip makes the program smaller.
    """
    callers, callees = rows.texts["caller"], rows.texts["callee"]
    counts: Counter[tuple[str, str]] = Counter()
    chosen, found = [], []
    for row, (caller, callee) in enumerate(zip(callers.codes, callees.codes, strict=True)):
        pair = callers.words[caller], callees.words[callee]
        counts[pair] += 1
        if (known := worths.get(CallKey(*pair, counts[pair]))) is not None:
            chosen.append(row)
            found.append(known)
    kept, worth = np.array(chosen, np.int64), np.array(found, np.float32)
    tensors = {key: values[kept] for key, values in rows.tensors.items()}
    advice = rows.schema.advice
    own = tensors[advice.name]
    flipped = (worth > 0).reshape(-1, *[1] * (own.ndim - 1))
    tensors[advice.name] = np.where(flipped, 1 - own, own).astype(advice.numpy_dtype)
    texts = {key: TextColumn(column.words, column.codes[kept]) for key, column in rows.texts.items()}
    return DecisionRows(rows.schema, tensors, texts, np.abs(worth))
