# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`InlineAdvisor`: asks a runner about each call site that LLVM's inliner could inline.

LLVM's own `MLInlineAdvisor` computes the features, decides what is legal and keeps its books. Call sites that
it would refuse without asking (in unreachable blocks, recursive ones) get LLVM's default decision.
"""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from passpilot.features.custom import registered
from passpilot.features.point import find_point
from passpilot.plugin import _core
from passpilot.plugin.errors import (
    AdviceError,
    Error,
    FeatureError,
    InputError,
    LogError,
    ModelError,
    PasspilotWarning,
    PeerError,
    PolicyError,
    RunnerSpecError,
    UsageError,
    restated,
)
from passpilot.plugin.files import OutputFile
from passpilot.runners.base import Runner
from passpilot.runners.native import NativeRunner, row_of
from passpilot.runners.spec import make_runner

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from passpilot.features.custom import CustomFeature
    from passpilot.features.point import Point
    from passpilot.features.spec import TensorSpec
    from passpilot.runners.base import Tensor

    Failure = tuple[str, str, str, BaseException | None]

OnError = Literal["fail", "default"]

SIZE_BUDGET: Final = 4.0
"""How many times its size a module may reach before the default decides, unless told otherwise."""


@dataclass(frozen=True, slots=True)
class InlineStats:
    """What an advisor did until now.

    `seconds` is the clock around the runner, the custom features and the log; LLVM's feature extraction and
    its default decision are not in it.
    """

    decisions: int
    """Call sites that the advisor decided: asked, fallen back, or over the budget."""
    accepted: int
    """Answered yes by the runner."""
    refused: int
    """Answered no by the runner."""
    fallbacks: int
    """Decided by LLVM's default because the runner failed (`on_error="default"`)."""
    budget_hits: int
    """Decided by LLVM's default because the module had grown over the size budget."""
    not_askable: int
    """Inlined by LLVM's default where LLVM computes no features (unreachable blocks); not in `decisions`."""
    seconds: float
    """Spent on asking."""

    @property
    def microseconds_per_decision(self) -> float:
        """Mean time of one question; 0 if there was none."""
        return 1e6 * self.seconds / self.decisions if self.decisions else 0.0


class InlineAdvisor:
    """Advises LLVM's inliner by a runner.

    Args:
        runner: a Python policy, a runner spec such as ``onnx:model.onnx``, or a `Runner`.
        log: path of a decision log to write; one compilation per log.
        on_error: what a failing runner does: ``fail`` ends the compilation with its error; ``default`` lets
            LLVM's own heuristic decide instead, and counts and reports it.
        timeout: seconds that each wait for another process may take.
        size_budget: once inlining has made the module this many times as large, by LLVM's running count of
            instructions, LLVM's own heuristic decides the rest, which is counted and reported; 0 for no
            limit, under which a policy that says yes too often may never end.

    Raises:
        RunnerError: the runner cannot be made, or does not fit the decision point.
    """

    point: Final = "inline"

    def __init__(
        self,
        runner: str | Callable[..., object] | Runner,
        *,
        log: str | None = None,
        on_error: OnError = "fail",
        timeout: float = 10.0,
        size_budget: float = SIZE_BUDGET,
    ) -> None:
        if on_error not in ("fail", "default"):
            msg = f"inline advisor: expected on_error 'fail' or 'default', got {on_error!r}"
            raise UsageError(msg)
        if not size_budget >= 0:
            msg = f"inline advisor: expected a size budget of 0 or more, got {size_budget}"
            raise UsageError(msg)
        self._log = log
        self._log_file: OutputFile | None = None
        self._logged = False
        self._core: _core.InlineAdvisor | None = None
        self._in_use = threading.Lock()
        self._before = InlineStats(0, 0, 0, 0, 0, 0, 0.0)
        self._size_budget = size_budget
        point = find_point("inline")
        self.name = runner if isinstance(runner, str) else getattr(runner, "__name__", type(runner).__name__)
        self.runner = self._make(runner, point, on_error, timeout)
        if runner == "default" and log is None:
            return  # nothing to ask and nothing to write: LLVM's inliner as it is
        if not self.runner.budgeted:
            size_budget = 0.0
        self._core = self._connect(point, on_error, size_budget)

    def _make(
        self, runner: str | Callable[..., object] | Runner, point: Point, on_error: OnError, timeout: float
    ) -> Runner:
        try:
            return make_runner(runner, point, timeout=timeout)
        except PeerError as error:
            if on_error == "fail":
                raise
            return _AbsentPeer(error, point.advice)

    def _connect(self, point: Point, on_error: OnError, size_budget: float) -> _core.InlineAdvisor:
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
        host = _Host(point)
        core = _core.InlineAdvisor(
            runner.core if isinstance(runner, NativeRunner) else None,
            [row_of(spec) for spec in runner.inputs],
            [(row_of(feature.spec), host.filler(feature)) for feature in custom],
            on_error == "default",
            size_budget,
            self._log is not None,
        )
        host.core = core
        if custom or not isinstance(runner, NativeRunner):
            host.views, host.buffers = core.views(False), core.views(True)
        if not isinstance(runner, NativeRunner):
            runner.bind({spec.name: host.views[spec.name] for spec in runner.inputs}, core.frame(), host)
            core.set_python(runner.evaluate, runner.switch_context)
        return core

    @property
    def stats(self) -> InlineStats:
        """The counts until now."""
        if self._core is None:
            return InlineStats(0, 0, 0, 0, 0, 0, 0.0)
        counts = self._core.counts
        asked, accepted = int(counts["asked"]), int(counts["accepted"])
        fallbacks, budget_hits = int(counts["fallbacks"]), int(counts["budget_hits"])
        return InlineStats(
            decisions=asked + fallbacks + budget_hits,
            accepted=accepted,
            refused=asked - accepted,
            fallbacks=fallbacks,
            budget_hits=budget_hits,
            not_askable=int(counts["not_askable"]),
            seconds=counts["ask_seconds"],
        )

    def report(self) -> str:
        """The counts for people, in the manner of `--stats`."""
        if self._core is None:
            return f"inline advisor {self.name}: LLVM's own inliner; nothing was asked"
        stats = self.stats
        rows = [
            (stats.decisions, "decisions"),
            (stats.accepted, "accepted"),
            (stats.refused, "refused"),
            (stats.fallbacks, "fallbacks to the default"),
            (stats.budget_hits, "decided by the default, over the size budget"),
            (stats.not_askable, "inlined by the default, not askable"),
        ]
        lines = [f"{count:10d} {what}" for count, what in rows]
        lines.append(f"{stats.microseconds_per_decision:10.2f} microseconds per decision")
        return "\n".join([f"inline advisor {self.name}:", *lines])

    def start(self) -> _core.InlineAdvisor | None:
        """Get ready for one compilation; used by `optimize`.

        Raises:
            InputError: it is advising another compilation.
            LogError: the log cannot be opened, or was written by a compilation before.
        """
        if self._core is None:
            return None
        if not self._in_use.acquire(blocking=False):
            raise InputError(
                "inline advisor: expected it to be free, got one in use by another compilation; "
                "give each thread its own"
            )
        try:
            self._open_log(self._core)
        except BaseException:
            self._in_use.release()
            raise
        self._before = self.stats
        return self._core

    def finish(self, error: BaseException | None) -> None:
        """End one compilation; used by `optimize`.

        Raises:
            Error: the advisor's failure, if that is what ended the compilation.
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
            self._report(core)

    def close(self) -> None:
        """Let go of the runner. Idempotent."""
        self.runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open_log(self, core: _core.InlineAdvisor) -> None:
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

    def _close_log(self, core: _core.InlineAdvisor, *, keep: bool) -> None:
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

    def _report(self, core: _core.InlineAdvisor) -> None:
        stats, before = self.stats, self._before
        decisions = stats.decisions - before.decisions
        if decisions == 0:
            msg = (
                f"inline advisor: runner {self.name} was never asked: "
                "the pipeline has no inliner that asks (as default<O2> and inliner-wrapper do; a bare inline "
                "does not), or the module no call that could be inlined"
            )
            warnings.warn(msg, PasspilotWarning, stacklevel=4)
        if (count := stats.budget_hits - before.budget_hits) > 0:
            msg = (
                f"inline advisor: {count} of {decisions} decisions went to the default, because the "
                f"module had grown over {self._size_budget:g} times its size; --size-budget (size_budget=) "
                "sets the limit"
            )
            warnings.warn(msg, PasspilotWarning, stacklevel=4)
        if (count := stats.fallbacks - before.fallbacks) > 0:
            msg = f"inline advisor: {count} of {decisions} decisions fell back to the default"
            first = core.first_fallback
            why = f"the first: {self._error_of(first)}" if first else "the runner had failed for good before"
            warnings.warn(f"{msg}; {why}", PasspilotWarning, stacklevel=4)

    def _error_of(self, failure: Failure) -> BaseException:
        kind, text, where, exception = failure
        if kind == "interrupt" and not isinstance(exception, SystemExit):
            return exception or KeyboardInterrupt()
        who = f"inline advisor at {where}"
        if exception is not None:
            from passpilot.runners.python import describe_failure

            told = f"{who}: {describe_failure(exception)}"
            if isinstance(exception, Error):
                return restated(exception, told)
            raised = FeatureError(told) if kind == "feature" else PolicyError(told)
            raised.__cause__ = exception
            return raised
        if kind == "log":
            return LogError(f"decision log {self._log} at {where}: expected to write it, got: {text}")
        if kind == "advice":
            return AdviceError(f"{who}: {text}; return the decision itself")
        return ModelError(f"{who}: {text}")


class _Host:
    """The compiler as a runner in this process sees it: one per advisor, for its life."""

    __slots__ = ("_offered", "buffers", "core", "views")

    core: _core.InlineAdvisor
    views: dict[str, Tensor]
    """What runners see: read-only."""
    buffers: dict[str, Tensor]
    """The same tensors for those who fill them."""

    def __init__(self, point: Point) -> None:
        self._offered = {spec.name: spec for spec in point.features}

    @property
    def site(self) -> _core.CallSite:
        return _core.current_site(self.core)

    def default(self) -> bool:
        return self.core.default()

    def feature(self, name: str) -> Tensor:
        """An offered tensor that is not bound; one that is computed for this question alone."""
        import numpy as np

        if (view := self.views.get(name)) is not None:
            return view  # filled before the question
        if name not in self._offered:
            late = name in registered("inline")
            got = "one registered after the advisor was made" if late else "none of this name"
            msg = f"obs[{name!r}]: expected a feature of the point inline, got {got}; "
            raise FeatureError(f"{msg}`passpilot features` lists them")
        spec = self._offered[name]
        out: Tensor = np.zeros(spec.shape, spec.numpy_dtype)
        if name == "inlining_default":
            out[...] = self.default()
        else:
            registered("inline")[name].store(self.site, out)
        return out

    def filler(self, feature: CustomFeature) -> Callable[[], None]:
        """What the core calls to compute a bound custom feature into its buffer."""
        name = feature.spec.name
        who = f"feature {name!r}"

        def fill() -> None:
            try:
                feature.store(self.site, self.buffers[name])
            except Exception as error:
                from passpilot.runners.python import describe_failure

                told = describe_failure(error)
                if isinstance(error, Error):
                    raise error if told.startswith(who) else restated(error, f"{who}: {told}")  # noqa: B904
                raise FeatureError(f"{who}: {told}") from error

        return fill


class _AbsentPeer(Runner):
    """Stands for a runner whose peer could not be reached; every question fails alike."""

    def __init__(self, error: PeerError, output: TensorSpec) -> None:
        self.inputs = ()
        self.output = output
        self._error = error

    def evaluate(self) -> object:
        raise self._error.with_traceback(None)
