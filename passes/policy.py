# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`ChosenPolicy`: a policy for one compilation: its advisors, its pipeline and its options of LLVM."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from passpilot.features.catalogue import emit_points
from passpilot.plugin import _core
from passpilot.plugin.errors import InputError, RunnerSpecError
from passpilot.plugin.failures import did_you_mean, shown
from passpilot.runners.policy.prepare import policy_record

if TYPE_CHECKING:
    from contextlib import ExitStack

    from passpilot.features.catalogue import Function
    from passpilot.passes.advisor import Advisor

BEHIND: Final = "optimizer-last"
"""The extension point behind a level's own pipeline."""


@dataclass(frozen=True, slots=True)
class ChosenPolicy:
    """The recipe that a spec such as ``@oz?recipe=2`` chooses, for one of passpilot's functions."""

    spec: str
    record: _core.PolicyRecord
    runners: Mapping[str, str]
    """The runner specs by decision point, of those points that the function reaches."""
    pipeline: str
    """It runs behind the level's own; empty if there is none, and for code generation."""
    recipe: _core.PolicyRecipe

    @classmethod
    def find(cls, spec: str, function: Function) -> ChosenPolicy:
        """Find a policy and choose its recipe.

        Raises:
            Error: there is no such policy or recipe, it is for another LLVM, or it has a pass that no
                policy may name.
        """
        record = policy_record(spec)
        recipe = record.recipe(spec)
        late = emit_points()
        runners = {
            point: runner
            for point, runner in recipe.runners.items()
            if (point in late) == (function == "emit")
        }
        pipeline = recipe.pipeline if function == "optimize" else ""
        if others := _core.other_passes(pipeline):
            hint = "; policies are data: load its code yourself, or leave it out"
            hint += did_you_mean(others[0], _core.permitted_passes())
            got = f"{others[0]!r} in a pipeline of policy.toml"
            raise InputError(f"{record.who()}: expected {_core.EXPECTED_PASS}, got {got}{hint}")
        return cls(spec, record, runners, pipeline, recipe)

    @classmethod
    def of(cls, policy: str | ChosenPolicy, function: Function, triple: str) -> ChosenPolicy:
        """The policy that a caller gave, found if it is a spec, for modules of a target.

        Raises:
            Error: as `find`; or the policy is not for the target.
        """
        chosen = policy if isinstance(policy, cls) else cls.find(str(policy), function)
        chosen.check_target(triple)
        return chosen

    def options(self, triple: str) -> list[str]:
        """The options of LLVM for modules of a target, as NAME or NAME=VALUE."""
        return self.recipe.options_for(triple)

    def check_target(self, triple: str) -> None:
        """Make sure that the policy is for modules of a target.

        Raises:
            RunnerSpecError: it is not.
        """
        if refusal := self.record.refusal(triple):
            raise RunnerSpecError(refusal)

    def advisor(self, point: str, **options: Any) -> Advisor:
        """The policy's advisor of a point; the options are those of `passpilot.advisor`.

        Raises:
            RunnerError: the runner cannot be made, or does not fit the decision point.
        """
        from passpilot.passes.advisor import advisor
        from passpilot.passes.point_search import search_point
        from passpilot.runners.spec import make_runner

        if not self.spec.startswith("@"):  # messages name the runner; a folder is no name of one
            return advisor(point, self.runners[point], **options)
        runner = make_runner(self.runners[point], search_point(point), timeout=options.get("timeout", 10.0))
        runner.named_by = self.record
        named = advisor(point, runner, **options)
        named.name = shown(self.spec)
        return named

    def advisors(self, advised: Container[str], stack: ExitStack) -> list[Advisor]:
        """The policy's advisors of all points that are not `advised`; `stack` closes them.

        Raises:
            RunnerError: as `advisor`.
        """
        return [stack.enter_context(self.advisor(point)) for point in self.runners if point not in advised]
