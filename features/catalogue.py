# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The catalogue of decision points: one row for each point that comes with passpilot.

Commands, `cc`, `attach`, `log`, the tables of features and the doors for stock compilers derive from these
rows what they know of a point. `passpilot cc` reads them in every compilation, so this imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the name that type checkers take for true
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final, Literal, NoReturn

    Function = Literal["optimize", "emit"]
    Site = Literal["call", "register"]


class _Row:
    """A row of the catalogue, which never changes."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"catalogue: {type(self).__name__}.{name}: expected to be read, got a change")

    def _fill(self, **fields: object) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)


class Limit(_Row):
    """An option that bounds what a runner may do at a point."""

    __slots__ = ("default", "help", "option", "value", "whole")
    option: str
    """Its name on the command line; `keyword` is that of Python."""
    value: str
    """What help texts call its value."""
    help: str
    default: float
    whole: bool
    """Whether it is an integer."""

    def __init__(self, option: str, value: str, help_: str, default: float, *, whole: bool = False) -> None:
        self._fill(option=option, value=value, help=help_, default=default, whole=whole)

    @property
    def keyword(self) -> str:
        """What the advisor calls it."""
        return self.option.replace("-", "_")


class LogStyle(_Row):
    """How `passpilot log` shows the decisions of a point."""

    __slots__ = ("done", "idle", "width", "words")
    words: Mapping[int, str]
    """Words that stand for some of the advice."""
    idle: str
    """The word for doing nothing."""
    done: str
    """What the summary says of all other decisions; empty: nothing."""
    width: int
    """Columns that an advice takes."""

    def __init__(
        self, words: Mapping[int, str] | None = None, *, idle: str = "", done: str = "", width: int = 8
    ) -> None:
        self._fill(words=words or {}, idle=idle, done=done, width=width)


class Interactive(_Row):
    """The flags by which an unmodified compiler asks at a point."""

    __slots__ = ("default", "flags", "lifted")
    flags: tuple[str, ...]
    """They make it ask; {} stands for the base of the FIFOs."""
    default: str
    """It makes LLVM send its own decision, too; empty where LLVM has no such flag."""
    lifted: str
    """A limit of LLVM's own, which is lifted unless the user names it."""

    def __init__(self, *flags: str, default: str = "", lifted: str = "") -> None:
        self._fill(flags=flags, default=default, lifted=lifted)


class HookedPoint(_Row):
    """A decision of LLVM's own, at which a hook in C++ asks.

    The point gives its files: features/llvm/NAME.py has its table, passes/NAME.py its advisor.
    """

    __slots__ = ("advisor", "function", "interactive", "limit", "log", "name", "question", "site")
    name: str
    question: str
    """What RUNNER is asked."""
    function: Function
    """Which function of passpilot's reaches it."""
    advisor: str
    """The class of its advisors."""
    site: Site
    """What a decision is about."""
    interactive: Interactive
    log: LogStyle
    limit: Limit | None

    def __init__(
        self,
        name: str,
        question: str,
        *,
        function: Function,
        advisor: str,
        site: Site,
        interactive: Interactive,
        log: LogStyle,
        limit: Limit | None = None,
    ) -> None:
        self._fill(name=name, question=question, function=function, advisor=advisor)
        self._fill(site=site, interactive=interactive, log=log, limit=limit)

    @property
    def file(self) -> str:
        """The stem of its files."""
        return self.name.replace("-", "_")

    @property
    def command(self) -> str:
        """The command of passpilot's that reaches it."""
        return COMMANDS[self.function]

    @property
    def keywords(self) -> tuple[str, ...]:
        """What its advisor takes beside a log: keywords, each of which is a flag."""
        return (*COMMON, self.limit.keyword) if self.limit else COMMON


COMMANDS: Final[Mapping[Function, str]] = {"optimize": "opt", "emit": "llc"}
"""The command of each function."""

TOOLS: Final[Mapping[str, tuple[Function, ...]]] = {
    "opt": ("optimize",),
    "llc": ("emit",),
    "clang": ("optimize", "emit"),
    "ld.lld": ("optimize", "emit"),
}
"""What each of LLVM's tools does of what the functions do."""

COMMON: Final = ("on_error", "timeout")
"""The keywords that all advisors take."""

HOOKED: Final[Mapping[str, HookedPoint]] = {
    row.name: row
    for row in (
        HookedPoint(
            "inline",
            "about each call site",
            function="optimize",
            advisor="InlineAdvisor",
            site="call",
            interactive=Interactive(
                "-enable-ml-inliner=release",
                "-inliner-interactive-channel-base={}",
                default="-inliner-interactive-include-default",
                lifted="-ml-advisor-size-increase-threshold=1e9",
            ),
            log=LogStyle({0: "no", 1: "inline"}, idle="no", done="inlined"),
            limit=Limit(
                "size-budget", "FACTOR", "let the default decide once the module is FACTOR times its size", 4
            ),
        ),
        HookedPoint(
            "evict",
            "which live range to evict when registers run out",
            function="emit",
            advisor="EvictAdvisor",
            site="register",
            interactive=Interactive(
                "-regalloc-enable-advisor=release", "-regalloc-evict-interactive-channel-base={}"
            ),
            log=LogStyle({32: "keep"}, idle="keep", done="evicted"),
            limit=Limit("eviction-limit", "COUNT", "how often a live range may be evicted", 100, whole=True),
        ),
        HookedPoint(
            "priority",
            "how early to allocate each live range",
            function="emit",
            advisor="PriorityAdvisor",
            site="register",
            interactive=Interactive(
                "-regalloc-enable-priority-advisor=release",
                "-regalloc-priority-interactive-channel-base={}",
            ),
            log=LogStyle(width=10),
        ),
    )
}
"""LLVM's decision points by name."""

PASS_POINTS: Final[Mapping[str, str]] = {
    "advised-function-pipeline": "llvm.phases:FUNCTION_TABLE",
    "advised-pipeline": "llvm.phases:MODULE_TABLE",
    "advised-size": "llvm.size:TABLE",
    "advised-unroll": "llvm.unroll:TABLE",
    "mlir-inline": "mlir.inline:TABLE",
    "mlir-tile": "mlir.tile:TABLE",
}
"""The decision points of the passes that come along, by name, with the place of each table in this folder.

A point has the name of the pass that asks it. MLIR's two do not: `advised-inline` could mean LLVM's inliner.
"""

RENAMED: Final[Mapping[str, str]] = {"size": "advised-size", "unroll": "advised-unroll"}
"""The present name of a point by one that it had before."""


def hooked(function: Function) -> tuple[str, ...]:
    """The names of LLVM's decision points that a function reaches."""
    return tuple(row.name for row in HOOKED.values() if row.function == function)
