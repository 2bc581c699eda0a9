# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`ChosenPolicy`: a policy for one compilation: its runners, its pipeline and its options of LLVM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from passpilot.features.catalogue import emit_points
from passpilot.plugin.errors import RunnerSpecError
from passpilot.runners.policy.prepare import policy_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from passpilot.features.catalogue import Function
    from passpilot.plugin import _core

BEHIND: Final = "optimizer-last"
"""The extension point behind a level's own pipeline."""


@dataclass(frozen=True, slots=True)
class ChosenPolicy:
    """The recipe that a spec such as ``@oz?recipe=2`` chooses, for one of passpilot's functions."""

    record: _core.PolicyRecord
    runners: Mapping[str, str]
    """The runner specs by decision point, of those points that the function reaches."""
    pipeline: str
    """It runs behind the level's own; empty if there is none, and for code generation."""
    options: tuple[str, ...]
    """Options of LLVM, as NAME or NAME=VALUE."""

    @classmethod
    def find(cls, spec: str, function: Function) -> ChosenPolicy:
        """Find a policy and choose its recipe.

        Raises:
            Error: there is no such policy or recipe, or it is for another LLVM.
        """
        record = policy_record(spec)
        recipe = record.recipe(spec)
        late = emit_points()
        points = [point for point in recipe.runners if (point in late) == (function == "emit")]
        named = spec.startswith("@")  # a folder is no runner
        runners = {point: spec if named else recipe.runners[point] for point in points}
        pipeline = recipe.pipeline if function == "optimize" else ""
        return cls(record, runners, pipeline, tuple(recipe.options))

    def check_target(self, triple: str) -> None:
        """Make sure that the policy is for modules of a target.

        Raises:
            RunnerSpecError: it is not.
        """
        if told := self.record.refusal(triple):
            raise RunnerSpecError(told)

    def flags(self, given: Iterable[str]) -> list[str]:
        """The options as flags, without those that are among the `given` flags."""
        return flags_beside(given, self.options)


def flags_beside(given: Iterable[str], options: Iterable[str]) -> list[str]:
    """Options, as NAME or NAME=VALUE, as flags; without those that are among the `given` flags."""
    names = {each.lstrip("-").partition("=")[0] for each in given}
    return [f"-{each}" for each in options if each.partition("=")[0] not in names]
