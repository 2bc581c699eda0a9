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
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from passpilot.features.columns import columns_of
from passpilot.plugin.errors import Error, InputError, restated
from passpilot.plugin.files import read_regular
from passpilot.runners.spec import parse_runner_spec
from passpilot.training.data.gather import Taught, TaughtModule, Teaching, gather
from passpilot.training.data.shards import DecisionRows, TextColumn
from passpilot.training.machines.local import ThisMachine
from passpilot.training.tuning.decision_file import CallKey
from passpilot.training.tuning.engine import engine_on
from passpilot.training.tuning.influence import Influence
from passpilot.training.tuning.reward import RewardText
from passpilot.training.tuning.search import Outcome, Search
from passpilot.training.tuning.sizes import estimated_sizes
from passpilot.training.tuning.tuned_program import linked_program
from passpilot.training.tuning.unit import UnitChoice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from passpilot.runners.python import Observation
    from passpilot.training.corpus.layout import Corpus
    from passpilot.training.machines.local import Machines
    from passpilot.training.tuning.search import Call

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
        import onnxruntime

        parsed = parse_runner_spec(spec)
        if parsed.scheme != "onnx" or parsed.options:
            raise InputError(f"--flips: expected the teacher default or onnx:FILE, got {spec}")
        try:
            data = read_regular(parsed.target)
        except OSError as error:
            raise InputError(f"{parsed.target}: expected a model, got: {error.strerror}") from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # so that children may fork
        self._session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        self._input = self._session.get_inputs()[0].name
        self._names = columns_of(onnx.load_from_string(data)).get(self._input, ())
        if not self._names:
            raise InputError(f"{parsed.target}: expected a model that names its columns, got another one")

    def __call__(self, obs: Observation) -> bool:
        """Whether to inline."""
        default = {"inlining_default": int(obs.default())} if "inlining_default" in self._names else {}
        row = [default[name] if name in default else obs[name].item() for name in self._names]
        (made,) = self._session.run(None, {self._input: np.array([row], np.float32)})
        return bool(made[0, 0] >= 0.5)


@dataclass(frozen=True, slots=True)
class FlipSettings:
    """How flips are tried.

    Attributes:
        rounds: compilations of a program, after that with LLVM's own decisions.
        seconds: the time for a program, after which no more compilation begins.
        estimate: whether the sum over objects counts, of functions with copies the first one, and not the
            linked program.
        seed: of the order of flips.
        teacher: whose decisions are flipped: LLVM's (``default``), or those of ``onnx:FILE``.
        deadline: the seconds that one compilation may take.
        machines: what compiles.
    """

    rounds: int
    seconds: float = float("inf")
    estimate: bool = False
    seed: int = 0
    teacher: str = "default"
    deadline: float = 600.0
    machines: Machines = field(default_factory=ThisMachine)


class FlipTrials(Search):
    """Flips decisions in a teacher's compilation of a program, and keeps none."""

    teacher: Callable[[Observation], bool] | None = None
    """Decides first; None for LLVM."""

    def _first(self) -> Outcome:
        choice = UnitChoice(policy=self.teacher)
        made = self.engine.compile([(number, choice) for number in range(len(self.units))])
        compiled = []
        for each in made:
            if isinstance(each, Error):
                raise each
            compiled.append(each)
        return Outcome(compiled, self.measure(compiled))

    def worths(self, rounds: int) -> dict[Call, float]:
        """By how many bytes the flip of a callee makes the program smaller, divided by its calls.

        Raises:
            Error: the program does not compile with the teacher's decisions, or does not link.
        """
        self._began, self._spent = time.monotonic(), 0
        self._random = random.Random(self.seed)
        self._visible = [unit.visible for unit in self.units]
        self._best = self._first()
        decided, before = self._decided(), self._best.sizes.functions
        influence = Influence(self._inlined(decided))
        todo = self._groups()
        found: dict[Call, float] = {}
        for _ in range(rounds):
            used: set[str] = set()
            batch: list[tuple[list[Call], set[str]]] = []
            rest: list[list[Call]] = []
            for calls in todo:
                changed = set[str]().union(*(influence.of(self.edge(*call)) for call in calls))
                if used.isdisjoint(changed):
                    used |= changed
                    batch.append((calls, changed))
                else:
                    rest.append(calls)
            todo = rest
            if not batch or not self._left():
                break
            whole = [call for calls, _ in batch for call in calls]
            for outcome in self._compiled([self._flipped(decided, whole)]):
                after = outcome.sizes.functions if outcome else {}
                for calls, changed in batch if outcome else ():
                    saved = sum(before.get(name, 0) - after.get(name, 0) for name in changed)
                    found.update(dict.fromkeys(calls, saved / len(calls)))
        return found

    def _groups(self) -> list[list[Call]]:
        """The calls of every callee that the teacher decides alike, in random order."""
        groups: dict[tuple[str, bool], list[Call]] = {}
        for number, call in sorted(self._worthwhile()):
            key = self.edge(number, call).callee, self._best.made[number].asked[call].inlined
            groups.setdefault(key, []).append((number, call))
        made = list(groups.values())
        self._random.shuffle(made)
        return made


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
    program = next((each for each in corpus.programs if each.name == name), None)
    if program is None:
        raise InputError(f"{corpus.folder}: expected the link of {name}, got its modules alone")
    made = linked_program(corpus, program, PIPELINE, RewardText.parse("text"))
    trials = FlipTrials(
        made.units,
        engine_on(settings.machines, made.units, settings.deadline),
        estimated_sizes if settings.estimate else made.measure,
        settings.seed,
        settings.seconds,
    )
    if settings.teacher != "default":
        trials.teacher = OnnxDecider(settings.teacher)
    worths = trials.worths(settings.rounds)
    modules = [
        TaughtModule(name, each, str(corpus.units[each].bitcode), PIPELINE) for each in program.modules
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
