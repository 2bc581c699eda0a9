# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One module under search: compiles candidates, each in a process of its own, and measures them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot.passes.inline import InlineAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin import _core
from passpilot.plugin.compile import file_type, generate, llvm_options
from passpilot.plugin.errors import Error
from passpilot.plugin.isolated import run_isolated_together
from passpilot.plugin.module import Module
from passpilot.training.rewards import code_size, symbol_sizes
from passpilot.training.tuning.decision_file import CallKey

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from passpilot.runners.python import Observation

LAST: Final = "optimizer-last"
"""The extension point of the searched pipelines: every door has it."""

OPT_LEVEL: Final = 2
"""The level of code generation, llc's default."""

OUTLINER: Final = "-enable-machine-outliner=always"

Policy = "Callable[[Observation], bool]"


class Asked(NamedTuple):
    """A question and its answer in one compilation."""

    inlined: bool
    default: bool
    """LLVM's own decision in the same situation."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What is tried: decisions for some calls, a pipeline, outlining. The rest is `policy`'s, or LLVM's."""

    inline: Mapping[CallKey, bool] = field(default_factory=dict)
    tail: str = ""
    """The pipeline at `LAST`."""
    outline: bool = False
    no_outline: frozenset[str] = frozenset()
    policy: Callable[[Observation], bool] | None = None
    """Decides the calls that `inline` does not name; None for LLVM."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a candidate makes of the module."""

    text: int
    """The bytes of machine code in the object."""
    symbols: Mapping[str, int]
    """The bytes of each function."""
    asked: Mapping[CallKey, Asked]
    """All questions, in their order."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A module under search.

    Attributes:
        module: the module before the pipeline; it stays unchanged.
        pipeline: the pipeline that is searched around, such as ``default<Oz>``.
        relocation_model: the code generator's, such as ``pic``.
        deadline: the seconds that one compilation may take.
    """

    module: Module
    pipeline: str
    relocation_model: str = "pic"
    deadline: float = 300.0

    def compile(self, candidates: Sequence[Candidate]) -> list[Outcome | None]:
        """Compile candidates, all at once; None for one that fails or takes too long."""
        runs = [partial(self._outcome, each) for each in candidates]
        made = run_isolated_together("tune", runs, self.deadline)
        return [None if isinstance(each, Error) else each for each in made]

    def compile_one(self, candidate: Candidate) -> Outcome:
        """Compile one candidate.

        Raises:
            Error: it fails or takes too long.
        """
        (made,) = run_isolated_together("tune", [partial(self._outcome, candidate)], self.deadline)
        if isinstance(made, Error):
            raise made
        return made

    def _outcome(self, candidate: Candidate) -> Outcome:
        """Compile in this process, a child, whose module may change."""
        asked: dict[CallKey, Asked] = {}
        counts: dict[tuple[str, str], int] = {}
        given, policy = candidate.inline, candidate.policy

        def decide(obs: Observation) -> bool:
            site = obs.site
            pair = site.caller.name, site.callee.name  # type: ignore[attr-defined]
            counts[pair] = number = counts.get(pair, 0) + 1
            call = CallKey(*pair, number)
            default = bool(obs.default())
            inlined = given.get(call)
            if inlined is None:
                inlined = default if policy is None else bool(policy(obs))
            asked[call] = Asked(inlined, default)
            return inlined

        at = {LAST: candidate.tail} if candidate.tail else {}
        optimize(self.module, self.pipeline, [InlineAdvisor(decide)], at=at)
        wanted = _core.EmitOptions()
        wanted.filetype, wanted.opt_level = file_type("obj"), OPT_LEVEL
        wanted.relocation_model = self.relocation_model
        if candidate.outline:
            for function in self.module.functions:
                if function.name in candidate.no_outline:
                    function.add_attribute("nooutline")
            llvm_options([OUTLINER])
        emitted = generate(self.module, wanted, [])
        return Outcome(int(code_size(emitted)), symbol_sizes(emitted.code), asked)


def settled(candidate: Candidate, outcome: Outcome) -> Candidate:
    """The candidate with all decisions of its compilation that are not LLVM's, and without a policy."""
    differing = {
        call: asked.inlined for call, asked in outcome.asked.items() if asked.inlined != asked.default
    }
    return replace(candidate, inline=differing, policy=None)
