# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`AdvisorLike` and `advised_llvm`: starts the advisors of a compilation, and finishes them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol, TypeVar, cast, runtime_checkable

from passpilot.plugin.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from passpilot.plugin import _core

    AskedByLLVM = Mapping[str, _core.Advisor]  # by point

T = TypeVar("T")


class AdvisorLike(Protocol):
    """The part of an advisor that `optimize` and `emit` use; `passpilot.InlineAdvisor` is an advisor."""

    @property
    def point(self) -> str:
        """The decision point that it advises."""

    def start(self) -> _core.Advisor | None:
        """Get ready for one compilation; None means that the compiler decides as if there were no advisor."""

    def finish(self, error: BaseException | None) -> None:
        """End the compilation that `start` began; `error` is the exception that it raised, or None.

        Raises:
            Error: the advisor's own failure, if it ended the compilation.
        """

    def report(self) -> str:
        """The text of ``--stats``."""

    def close(self) -> None:
        """Close the runner."""


@runtime_checkable
class LendableAdvisor(Protocol):
    """An advisor that can advise in a child process, as all of ours."""

    def lend(self) -> None:
        """Reserve the advisor for a compilation in a child process; this process then calls `take_back`.

        Raises:
            Error: it is in use, or its runner cannot be asked in a copy of this process.
        """

    def arrive(self) -> None:
        """In the child process: get ready for `start`."""

    def tell(self) -> object:
        """In the child process, at the end: what `take_back` gets; it can be pickled."""

    def take_back(self, told: object) -> None:
        """Get the advisor back from the child process; None if that died."""


@runtime_checkable
class PreparingAdvisor(Protocol):
    """An advisor of a pass in Python; `emits` tells whether that runs when code generation begins."""

    @property
    def emits(self) -> bool:
        """Whether it does."""

    def prepare(self, core: _core.Module, options: _core.EmitOptions) -> None:
        """Run the pass on a module; it may change the options of the code generation.

        Raises:
            Error: the pass has failed.
        """


ASKED: Final[ContextVar[Mapping[str, AdvisorLike]]] = ContextVar("ASKED", default=MappingProxyType({}))
"""The advisors of the compilation on this thread, by point; passes in Python ask them."""


def advised_llvm(
    function: str, advisors: AdvisorLike | Sequence[AdvisorLike], run: Callable[[AskedByLLVM], T]
) -> T:
    """Start the advisors, call `run` with those that LLVM asks, by point, and finish all; return its result.

    All started advisors are finished: first those that failed, then the others, the last one first. `finish`
    gets the first error that came before it.
    """
    advisors = as_advisors(function, advisors)
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
        except BaseException as raised:  # noqa: BLE001  (raised again below)
            error = raised
    if error is not None:
        raise error
    return made


@runtime_checkable
class TargetedAdvisor(Protocol):
    """An advisor whose runner may be made for some targets only, as all of ours."""

    def check_target(self, triple: str) -> None:
        """Make sure that the runner is for modules of a target.

        Raises:
            Error: it is not.
        """


def check_targets(advisors: object, triple: str) -> None:
    """Make sure that the runners of all advisors are for modules of a target.

    Raises:
        Error: one is not.
    """
    for advisor in listed(advisors):
        if isinstance(advisor, TargetedAdvisor) and not isinstance(advisor, type):
            advisor.check_target(triple)


def isolated_llvm(
    function: str,
    module: _core.Module,
    advisors: AdvisorLike | Sequence[AdvisorLike],
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

    advisors = as_advisors(function, advisors)
    lent = [advisor for advisor in advisors if isinstance(advisor, LendableAdvisor)]
    if len(lent) < len(advisors):
        kinds = ", ".join(type(advisor).__name__ for advisor in advisors)
        raise InputError(f"{function}, isolated: expected advisors of passpilot's own classes, got {kinds}")
    told: list[object] = [None] * len(lent)

    def compiled() -> T:
        module.release()
        for advisor in lent:
            advisor.arrive()
        return run()

    def tell() -> list[object]:
        return [advisor.tell() for advisor in lent]

    def learn(learnt: object) -> None:
        told[:] = cast("list[object]", learnt)

    def take_back(index: int) -> None:
        lent[index].take_back(told[index])

    with ExitStack() as ends:
        module.reserve()
        ends.callback(module.release)
        for index, advisor in enumerate(lent):
            advisor.lend()
            ends.callback(take_back, index)
        made = run_isolated(function, compiled, deadline, tell=tell, learn=learn)
        keep(made)
    return made


def advised(function: str, advisors: AdvisorLike | Sequence[AdvisorLike], run: Callable[[], T]) -> T:
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


def as_advisors(function: str, given: object) -> list[AdvisorLike]:
    """The advisors that a caller gave as a list, or as one advisor without a list.

    Raises:
        InputError: something in it is no advisor.
    """
    advisors = listed(given)
    for each in advisors:
        if isinstance(each, type) or not hasattr(each, "start"):
            got = f"the class {each.__name__}" if isinstance(each, type) else f"{each!r:.80}"
            kind = "EvictAdvisor" if function == "emit" else "InlineAdvisor"
            raise InputError(f"{function}: expected advisors, got {got}; make one: passpilot.{kind}(runner)")
    return cast("list[AdvisorLike]", advisors)


def listed(given: object) -> list[object]:
    """What a caller gave as a list; anything else, a text too, counts as a list of one."""
    several = isinstance(given, Iterable) and not isinstance(given, (str, bytes))
    return list(cast("Iterable[object]", given)) if several else [given]


def _check_points(function: str, advisors: Sequence[AdvisorLike]) -> None:
    points = [advisor.point for advisor in advisors]
    reached = _functions() if points else {}
    for point, advisor in zip(points, advisors, strict=True):
        other = reached.get(point)
        emits = isinstance(advisor, PreparingAdvisor) and advisor.emits
        if other != function and (other or function == "emit") and not emits:
            known = [name for name, where in reached.items() if where == function]
            hint = f"; give it to {other}" if other else ""
            raise InputError(f"{function}: expected advisors of {_listed(known)}, got {point}{hint}")
        if points.count(point) > 1:
            raise InputError(
                f"{function}: expected one advisor of the point {point}, got {points.count(point)}"
            )


def _functions() -> Mapping[str, str]:
    """Which function reaches each of LLVM's decision points. Passes in Python ask in `optimize` alone."""
    from passpilot.plugin import _core  # which other compilers do without

    return {point.name: point.function for point in _core.hooked_points()}


def _listed(points: Sequence[str]) -> str:
    if not points:
        return "points of passes in Python"
    return f"the point{'s' if len(points) > 1 else ''} {' and '.join(points)}"
