# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`check_runner`: tests that a runner keeps the contract of `passpilot.runners.base`. For authors of runners.

def test_my_runner():
    check_runner("mine:model.bin")
"""

from __future__ import annotations

import contextlib
import inspect
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from passpilot.features.domain import Choice, Flag, Number
from passpilot.features.point import Point, find_point
from passpilot.features.spec import TensorSpec, layout
from passpilot.plugin.errors import AdviceError, ConformanceError, SpecMismatchError
from passpilot.plugin.failures import describe_exception
from passpilot.runners.base import Frame, Host, Runner, Tensor, tensor_views
from passpilot.runners.spec import RunnerLike, make_runner

Values = Mapping[str, NDArray[np.generic] | int | float]

_CONTEXTS: Final = ("", "module.c", "naïve/ünïcode")
_CONTEXT_EVERY: Final = 7
_SEED: Final = 1
_LARGE: Final = 2.0**32
_SOON: Final = 1.0


def check_runner(
    runner: RunnerLike,
    point: str | Point = "inline",
    decisions: int = 100,
    *,
    observations: Iterable[Values] | None = None,
    host: Host | None = None,
    timeout: float = 10.0,
) -> None:
    """Ask a runner `decisions` questions and check that it keeps the rules of the contract.

    `runner` is a runner spec, a decision function, or a function without arguments that makes a runner;
    several runners are made, and must answer alike. A runner object is checked less thoroughly, and closed.
    `observations` are the questions as tensors by name; the default is random questions.

    Raises:
        ConformanceError: lists every broken rule.
    """
    decision_point = find_point(point) if isinstance(point, str) else point
    questions = list(observations) if observations is not None else _made_up(decision_point, decisions)
    check = _Conformance(decision_point, questions[:decisions], host)
    make = _maker(runner, decision_point, timeout)
    try:
        first = check.run(make())
        if not isinstance(runner, Runner):
            check.unused(make())
            check.again(first, make)
            if first is not None and not check.broken:
                check.together(first.answers, make())
    except Exception as error:  # noqa: BLE001  (reported as a broken rule)
        check.broken.append(f"it can be made: {describe_exception(error)}")
    if check.broken:
        name = runner if isinstance(runner, str) else getattr(runner, "__qualname__", type(runner).__name__)
        rules = "".join(f"\n  - {rule}" for rule in dict.fromkeys(check.broken))
        msg = f"check_runner at {name}: expected a runner that keeps the contract, got broken rules:{rules}"
        raise ConformanceError(msg)


def _maker(runner: RunnerLike, point: Point, timeout: float) -> Callable[[], object]:
    if isinstance(runner, Runner):
        return lambda: runner
    if callable(runner) and _takes_nothing(runner):
        try:
            candidate = runner()
        except Exception:  # noqa: BLE001  (the check makes it again and reports this)
            return runner
        if isinstance(candidate, Runner):
            with contextlib.suppress(Exception):  # the check closes it again and reports this
                candidate.close()
            return runner
    return lambda: make_runner(runner, point, timeout=timeout)


def _takes_nothing(function: Callable[..., object]) -> bool:
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError):
        return False
    return not getattr(function, "passpilot_policy_factory", False)


def _made_up(point: Point, count: int) -> list[Values]:
    """Questions of small numbers with a legal default; the first has zeros and allows every choice."""
    generator = np.random.default_rng(_SEED)
    made_up = (_question(point, generator) for _ in range(count - 1))
    domain, zeros = point.domain, dict[str, int | float]()
    if isinstance(domain, Choice):
        zeros[domain.mask] = 1
    elif isinstance(domain, Number):
        zeros[point.default.name] = min(max(0.0, domain.low), domain.high)
    return [zeros, *made_up]


def _question(point: Point, generator: np.random.Generator) -> Values:
    values: dict[str, NDArray[np.generic] | int | float]
    values = {spec.name: _numbers(spec, generator) for spec in point.features}
    domain = point.domain
    if isinstance(domain, Flag):
        default = float(generator.integers(2))
    elif isinstance(domain, Choice):
        default = float(generator.integers(domain.count))
        legal = generator.integers(0, 2, domain.count)
        legal[int(default)] = 1
        values[domain.mask] = legal
    else:
        default = min(max(generator.uniform(-_LARGE, _LARGE), domain.low), domain.high)
    return {**values, point.default.name: default}


def _numbers(spec: TensorSpec, generator: np.random.Generator) -> NDArray[np.generic]:
    if spec.dtype.startswith("float"):
        return generator.normal(0, 100, spec.shape).astype(spec.numpy_dtype)
    low = 0 if spec.dtype.startswith("u") else -100
    return generator.integers(low, 101, spec.shape).astype(spec.numpy_dtype)


@dataclass(slots=True)
class _Trace:
    """The results of one run, which a second run must repeat."""

    inputs: object
    output: object
    answers: list[int | float]


@dataclass(slots=True)
class _Conformance:
    point: Point
    questions: list[Values]
    host: Host | None
    broken: list[str] = field(default_factory=list)

    def expect(self, holds: bool, rule: str) -> bool:
        if not holds:
            self.broken.append(rule)
        return holds

    def run(self, runner: object) -> _Trace | None:
        """Use a runner from `__enter__` to `close`; None if it cannot be asked at all."""
        if not isinstance(runner, Runner):
            self.broken.append(f"it is a passpilot.Runner: got {type(runner).__name__}")
            return None
        if not self._specs(runner):
            self._close(runner)
            return None
        trace = _Trace(runner.inputs, runner.output, [])
        entered = self._guarded("__enter__", runner.__enter__)
        self.expect(entered is runner, "`with runner` gives the runner itself")
        frame = np.zeros(layout(runner.inputs)[1], np.uint8)
        self._ask(runner, frame, trace)
        unchanged = runner.inputs == trace.inputs and runner.output == trace.output
        self.expect(unchanged, "inputs and output stay the same for the runner's life")
        self._close(runner)
        return trace

    def unused(self, runner: object) -> None:
        """Check that a runner can be closed that was never bound or asked."""
        if isinstance(runner, Runner):
            self._close(runner)

    def again(self, first: _Trace | None, make: Callable[[], object]) -> None:
        """Check that a second runner does the same as the first, and leaves no descriptors or threads."""
        before = _resources()
        second = self.run(make())
        after = _settled(before)
        rule = f"close() lets go of descriptors and threads: {dict(before)} became {dict(after)}"
        self.expect(not after - before, rule)
        if first is None or second is None:
            return
        same = (first.inputs, first.output) == (second.inputs, second.output)
        self.expect(same, "two runners made alike have the same inputs and output")
        pairs = enumerate(zip(first.answers, second.answers, strict=False))
        differ = next((number for number, (a, b) in pairs if a != b), None)
        self.expect(differ is None, f"two runners made alike answer alike: they differ at decision {differ}")

    def together(self, expected: list[int | float], runner: object) -> None:
        """Check that an overridden `evaluate_batch`, asked once per context, answers like `evaluate`."""
        if not isinstance(runner, Runner) or type(runner).evaluate_batch is Runner.evaluate_batch:
            return
        frame = np.zeros(layout(runner.inputs)[1], np.uint8)
        tensors = tensor_views(runner.inputs, frame)
        answers: list[int | float] = []
        with runner:
            runner.bind(tensors, frame, self.host)
            try:
                for start in range(0, len(expected), _CONTEXT_EVERY):
                    self._set_context(runner, start)
                    answers += self._batch(runner, frame, tensors, slice(start, start + _CONTEXT_EVERY))
            except Exception as error:  # noqa: BLE001  (reported as a broken rule)
                self.broken.append(f"evaluate_batch() answers: {describe_exception(error)}")
                return
        self.expect(answers == expected, "evaluate_batch() answers as evaluate() does, one by one")

    def _batch(
        self, runner: Runner, frame: Frame, tensors: Mapping[str, Tensor], part: slice
    ) -> list[int | float]:
        frames = []
        for values in self.questions[part]:
            self._fill(tensors, values)
            frames.append(frame.copy())
        answers = runner.evaluate_batch(np.stack(frames))
        pairs = zip(answers, self.questions[part], strict=True)
        return [self.point.domain.accept(answer, self._mask(values)) for answer, values in pairs]

    def _fill(self, tensors: Mapping[str, Tensor], values: Values) -> None:
        for name, view in tensors.items():
            view[...] = values.get(name, 0)

    def _set_context(self, runner: Runner, number: int) -> None:
        runner.switch_context(_CONTEXTS[number // _CONTEXT_EVERY % len(_CONTEXTS)])

    def _specs(self, runner: Runner) -> bool:
        inputs: object = getattr(runner, "inputs", None)
        specs = isinstance(inputs, tuple) and all(isinstance(spec, TensorSpec) for spec in inputs)
        if not self.expect(specs, f"inputs is a tuple of TensorSpec: got {inputs!r}"):
            return False
        names = [spec.name for spec in runner.inputs]
        self.expect(len(set(names)) == len(names), f"inputs have distinct names: got {', '.join(names)}")
        try:
            self.point.check(runner.inputs)
        except SpecMismatchError as error:
            self.broken.append(f"inputs are offered: {error}")
            return False
        wanted, output = self.point.advice, getattr(runner, "output", None)
        fits = isinstance(output, TensorSpec) and str(output) == str(wanted)
        got = f"{output}" if isinstance(output, TensorSpec) else repr(output)
        return self.expect(fits, f"output is the advice, {wanted}: got {got}") and len(set(names)) == len(
            names
        )

    def _ask(self, runner: Runner, frame: Frame, trace: _Trace) -> None:
        tensors = tensor_views(runner.inputs, frame)
        self._guarded("bind", lambda: runner.bind(tensors, frame, self.host))
        bound = all(_same_memory(runner.tensors.get(name), view) for name, view in tensors.items())
        self.expect(bound, "bind() keeps the buffers that it is given, as tensors")
        kept = True
        for number, values in enumerate(self.questions):
            self._fill(tensors, values)
            before = frame.tobytes()
            if number % _CONTEXT_EVERY == 0:
                self._guarded("switch_context", partial(self._set_context, runner, number))
            if not self._answer(runner, number, values, trace):
                return
            if kept and frame.tobytes() != before:
                kept = self.expect(False, f"inputs stay unchanged: not at decision {number}")

    def _answer(self, runner: Runner, number: int, values: Values, trace: _Trace) -> bool:
        try:
            trace.answers.append(self.point.domain.accept(runner.evaluate(), self._mask(values)))
        except AdviceError as error:
            return self.expect(False, f"evaluate() answers within the domain: at decision {number}, {error}")
        except Exception as error:  # noqa: BLE001  (reported as a broken rule)
            return self.expect(
                False, f"evaluate() answers: at decision {number}, {describe_exception(error)}"
            )
        return True

    def _mask(self, values: Values) -> dict[str, NDArray[np.generic]]:
        """The mask of a question, whether or not the runner reads it."""
        domain = self.point.domain
        if not isinstance(domain, Choice) or domain.mask not in values:
            return {}
        mask = np.asarray(values[domain.mask]).reshape(-1)
        return {domain.mask: np.broadcast_to(mask, (domain.count,))}

    def _close(self, runner: Runner) -> None:
        before = len(self.broken)
        self._guarded("__exit__", partial(runner.__exit__, None, None, None))
        if len(self.broken) == before:
            self._guarded("close, a second time,", runner.close)

    def _guarded(self, what: str, call: Callable[[], object]) -> object:
        try:
            return call()
        except Exception as error:  # noqa: BLE001  (reported as a broken rule)
            self.broken.append(f"{what} does not raise: {describe_exception(error)}")
            return None


def _same_memory(bound: object, given: Tensor) -> bool:
    return (
        isinstance(bound, np.ndarray)
        and bound.ctypes.data == given.ctypes.data
        and bound.shape == given.shape
    )


def _settled(before: Counter[str]) -> Counter[str]:
    """The resources held once they are down to `before`, or after `_SOON` s: some libraries close late."""
    end = time.monotonic() + _SOON
    while (held := _resources()) - before and time.monotonic() < end:
        time.sleep(0.01)
    return held


def _resources() -> Counter[str]:
    """The number of threads and, where the system shows them, of open descriptors."""
    descriptors = Path("/proc/self/fd")
    counts = Counter(threads=threading.active_count())
    if descriptors.exists():
        counts["descriptors"] = len(list(descriptors.iterdir()))
    return counts
