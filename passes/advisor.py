# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Advisor`: connects one decision point to one runner, for one compilation at a time.

It owns the runner, the custom features in use, the log and the error policy.
`passes/decision_counts.py` counts its decisions.
`passes/llvm_advisors.py` has the classes for LLVM's own points.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final, Literal, Self

from passpilot.features.catalogue import HOOKED
from passpilot.features.custom import registered
from passpilot.features.log.existing import is_other_file
from passpilot.features.point import Point, find_point
from passpilot.passes.decision_counts import DecisionCounts, Stats, words_of
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
from passpilot.plugin.failures import describe_failure, shown
from passpilot.plugin.files import OutputFile
from passpilot.plugin.origin import warn_user
from passpilot.plugin.process_end import is_interrupt
from passpilot.plugin.version import MAJOR
from passpilot.runners.base import Runner, own_features
from passpilot.runners.native import NativeRunner, core_point, core_spec, spec_of
from passpilot.runners.plurals import count_line, counted
from passpilot.runners.remote.peer import RemoteRunner, make_runner_or_absent

if TYPE_CHECKING:
    from passpilot.runners.spec import RunnerLike

    Lent = tuple[Mapping[str, float], bool]
    """What an advisor sends from a child process: its counts, and whether it has written its log."""

OnError = Literal["fail", "default"]

_RAISED: Final = {FailureKind.FEATURE: FeatureError, FailureKind.DEFAULT: PassError}


class Advisor:
    """Lets a runner decide at one decision point; `passpilot.advisor` makes the advisor of any point.

    Args:
        runner: a Python policy, a runner spec such as ``onnx:model.onnx``, or a `Runner`.
        log: path of the decision log to write; each compilation needs its own log.
        on_error: what happens when the runner fails: ``fail`` ends the compilation with its error; with
            ``default`` the compiler's own heuristic decides, and the fallback is counted and reported.
        timeout: the most seconds to wait for an answer of another process.

    Attributes:
        name: the runner, as reports show it.
        runner: the runner that was made.

    Raises:
        RunnerError: the runner cannot be made, or does not fit the decision point.
    """

    point: str
    """The name of the decision point."""

    may_idle: bool = False
    """Whether to skip the warning that a compilation never asked the runner."""

    cause: str = ""
    """Why the module at hand may ask nobody, as `passpilot.passes.unasked` says it; empty if unknown."""

    _limit: float = 0.0
    """The point's limit, which the core enforces; 0 for none."""

    def __init__(
        self,
        runner: RunnerLike,
        *,
        log: str | None = None,
        on_error: OnError = "fail",
        timeout: float = 10.0,
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
        point = find_point(self.point)
        self.name = (
            shown(runner) if isinstance(runner, str) else getattr(runner, "__name__", type(runner).__name__)
        )
        self._by = f" ({self.name})" if isinstance(runner, str) else ""
        """The end of errors about answers."""
        self.runner = make_runner_or_absent(
            runner, point, timeout=timeout, default_on_error=on_error == "default"
        )
        if runner != "default" or log is not None:  # else LLVM runs without an advisor
            self._core = self._connect(point, on_error)
        self._counts = DecisionCounts(self._core)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.point} {self.name}>"

    def _check_table(self, point: Point) -> None:
        """Check that the installed LLVM computes the features of our table, at one of its own points."""
        if self.point not in HOOKED:
            return
        computed = _core.point(self.point)
        llvms = list(map(spec_of, (*computed.features, computed.default, computed.advice)))
        ours = [*own_features(point), point.default, point.advice]
        if llvms != ours:
            names = ", ".join(spec.name for spec in set(llvms) ^ set(ours)) or "another order"
            msg = f"{self._who}: expected the features of LLVM {MAJOR} (`passpilot features`), got others: "
            raise SpecMismatchError(f"{msg}{names}; use the LLVM that passpilot was built with")

    def _connect(self, point: Point, on_error: OnError) -> _core.Advisor:
        self._check_table(point)
        runner = self.runner
        wanted = {spec.name for spec in runner.inputs}
        custom = [
            feature
            for name, feature in registered(self.point).items()
            if name in wanted or self._log is not None
        ]
        # The core clears what stands behind a feature that fails, which those in Python must know of.
        custom.sort(key=lambda feature: feature.native is not None)
        if runner.advised:
            raise RunnerSpecError(f"runner {self.name}: already used by another advisor; make a new one")
        runner.advised = True
        host = CompilerHost(point, self._site_reader(), tracked=self.point in HOOKED)
        core = _core.Advisor(
            core_point(point),
            runner.core if isinstance(runner, NativeRunner) else None,
            [core_spec(spec) for spec in runner.inputs],
            [(core_spec(feature.spec), feature.native or host.filler(feature)) for feature in custom],
            on_error == "default",
            0.0 if self.point == "inline" and not runner.budgeted else self._limit,
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

    def _site_reader(self) -> Callable[[_core.Advisor], object]:
        """What makes the site of the present decision; it must not refer to this advisor."""
        return _core.current_site

    @property
    def stats(self) -> Stats:
        """The counts so far."""
        return self._counts.stats()

    @property
    def asks(self) -> bool:
        """Whether there is a runner to ask or a log to write; else LLVM runs without an advisor."""
        return self._core is not None

    def report(self) -> str:
        """The counts as text, as `--stats` prints them."""
        if self._core is None:
            return f"{self._who} {self.name}: {words_of(self.point).nobody}; nothing was asked"
        stats = self.stats
        lines = [count_line(getattr(stats, name), label) for name, label in words_of(self.point).rows.items()]
        lines.append(f"{stats.microseconds_per_decision:10.2f} microseconds per decision")
        return "\n".join([f"{self._who} {self.name}:", *lines])

    def check_target(self, triple: str) -> None:
        """Make sure that the runner is for modules of a target; used by `optimize` and `emit`.

        Raises:
            RunnerSpecError: its policy is not.
        """
        policy = self.runner.named_by
        if policy is not None and (refusal := policy.refusal(triple)):
            raise RunnerSpecError(refusal)

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
        self._counts.begin()
        return self._core

    def _reserve(self) -> None:
        if not self._in_use.acquire(blocking=False):
            raise InputError(f"{self._who}: another compilation is using it; make an advisor for each thread")

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
            raise InputError(
                f"{self._who}: the runner {self.name} asks another process, which an isolated compilation "
                "cannot do; compile without isolated=True"
            )
        self._reserve()

    def arrive(self) -> None:
        """In the child process: get ready for `start`."""
        self._in_use.release()

    def tell(self) -> Lent:
        """In the child process, at the end: what `take_back` gets."""
        return self._counts.all(), self._logged

    def take_back(self, sent: Lent | None) -> None:
        """Get the advisor back from the child process; None if that died."""
        if sent is not None:
            counts, self._logged = sent
            self._counts.learn(counts)
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
            raise LogError(
                f"decision log {self._log}: an earlier compilation has written it; make a new advisor"
            )
        try:
            file = OutputFile(self._log)
        except InputError as error:
            msg = f"decision log {error}"
            raise LogError(msg) from error
        if is_other_file(file.target):
            file.discard()
            raise LogError(
                f"decision log {self._log}: expected a file to write, got: another file that is no log"
            )
        self._log_file = file
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
        decisions = self._counts.new("decisions")
        if decisions == 0 and not self.may_idle:
            unasked = self.cause or words_of(self.point).unasked
            yield f"{self._who}: runner {self.name} was never asked: {unasked}"
        if (count := self._counts.new("fallbacks")) > 0:
            first = core.first_fallback
            why = f"the first: {self._error_of(first)}" if first else "the runner had failed for good before"
            yield f"{self._who}: {count} of {counted(decisions, 'decision')} fell back to the default; {why}"
        if (count := self._counts.new("budget_hits")) > 0:
            yield (
                f"{self._who}: {count} of {counted(decisions, 'decision')} went to the default, because the "
                f"module had grown over {self._limit:g} times its size; --size-budget (size_budget=) sets "
                "the limit"
            )

    def _error_of(self, failure: _core.Failure) -> BaseException:
        kind, text, where, exception = failure.kind, failure.text, failure.where, failure.exception
        if kind == FailureKind.INTERRUPT and (exception is None or is_interrupt(exception)):
            return exception or KeyboardInterrupt()
        who = f"{self._who} at {where}"
        if exception is not None:
            message = f"{who}: {describe_failure(exception)}"
            if isinstance(exception, Error):
                return restated(exception, message)
            raised = _RAISED.get(kind, PolicyError)(message)
            raised.__cause__ = exception
            return raised
        if kind in _RAISED:
            return _RAISED[kind](f"{who}: {text}")
        if kind == FailureKind.LOG:
            return LogError(f"decision log {self._log} at {where}: expected to write it, got: {text}")
        if kind == FailureKind.ADVICE:
            return AdviceError(f"{who}: {text}; {words_of(self.point).hint}{self._by}")
        return ModelError(f"{who}: {text}")


def advisor(
    point: str,
    runner: RunnerLike,
    *,
    log: str | None = None,
    on_error: OnError = "fail",
    timeout: float = 10.0,
    **limit: float,
) -> Advisor:
    """Make the advisor of any decision point: ``passpilot.advisor("evict", decide)``.

    Args:
        point: the name of the decision point, as `passpilot features` lists it.
        runner: as in `Advisor`.
        log: as in `Advisor`.
        on_error: as in `Advisor`.
        timeout: as in `Advisor`.
        limit: the limit of the point, if it has one: `size_budget` of inline, `eviction_limit` of evict.

    Raises:
        UsageError: no decision point has this name.
        RunnerError: the runner cannot be made, or does not fit the decision point.
    """
    options = {"log": log, "on_error": on_error, "timeout": timeout, **limit}
    if row := HOOKED.get(point):
        kind = getattr(import_module("passpilot.passes.llvm_advisors"), row.advisor)
        result: Advisor = kind(runner, **options)
        return result
    from passpilot.passes.point_advisor import PointAdvisor

    return PointAdvisor(point, runner, **options)  # type: ignore[arg-type]


def _evaluate_batch(runner: Runner, frames: bytes, count: int) -> Sequence[object]:
    """The advice on `count` decisions; `frames` has their inputs, one frame after the other."""
    import numpy as np

    return runner.evaluate_batch(np.ndarray((count, runner.frame.size), np.uint8, frames))
