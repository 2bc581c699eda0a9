# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The catalogue of decision points: one row for each point that comes with passpilot.

The commands, the feature tables and the plugins for stock compilers derive their flags and texts from these
rows. `passpilot cc` reads them in every compilation, so this module imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers treat this name as true
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final, Literal, NoReturn, dataclass_transform

    Function = Literal["optimize", "emit"]
    Site = Literal["call", "register"]
else:

    def dataclass_transform(**_):
        return lambda kind: kind


@dataclass_transform(frozen_default=True, eq_default=False)
class Row:
    """Base of the catalogue's immutable rows, whose annotations are their fields: a light dataclass."""

    def __init__(self, *values: object, **fields: object) -> None:
        self.__dict__.update(zip(self.__annotations__, values, strict=False), **fields)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"catalogue: {type(self).__name__}.{name}: it cannot be changed")


class Limit(Row):
    """The option that limits what a runner may do at a point."""

    option: str
    """The name on the command line, without dashes; `keyword` is the name in Python."""
    value: str
    """The name of its value in help texts, such as ``FACTOR``."""
    help: str
    default: float
    whole: bool = False
    """Whether the value must be an integer."""

    @property
    def keyword(self) -> str:
        """The advisor's keyword argument, such as ``size_budget``."""
        return self.option.replace("-", "_")


class LogStyle(Row):
    """How `passpilot log` shows the decisions of a point."""

    words: Mapping[int, str] = {}
    """Words shown in place of some advice values."""
    idle: str = ""
    """The word of the advice that does nothing."""
    done: str = ""
    """The word of the summary for all other decisions; if empty, the summary does not count them."""
    width: int = 8
    """The width of the advice column in characters."""


class Interactive(Row):
    """The flags that make an unmodified compiler ask over LLVM's interactive channel."""

    flags: tuple[str, ...]
    """They switch asking on; ``{}`` stands for the base path of the FIFOs."""
    default: str = ""
    """The flag that makes LLVM send its own decision, too; empty if LLVM has none."""
    lifted: str = ""
    """The flag that lifts a limit of LLVM's own; added unless the user sets it."""


class HookedPoint(Row):
    """A decision inside LLVM, where a hook in C++ asks."""

    name: str
    question: str
    """What the runner is asked, as help texts say it."""
    advisor: str
    """The name of the advisor class in passes/llvm_advisors.py."""
    place: str
    """FILE:TABLE in the folder `llvm`."""
    function: Function = "emit"
    """The function of passpilot that reaches the point."""
    site: Site = "register"
    """The kind of object that a decision is about."""
    interactive: Interactive | None = None
    """None if an unmodified compiler does not have the point."""
    log: LogStyle = LogStyle()
    limit: Limit | None = None

    @property
    def command(self) -> str:
        """The passpilot command that reaches the point."""
        return COMMANDS[self.function]

    @property
    def keywords(self) -> tuple[str, ...]:
        """The advisor's keyword arguments that have a flag of the same name, without ``log``."""
        return (*COMMON, self.limit.keyword) if self.limit else COMMON


COMMANDS: Final[Mapping[Function, str]] = {"optimize": "opt", "emit": "llc"}
"""The command of each function."""

TOOLS: Final[Mapping[str, tuple[Function, ...]]] = {
    "opt": ("optimize",),
    "llc": ("emit",),
    "clang": ("optimize", "emit"),
    "flang": ("optimize", "emit"),
    "ld.lld": ("optimize", "emit"),
    "rustc": ("optimize", "emit"),
}
"""The functions whose work each LLVM tool does."""

COMMON: Final = ("on_error", "timeout")
"""The keywords that all advisors take."""

CHANGING: Final = ("advise", "at", "best-of", "decisions", "policy", "unwind")
"""Options of `passpilot cc` that change the code, beside the runners of LLVM's points."""

HOOKED: Final[Mapping[str, HookedPoint]] = {
    row.name: row
    for row in (
        HookedPoint(
            "inline",
            "about each call site",
            "InlineAdvisor",
            "inline:TABLE",
            function="optimize",
            site="call",
            interactive=Interactive(
                ("-enable-ml-inliner=release", "-inliner-interactive-channel-base={}"),
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
            "EvictAdvisor",
            "evict:TABLE",
            interactive=Interactive(
                ("-regalloc-enable-advisor=release", "-regalloc-evict-interactive-channel-base={}")
            ),
            log=LogStyle({32: "keep"}, idle="keep", done="evicted"),
            limit=Limit("eviction-limit", "COUNT", "how often a live range may be evicted", 100, whole=True),
        ),
        HookedPoint(
            "priority",
            "how early to allocate each live range",
            "PriorityAdvisor",
            "priority:TABLE",
            interactive=Interactive(
                (
                    "-regalloc-enable-priority-advisor=release",
                    "-regalloc-priority-interactive-channel-base={}",
                )
            ),
            log=LogStyle(width=10),
        ),
        HookedPoint(
            "ra-order",
            "which live range -regalloc=advised allocates next",
            "OrderAdvisor",
            "allocator:ORDER",
        ),
        HookedPoint(
            "ra-action",
            "whether -regalloc=advised assigns, evicts, splits, spills or waits",
            "ActionAdvisor",
            "allocator:ACTION",
        ),
        HookedPoint(
            "ra-colour", "which register -regalloc=advised takes", "ColourAdvisor", "allocator:COLOUR"
        ),
        HookedPoint(
            "ra-split",
            "where -regalloc=advised splits a live range",
            "SplitAdvisor",
            "allocator:SPLIT",
            log=LogStyle(width=12),
        ),
        HookedPoint(
            "schedule",
            "which instruction is next before register allocation",
            "ScheduleAdvisor",
            "schedule:TABLE",
            log=LogStyle(width=14),
        ),
    )
}
"""LLVM's decision points by name."""

PASS_POINTS: Final[Mapping[str, str]] = {
    "advised-distribute": "llvm.distribute:TABLE",
    "advised-function-pipeline": "llvm.phases:FUNCTION_TABLE",
    "advised-hotness": "llvm.hotness:TABLE",
    "advised-outline": "llvm.outline:TABLE",
    "advised-outliner": "llvm.outline:MODULE_TABLE",
    "advised-pipeline": "llvm.phases:MODULE_TABLE",
    "advised-size": "llvm.size:TABLE",
    "advised-slp": "llvm.slp:TABLE",
    "advised-unroll": "llvm.unroll:TABLE",
    "advised-vectorize": "llvm.vectorize:TABLE",
    "mlir-fuse": "mlir.fuse:TABLE",
    "mlir-inline": "mlir.inline:TABLE",
    "mlir-interchange": "mlir.schedule:INTERCHANGE",
    "mlir-pack": "mlir.schedule:PACK",
    "mlir-parallel": "mlir.schedule:PARALLEL",
    "mlir-stack": "mlir.stack:TABLE",
    "mlir-tile": "mlir.tile:TABLE",
    "mlir-vectorize": "mlir.schedule:VECTORIZE",
}
"""The decision points of the shipped passes, each with the place of its table in this folder.

A point has the name of the pass that asks it. MLIR's points do not, since `advised-inline` could mean
LLVM's inliner.
"""

EMIT_PASSES: Final[Mapping[str, str]] = {
    "advised-outliner": "advised-outliner{codegen}",
    "advised-outline": "advised-outline",
}
"""The points of passes that run when code generation begins if their points are advised, in this order; with
the pipeline text of each pass."""

RENAMED: Final[Mapping[str, str]] = {"size": "advised-size", "unroll": "advised-unroll"}
"""The present names of points by their old names."""


def hooked(function: Function) -> tuple[str, ...]:
    """The names of LLVM's decision points that a function reaches."""
    return tuple(row.name for row in HOOKED.values() if row.function == function)


def emit_points() -> tuple[str, ...]:
    """The names of all decision points that code generation reaches."""
    return *hooked("emit"), *EMIT_PASSES
