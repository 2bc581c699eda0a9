# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who is asked during a compilation: `AdvisorLike`, and the start and finish of several around one."""

from __future__ import annotations

from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol, TypeVar, cast

from passpilot.plugin.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from passpilot.plugin import _core

    AskedByLLVM = Mapping[str, _core.Advisor]  # by point

T = TypeVar("T")


class AdvisorLike(Protocol):
    """What `optimize` and `emit` need of an advisor; `passpilot.InlineAdvisor` is one for `optimize`."""

    @property
    def point(self) -> str:
        """The decision point that it advises."""

    def start(self) -> _core.Advisor | None:
        """Get ready for one compilation; None if the compiler is to decide as if there were no advisor."""

    def finish(self, error: BaseException | None) -> None:
        """End the compilation that `start` began, which raised `error` or nothing.

        Raises:
            Error: the advisor's own failure, if that is what ended the compilation.
        """

    def report(self) -> str:
        """The counts for people."""

    def close(self) -> None:
        """Let go of the runner."""


ASKED: Final[ContextVar[Mapping[str, AdvisorLike]]] = ContextVar("ASKED", default=MappingProxyType({}))
"""Who advises the compilation on this thread, by point: passes in Python ask them."""


POINTS: Final[Mapping[str, tuple[str, ...]]] = {"optimize": ("inline",), "emit": ("evict", "priority")}
"""LLVM's decision points that each function reaches; those of passes in Python, `optimize` alone."""


def advised_llvm(function: str, advisors: Sequence[AdvisorLike], run: Callable[[AskedByLLVM], T]) -> T:
    """What `run` gives, which gets those of the advisors that LLVM is to ask, by point.

    All advisors that were started are finished, the last first but those that failed before all others; each
    learns of the first error before it.
    """
    _check_points(function, advisors)
    error: BaseException | None = None
    started: list[AdvisorLike] = []
    asked: dict[str, _core.Advisor] = {}
    active: dict[str, AdvisorLike] = {}
    token = ASKED.set(active)
    try:
        for advisor in advisors:
            core = advisor.start()
            started.append(advisor)
            if core is not None:
                asked[advisor.point], active[advisor.point] = core, advisor
        made = run(asked)
    except BaseException as raised:  # noqa: BLE001  (raised again below)
        error = raised
    finally:
        ASKED.reset(token)
    failed = {point for point, core in asked.items() if core.failure is not None}
    last_first = started[::-1]
    for advisor in sorted(last_first, key=lambda each: each.point not in failed):
        try:
            advisor.finish(error)
        except BaseException as raised:  # noqa: BLE001  (likewise)
            error = raised
    if error is not None:
        raise error
    return made


def advised(function: str, advisors: Sequence[AdvisorLike], run: Callable[[], T]) -> T:
    """What `run` gives, a compilation on this thread by another compiler than LLVM.

    Its passes in Python may ask the advisors by their points; what failed in one of these is raised then.

    Raises:
        InputError: an advisor is of a point of LLVM's, two are of one point, or one is in use.
        Error: an advisor failed and its `on_error` is ``fail``.
    """

    def begun(asked: AskedByLLVM) -> T | None:
        for core in asked.values():
            core.begin()
        try:
            return run()
        except Exception:
            if any(core.failure for core in asked.values()):
                return None  # what the advisor has to say is raised by its finish()
            raise
        finally:
            for core in asked.values():
                core.end()

    return cast("T", advised_llvm(function, advisors, begun))


def _check_points(function: str, advisors: Sequence[AdvisorLike]) -> None:
    points = [advisor.point for advisor in advisors]
    known = POINTS.get(function, ())
    for point in points:
        other = next((name for name, reached in POINTS.items() if point in reached), None)
        if point not in known and (other or function == "emit"):
            hint = f"; give it to {other}" if other else ""
            raise InputError(f"{function}: expected advisors of {_listed(known)}, got {point}{hint}")
        if points.count(point) > 1:
            raise InputError(
                f"{function}: expected one advisor of the point {point}, got {points.count(point)}"
            )


def _listed(points: Sequence[str]) -> str:
    if not points:
        return "points of passes in Python"
    return f"the point{'s' if len(points) > 1 else ''} {' and '.join(points)}"
