# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`optimize`: opt in this process, with advisors and passes in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, cast

from passpilot.passes.asking import advised_llvm, as_advisors, isolated_llvm, listed
from passpilot.passes.python.pipeline_text import bind, raise_failure, with_suggestion
from passpilot.passes.unasked import cause
from passpilot.plugin import _core
from passpilot.plugin.compile import NO_REMARKS, PLAIN, PipelineOptions, Remarks, deadline_of, whole_remarks
from passpilot.plugin.errors import InputError
from passpilot.plugin.module import Module, checked_module
from passpilot.plugin.origin import warn_user
from passpilot.plugin.toolchain import LEVELS

if TYPE_CHECKING:
    from passpilot.passes.advisor import Advisor
    from passpilot.passes.asking import AskedByLLVM
    from passpilot.passes.policy import ChosenPolicy
    from passpilot.runners.spec import RunnerLike

Advisors: TypeAlias = "Advisor | RunnerLike | Sequence[Advisor | RunnerLike]"
"""What `optimize` accepts as advisors."""


def optimize(
    module: Module,
    pipeline: str | int,
    advisors: Advisors = (),
    *,
    at: Mapping[str, str] = MappingProxyType({}),
    mcpu: str = "",
    mattr: str = "",
    verify: bool = True,
    options: PipelineOptions = PLAIN,
    remarks: Remarks = NO_REMARKS,
    decisions: str = "",
    profile: str = "",
    policy: str | ChosenPolicy = "",
    isolated: bool = False,
    deadline: float | None = None,
) -> None:
    """Run a textual pipeline of LLVM's new pass manager on `module`, in place, as opt would.

    After an error the module is valid IR, but only partly optimized. If a pass in Python has made the module
    invalid, the module cannot be used any more.

    Args:
        module: the module to optimize.
        pipeline: the pipeline text; it may name passes in Python, see `passpilot.llvm`. A level alone, as
            ``"O2"`` or 2, is short for ``default<O2>``.
        advisors: the advisors that take decisions, at most one per decision point. A policy or a runner spec
            advises the inliner: ``decide`` is short for ``[passpilot.InlineAdvisor(decide)]``.
        at: pipelines at LLVM's extension points: ``{"vectorizer-start": "my-pass"}``.
        mcpu: the processor; empty for the one that `llvm_options` has set.
        mattr: target features, as ``+avx2,-sse4a``; empty for those that `llvm_options` has set.
        verify: run LLVM's verifier before and after the pipeline, and refuse an invalid module.
        options: the rarer flags of opt.
        remarks: the file for the remarks of LLVM's passes.
        decisions: the path of a decision file of ``passpilot tune``. It decides about inlining if no advisor
            does, adds its pipeline behind the level's own, and marks functions for the machine outliner.
        profile: the path of a profile, of llvm-profdata or of samples. What is cold in it is optimized for
            size, and the machine outliner takes nothing from what is hot.
        policy: a policy, as ``@oz``. It decides where no advisor and no decision file does, and adds its
            pipeline behind the level's own unless `at` has one there.
        isolated: compile in a child process, so that a fatal error of LLVM is an exception here. The child is
            a copy of this process: it has your passes and policies, but what they change in memory is lost
            with it. After an error the module is unchanged; after success, handles of its values are stale.
        deadline: the seconds that the child process may take; 300 by default.

    Raises:
        InputError: the pipeline, a file or an option is wrong.
        CompilationError: LLVM reported an error, or ended the child process, or did not end in time.
        PassError: a pass in Python raised, or left invalid IR.
        Error: an advisor failed and its `on_error` is ``fail``.
    """
    checked_module("optimize", module)
    text = _pipeline_text(pipeline)
    wanted = _core_options(options, at)
    wanted.cpu, wanted.features, wanted.verify = mcpu, mattr, verify
    wanted.remarks, wanted.decisions, wanted.profile = remarks.core, decisions, profile
    with ExitStack() as stack:
        several = _advisors(module, wanted, advisors, policy, stack)
        _run(module, text, wanted, several, deadline_of("optimize", isolated, deadline))


def _core_options(options: PipelineOptions, at: Mapping[str, str]) -> _core.PipelineOptions:
    """The core's options for the rarer flags, and for pipelines at extension points."""
    wanted = _core.PipelineOptions()
    wanted.at = list(at.items())
    wanted.aa_pipeline, wanted.debug_pass_manager = options.aa_pipeline, options.debug_pass_manager
    wanted.verify_each, wanted.pass_plugins = options.verify_each, list(options.pass_plugins)
    wanted.as_clang = options.as_clang
    wanted.functions = {name: list(words) for name, words in options.functions.items()}
    return wanted


def _advisors(
    module: Module,
    wanted: _core.PipelineOptions,
    advisors: Advisors,
    policy: str | ChosenPolicy,
    stack: ExitStack,
) -> list[Advisor]:
    """The caller's advisors, and those of the decision file and the policy, which `stack` closes.

    A policy's pipeline comes into the core's options.

    Raises:
        Error: something is no advisor and no runner, or the policy is not for the module.
    """
    chosen: ChosenPolicy | None = None
    if policy:
        from passpilot.passes.policy import BEHIND, ChosenPolicy

        chosen = ChosenPolicy.of(policy, "optimize", module.triple)
        if not wanted.decisions and BEHIND not in dict(wanted.at):
            wanted.behind = chosen.pipeline
    several = as_advisors("optimize", [_advisor(value, stack) for value in listed(advisors)])
    points = {advisor.point for advisor in several}
    if wanted.decisions and "inline" not in points:
        several += as_advisors("optimize", _advisor(f"decisions:{wanted.decisions}", stack))
        points.add("inline")
    return several + chosen.advisors(points, stack) if chosen else several


def _run(
    module: Module,
    text: str,
    wanted: _core.PipelineOptions,
    advisors: Sequence[Advisor],
    deadline: float | None,
) -> None:
    """Run a pipeline with advisors, within `deadline` seconds in a child process, or in this process."""
    passes = bind(text, dict(wanted.at), wanted.behind)
    core = module._core

    def run(asked: AskedByLLVM) -> list[str]:
        warnings = core.optimize(text, list(asked.values()), passes, wanted)
        if passes is not None and not any(core.failure for core in asked.values()):
            raise_failure(passes)
        return warnings

    def compiled() -> bytes:
        for warning in advised_llvm("optimize", advisors, run):
            warn_user(warning)
        return b"" if deadline is None else core.bitcode()

    why = cause(module) if any(not advisor.may_idle for advisor in advisors) else ""
    for advisor in advisors:
        advisor.check_target(module.triple)
        advisor.cause = why
    try:
        if deadline is None:
            compiled()
        else:
            with whole_remarks(wanted):
                isolated_llvm("optimize", core, advisors, deadline, compiled, core.replace)
    except InputError as error:
        raise with_suggestion(error) from error.__cause__
    if passes is not None and passes.idle:
        warn_user(passes.idle)


def _pipeline_text(pipeline: str | int) -> str:
    """The text of a pipeline, or of the level that stands for one."""
    if isinstance(pipeline, str):
        return f"default<{pipeline}>" if pipeline in LEVELS else pipeline
    if type(pipeline) is int and f"O{pipeline}" in LEVELS:
        return f"default<O{pipeline}>"
    expected = f"pipeline text such as 'default<O2>', or a level among {', '.join(LEVELS)}"
    raise InputError(f"optimize: expected {expected}, got {pipeline!r:.80}")


def _advisor(value: object, stack: ExitStack) -> object:
    """The advisor that was given, or one of the inliner for a runner in its place; `stack` closes that."""
    from passpilot.passes.advisor import Advisor
    from passpilot.runners.base import Runner

    known = isinstance(value, (str, Runner)) or callable(value) or hasattr(value, "decide")
    if isinstance(value, Advisor) or not known or (isinstance(value, type) and issubclass(value, Advisor)):
        return value
    from passpilot.passes.llvm_advisors import InlineAdvisor

    return stack.enter_context(InlineAdvisor(cast("RunnerLike", value)))
