# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Advisor`: connects one decision point to one runner, for one compilation at a time.

It owns the runner, the custom features in use, the log, the error policy and the counts. The advisors of
LLVM's decision points, such as `passes/inline.py`, add their own limits and counts.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from passpilot.features.catalogue import HOOKED
from passpilot.features.custom import registered
from passpilot.features.point import find_point
from passpilot.passes.host import CompilerHost
from passpilot.plugin import _core
from passpilot.plugin._core import FailureKind
from passpilot.plugin.errors import (
    AdviceError,
    Error,
    FeatureError,
    InputError,
    LogError,
    ModelError,
    PassError,
    PolicyError,
    RunnerSpecError,
    SpecMismatchError,
    UsageError,
    restated,
)
from passpilot.plugin.failures import describe_failure
from passpilot.plugin.files import OutputFile
from passpilot.plugin.origin import warn_user
from passpilot.plugin.version import MAJOR
from passpilot.runners.base import Runner, own_features
from passpilot.runners.native import NativeRunner, core_point, core_spec, spec_of
from passpilot.runners.plurals import count_line
from passpilot.runners.remote.absent import make_runner_or_absent
from passpilot.runners.remote.peer import RemoteRunner
from passpilot.runners.spec import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Self

    from passpilot.features.point import Point
    from passpilot.runners.spec import RunnerLike

OnError = Literal["fail", "default"]

_RAISED: Final = {FailureKind.FEATURE: FeatureError, FailureKind.DEFAULT: PassError}
_COUNTS: Final = ("asked", "accepted", "agreed", "fallbacks", "not_askable", "budget_hits")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The counts of an advisor so far.

    `seconds` covers the runner, the custom features and the log, but not LLVM's feature extraction and its
    default decision.
    """

    decisions: int
    """All decisions: by the runner, by fallback, or by the default over a limit."""
    fallbacks: int
    """Decisions by LLVM's default because the runner failed (`on_error="default"`)."""
    not_askable: int
    """Decisions by LLVM's default where LLVM computes no features; not in `decisions`."""
    seconds: float
    """The total time of asking."""

    @property
    def microseconds_per_decision(self) -> float:
        """The mean time of one decision; 0 without decisions."""
        return 1e6 * self.seconds / self.decisions if self.decisions else 0.0


@dataclass(frozen=True, slots=True)
class _LentCounts:
    """What an advisor learns from a compilation in a child process."""

    counts: Mapping[str, float]
    logged: bool


class Advisor(ABC):
    """Lets a runner decide for the compiler at one decision point.

    Args:
        runner: a Python policy, a runner spec such as ``onnx:model.onnx``, or a `Runner`.
        log: path of the decision log to write; each compilation needs its own log.
        on_error: what happens when the runner fails: ``fail`` ends the compilation with its error; with
            ``default`` LLVM's own heuristic decides, and the fallback is counted and reported.
        timeout: the most seconds to wait for an answer of another process.
        limit: the point's limit, which the core enforces; 0 for none.

    Raises:
        RunnerError: the runner cannot be made, or does not fit the decision point.
    """

    point: str
    """The name of the decision point."""

    _hint: str
    """The advice that error messages about a wrong answer end with."""

    _nobody: str
    """What decides without a runner, in the words of `--stats`."""

    _unasked: str
    """Why the runner may never be asked, for the warning."""

    _batched: ClassVar[bool] = False
    """Whether the core writes whole frames into the buffers, as for `ask_all`."""

    may_idle: bool = False
    """Whether to skip the warning that a compilation never asked the runner."""

    def __init__(
        self,
        runner: RunnerLike,
        *,
        log: str | None,
        on_error: OnError,
        timeout: float,
        limit: float,
    ) -> None:
        self._who = f"{self.point} advisor"
        if on_error not in ("fail", "default"):
            msg = f"{self._who}: expected on_error 'fail' or 'default', got {on_error!r}"
            raise UsageError(msg)
        self._log = log
        self._log_file: OutputFile | None = None
        self._logged = False
        self._core: _core.Advisor | None = None
        self._in_use = threading.Lock()
        self._elsewhere: Mapping[str, float] = {}  # the counts of compilations in child processes
        point = find_point(self.point)
        self.name = (
            shown(runner) if isinstance(runner, str) else getattr(runner, "__name__", type(runner).__name__)
        )
        self.runner = make_runner_or_absent(
            runner, point, timeout=timeout, default_on_error=on_error == "default"
        )
        if runner != "default" or log is not None:  # else LLVM runs without an advisor
            self._core = self._connect(point, on_error, limit)
        self._before = self._counts()

    def _check_table(self, point: Point) -> None:
        """Check that the installed LLVM computes the features of our table."""
        computed = _core.point(self.point)
        llvms = list(map(spec_of, (*computed.features, computed.default, computed.advice)))
        ours = [*own_features(point), point.default, point.advice]
        if llvms != ours:
            names = ", ".join(spec.name for spec in set(llvms) ^ set(ours)) or "another order"
            msg = f"{self._who}: expected the features of LLVM {MAJOR} (`passpilot features`), got others: "
            raise SpecMismatchError(f"{msg}{names}; use the LLVM that passpilot was built with")

    def _connect(self, point: Point, on_error: OnError, limit: float) -> _core.Advisor:
        self._check_table(point)
        runner = self.runner
        wanted = {spec.name for spec in runner.inputs}
        custom = [
            feature
            for name, feature in registered(self.point).items()
            if name in wanted or self._log is not None
        ]
        if runner.advised:
            msg = f"runner {self.name}: expected one of its own for the advisor, got one that another has"
            raise RunnerSpecError(msg)
        runner.advised = True
        host = CompilerHost(point, self._site_of, tracked=not self._batched)
        core = _core.Advisor(
            core_point(point),
            runner.core if isinstance(runner, NativeRunner) else None,
            [core_spec(spec) for spec in runner.inputs],
            [(core_spec(feature.spec), host.filler(feature)) for feature in custom],
            on_error == "default",
            self._limit_of(limit),
            self._log is not None,
        )
        host.connect(core)
        if custom or not isinstance(runner, NativeRunner):
            host.views, host.buffers = core.views(False), core.views(True)
        if not isinstance(runner, NativeRunner):
            runner.bind({spec.name: host.views[spec.name] for spec in runner.inputs}, core.frame(), host)
            several = type(runner).evaluate_batch is not Runner.evaluate_batch
            core.set_python(
                runner.evaluate,
                runner.switch_context,
                partial(_evaluate_batch, runner) if several else None,
                type(runner).switch_context is Runner.switch_context,
            )
        return core

    @staticmethod
    def _site_of(core: _core.Advisor) -> object:
        """The site of the present decision."""
        return _core.current_site(core)

    def _limit_of(self, limit: float) -> float:
        """The limit that the core enforces for this runner."""
        return limit

    @abstractmethod
    def _rows(self) -> list[tuple[int, str]]:
        """The counts with their labels, for `report`."""

    def _counts(self) -> dict[str, int]:
        """The core's counts, and their sum ``decisions``; all 0 without a core."""
        counts = {name: int(self._count(name)) for name in _COUNTS}
        return {**counts, "decisions": sum(counts[name] for name in ("asked", "fallbacks", "budget_hits"))}

    def _count(self, name: str) -> float:
        """One of the core's counts, with those of child processes; 0 without a core."""
        return (self._core.counts[name] if self._core else 0) + self._elsewhere.get(name, 0)

    def _new_counts(self) -> dict[str, int]:
        """The counts of the present compilation."""
        return {name: count - self._before[name] for name, count in self._counts().items()}

    @property
    def _seconds(self) -> float:
        return self._count("ask_seconds")

    @property
    @abstractmethod
    def stats(self) -> Stats:
        """The counts so far."""

    @property
    def asks(self) -> bool:
        """Whether there is a runner to ask or a log to write; else LLVM runs without an advisor."""
        return self._core is not None

    def report(self) -> str:
        """The counts as text, as `--stats` prints them."""
        if self._core is None:
            return f"{self._who} {self.name}: {self._nobody}; nothing was asked"
        lines = [count_line(count, what) for count, what in self._rows()]
        lines.append(f"{self.stats.microseconds_per_decision:10.2f} microseconds per decision")
        return "\n".join([f"{self._who} {self.name}:", *lines])

    def check_target(self, triple: str) -> None:
        """Make sure that the runner is for modules of a target; used by `optimize` and `emit`.

        Raises:
            RunnerSpecError: its policy is not.
        """
        policy = self.runner.named_by
        if policy is not None and (told := policy.refusal(triple)):
            raise RunnerSpecError(told)

    def start(self) -> _core.Advisor | None:
        """Get ready for one compilation; used by `optimize` and `emit`.

        Returns:
            The core's advisor, or None if LLVM runs without one.

        Raises:
            InputError: the advisor is in use by another compilation.
            LogError: the log cannot be opened, or an earlier compilation has written it.
        """
        if self._core is None:
            return None
        self._reserve()
        try:
            self._open_log(self._core)
        except BaseException:
            self._in_use.release()
            raise
        self._before = self._counts()
        return self._core

    def _reserve(self) -> None:
        if not self._in_use.acquire(blocking=False):
            raise InputError(
                f"{self._who}: expected it to be free, got one in use by another compilation; "
                "give each thread its own"
            )

    def finish(self, error: BaseException | None) -> None:
        """End one compilation; used by `optimize` and `emit`.

        Raises:
            Error: the advisor's failure, if it ended the compilation.
        """
        core = self._core
        if core is None:
            return
        failure = core.failure
        good = error is None and failure is None
        try:
            self._close_log(core, keep=good)
        except LogError as lost:
            if good:
                raise LogError(f"decision log {self._log}: expected to write it, got: {lost}") from None
        finally:
            self._in_use.release()
        if failure is not None and error is None:
            raise self._error_of(failure)
        if error is None:
            for text in self._complaints(core):
                warn_user(text)

    def lend(self) -> None:
        """Reserve the advisor for a compilation in a child process; this process then calls `take_back`.

        Raises:
            InputError: it is in use, or another process answers for its runner.
        """
        if isinstance(self.runner, RemoteRunner):
            told = (
                "expected a runner in this process to be asked by an isolated compilation, got one that asks"
            )
            raise InputError(f"{self._who}: {told} another, {self.name}; compile without isolated=True")
        self._reserve()

    def arrive(self) -> None:
        """In the child process: get ready for `start`."""
        self._in_use.release()

    def tell(self) -> _LentCounts:
        """In the child process, at the end: what `take_back` gets."""
        return _LentCounts({name: self._count(name) for name in (*_COUNTS, "ask_seconds")}, self._logged)

    def take_back(self, told: object) -> None:
        """Get the advisor back from the child process; None if that died."""
        if isinstance(told, _LentCounts):
            self._logged = told.logged
            before = {name: self._count(name) - self._elsewhere.get(name, 0) for name in told.counts}
            self._elsewhere = {name: count - before[name] for name, count in told.counts.items()}
        self._in_use.release()

    def close(self) -> None:
        """Close the runner. Idempotent."""
        self.runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open_log(self, core: _core.Advisor) -> None:
        if self._log is None:
            return
        if self._logged:
            msg = f"decision log {self._log}: expected one compilation per log, got a second; "
            raise LogError(f"{msg}use a new advisor")
        try:
            self._log_file = OutputFile(self._log)
        except InputError as error:
            msg = f"decision log {error}"
            raise LogError(msg) from error
        core.open_log(self._log_file.release())

    def _close_log(self, core: _core.Advisor, *, keep: bool) -> None:
        file, self._log_file = self._log_file, None
        if file is None:
            return
        try:
            core.close_log()
        except LogError:
            file.discard()
            raise
        if keep:
            file.commit()
            self._logged = True
        else:
            file.discard()

    def _complaints(self, core: _core.Advisor) -> Iterator[str]:
        """The warnings about a compilation that succeeded."""
        if unused := core.unused:
            yield unused
        new = self._new_counts()
        if new["decisions"] == 0 and not self.may_idle:
            yield f"{self._who}: runner {self.name} was never asked: {self._unasked}"
        if (count := new["fallbacks"]) > 0:
            first = core.first_fallback
            why = f"the first: {self._error_of(first)}" if first else "the runner had failed for good before"
            yield f"{self._who}: {count} of {new['decisions']} decisions fell back to the default; {why}"

    def _error_of(self, failure: _core.Failure) -> BaseException:
        kind, text, where, exception = failure.kind, failure.text, failure.where, failure.exception
        if kind == FailureKind.INTERRUPT and not isinstance(exception, SystemExit):
            return exception or KeyboardInterrupt()
        who = f"{self._who} at {where}"
        if exception is not None:
            told = f"{who}: {describe_failure(exception)}"
            if isinstance(exception, Error):
                return restated(exception, told)
            raised = _RAISED.get(kind, PolicyError)(told)
            raised.__cause__ = exception
            return raised
        if kind == FailureKind.DEFAULT:
            return PassError(f"{who}: {text}")
        if kind == FailureKind.LOG:
            return LogError(f"decision log {self._log} at {where}: expected to write it, got: {text}")
        if kind == FailureKind.ADVICE:
            return AdviceError(f"{who}: {text}; {self._hint}")
        return ModelError(f"{who}: {text}")


def make_advisor(
    point: str,
    runner: RunnerLike,
    *,
    log: str | None = None,
    on_error: OnError = "fail",
    timeout: float = 10.0,
    limit: float | None = None,
) -> Advisor:
    """Create the advisor of any decision point; `limit` is that of the point's row in the catalogue.

    Raises:
        UsageError: no decision point has this name.
        RunnerError: the runner cannot be created, or does not fit the decision point.
    """
    row = HOOKED.get(point)
    if row is None:
        from passpilot.passes.point_advisor import PointAdvisor

        return PointAdvisor(point, runner, log=log, on_error=on_error, timeout=timeout)
    limits: dict[str, float] = {}
    if row.limit and limit is not None:
        limits[row.limit.keyword] = int(limit) if row.limit.whole else limit
    kind = getattr(import_module(f"passpilot.passes.{row.file}"), row.advisor)
    advisor: Advisor = kind(runner, log=log, on_error=on_error, timeout=timeout, **limits)
    return advisor


def _evaluate_batch(runner: Runner, frames: bytes, count: int) -> Sequence[object]:
    """The advice on `count` decisions; `frames` has their inputs, one frame after the other."""
    import numpy as np

    return runner.evaluate_batch(np.ndarray((count, runner.frame.size), np.uint8, frames))
