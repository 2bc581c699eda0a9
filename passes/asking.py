# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Starts the advisors of a compilation, and finishes them: LLVM's, one in a child process, one of MLIR."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar, cast

from passpilot.features.catalogue import EMIT_PASSES, HOOKED
from passpilot.plugin.errors import InputError

if TYPE_CHECKING:
    from passpilot.passes.advisor import Advisor, Lent
    from passpilot.plugin import _core

    AskedByLLVM = Mapping[str, _core.Advisor]  # by point

T = TypeVar("T")

ASKED: Final[ContextVar[Mapping[str, Advisor]]] = ContextVar("ASKED", default=MappingProxyType({}))
"""The advisors of the compilation on this thread, by point; passes in Python ask them."""


def advised_llvm(function: str, advisors: object, run: Callable[[AskedByLLVM], T]) -> T:
    """Start the advisors, call `run` with those that LLVM asks, by point, and finish all; return its result.

    All started advisors are finished: first those that failed, then the others, the last one first. `finish`
    gets the first error that came before it.
    """
    several = as_advisors(function, advisors)
    _check_points(function, several)
    error: BaseException | None = None
    started: list[Advisor] = []
    asked: dict[str, _core.Advisor] = {}
    active: dict[str, Advisor] = {}
    token = ASKED.set(active)
    try:
        for advisor in several:
            core = advisor.start()
            started.append(advisor)
            if core is not None:
                asked[advisor.point], active[advisor.point] = core, advisor
        result = run(asked)
    except BaseException as raised:  # noqa: BLE001  (raised again below)
        error = raised
    finally:
        ASKED.reset(token)
    failed = {point for point, core in asked.items() if core.failure is not None}
    started.reverse()
    for advisor in sorted(started, key=lambda advisor: advisor.point not in failed):
        try:
            advisor.finish(error)
        except BaseException as raised:  # noqa: BLE001  (raised again below)
            error = raised
    if error is not None:
        raise error
    return result


def isolated_llvm(
    function: str,
    module: _core.Module,
    advisors: object,
    deadline: float,
    run: Callable[[], T],
    keep: Callable[[T], None] = lambda _: None,
) -> T:
    """Call `run`, which compiles the module with these advisors, in a child process, and return its result.

    `keep` gets the result while the module is still reserved.

    Raises:
        CompilationError: the child process died, or did not end within `deadline` seconds.
        Error: as `run`; or an advisor or the module is in use.
    """
    from passpilot.plugin.isolated import run_isolated

    lent = as_advisors(function, advisors)
    sent: list[Lent | None] = [None] * len(lent)

    def compiled() -> T:
        module.release()
        for advisor in lent:
            advisor.arrive()
        return run()

    def learn(received: object) -> None:
        sent[:] = cast("list[Lent | None]", received)

    def take_back(index: int) -> None:
        lent[index].take_back(sent[index])

    with ExitStack() as ends:
        module.reserve()
        ends.callback(module.release)
        for index, advisor in enumerate(lent):
            advisor.lend()
            ends.callback(take_back, index)
        result = run_isolated(
            function, compiled, deadline, tell=lambda: [advisor.tell() for advisor in lent], learn=learn
        )
        keep(result)
    return result


def advised(function: str, advisors: object, run: Callable[[], T]) -> T:
    """Call `run`, a compilation by another compiler than LLVM on this thread, and return its result.

    Its passes in Python may ask the advisors. The failure of an advisor is raised at the end.

    Raises:
        InputError: an advisor is for one of LLVM's points, two are for one point, or one is in use.
        Error: an advisor failed and its `on_error` is ``fail``.
    """

    def begun(asked: AskedByLLVM) -> T | None:
        with ExitStack() as ends:
            for core in asked.values():
                core.begin()
                ends.callback(core.end)
            try:
                return run()
            except Exception:
                if any(core.failure for core in asked.values()):
                    return None  # the advisor's finish() raises its failure
                raise

    return cast("T", advised_llvm(function, advisors, begun))


def as_advisors(function: str, values: object) -> list[Advisor]:
    """The advisors that a caller gave as a list, or as one advisor without a list.

    Raises:
        InputError: something in it is no advisor.
    """
    if not (several := listed(values)):
        return []
    from passpilot.passes.advisor import Advisor  # whoever has an advisor has imported it

    for value in several:
        if not isinstance(value, Advisor):
            got = f"the class {value.__name__}" if isinstance(value, type) else f"{value!r:.80}"
            kind = "EvictAdvisor" if function == "emit" else "InlineAdvisor"
            raise InputError(f"{function}: expected advisors, got {got}; make one: passpilot.{kind}(runner)")
    return cast("list[Advisor]", several)


def listed(values: object) -> list[object]:
    """What a caller gave as a list; anything else, a text too, counts as a list of one."""
    several = isinstance(values, Iterable) and not isinstance(values, (str, bytes))
    return list(cast("Iterable[object]", values)) if several else [values]


def _check_points(function: str, advisors: Sequence[Advisor]) -> None:
    """Make sure that the function reaches the points of all advisors, and that each point has one."""
    points = [advisor.point for advisor in advisors]
    for point in points:
        reached = HOOKED[point].function if point in HOOKED else ""  # passes in Python ask in any pipeline
        if reached != function and (reached or (function == "emit" and point not in EMIT_PASSES)):
            known = [row.name for row in HOOKED.values() if row.function == function]
            hint = f"; give it to {reached}" if reached else ""
            raise InputError(f"{function}: expected advisors of {_points_text(known)}, got {point}{hint}")
        if (count := points.count(point)) > 1:
            raise InputError(f"{function}: expected one advisor of the point {point}, got {count}")


def _points_text(points: Sequence[str]) -> str:
    if not points:
        return "points of passes in Python"
    return f"the point{'s' if len(points) > 1 else ''} {' and '.join(points)}"
