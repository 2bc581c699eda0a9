# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`optimize`: opt in this process, with advisors and passes in Python."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, cast

from passpilot.passes.python.pipeline import bind, raise_failure, with_suggestion
from passpilot.plugin import _core
from passpilot.plugin.asking import listed
from passpilot.plugin.compile import NO_REMARKS, PLAIN, deadline_of, run_pipeline
from passpilot.plugin.errors import InputError
from passpilot.plugin.module import checked_module, utf8
from passpilot.plugin.origin import warn_user
from passpilot.plugin.toolchain import LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from passpilot.plugin.asking import AdvisorLike
    from passpilot.plugin.compile import PipelineOptions, Remarks
    from passpilot.plugin.module import Module
    from passpilot.runners.spec import RunnerLike

Advisors: TypeAlias = "AdvisorLike | RunnerLike | Sequence[AdvisorLike | RunnerLike]"
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
    policy: str = "",
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
    text = utf8("optimize: pipeline", _pipeline_text(pipeline))
    wanted = _wanted(options, at)
    wanted.cpu, wanted.features, wanted.verify = mcpu, mattr, verify
    wanted.remarks, wanted.decisions = remarks.core, utf8("optimize: decisions", decisions)
    runners = _take_policy(policy, module, wanted, at)
    passes = bind(text, at, wanted.behind)
    wanted.at = list(at.items())
    limit = deadline_of("optimize", isolated, deadline)
    _run(module, text, wanted, advisors, runners, passes, limit)
    if passes is not None and passes.idle:
        warn_user(passes.idle)


def _wanted(options: PipelineOptions, at: Mapping[str, str]) -> _core.PipelineOptions:
    """The core's options for the rarer flags, and for pipelines at extension points."""
    for point, each in at.items():
        utf8(f"optimize: pipeline at {point!r}", each)
    wanted = _core.PipelineOptions()
    wanted.aa_pipeline, wanted.debug_pass_manager = options.aa_pipeline, options.debug_pass_manager
    wanted.verify_each, wanted.pass_plugins = options.verify_each, list(options.pass_plugins)
    wanted.as_clang = options.as_clang
    wanted.functions = {name: list(words) for name, words in options.functions.items()}
    return wanted


def _take_policy(
    policy: str, module: Module, wanted: _core.PipelineOptions, at: Mapping[str, str]
) -> Mapping[str, str]:
    """The policy's runners by decision point; its pipeline comes into the core's options.

    Raises:
        Error: there is no such policy, or it is not for the module.
    """
    if not policy:
        return {}
    from passpilot.passes.policy import BEHIND, ChosenPolicy

    chosen = ChosenPolicy.find(utf8("optimize: policy", policy), "optimize")
    chosen.check_target(module.triple)
    if not wanted.decisions and BEHIND not in at:
        wanted.behind = chosen.pipeline
    return chosen.runners


def _run(
    module: Module,
    text: str,
    wanted: _core.PipelineOptions,
    advisors: Advisors,
    runners: Mapping[str, str],
    passes: _core.Passes | None,
    limit: float | None,
) -> None:
    """Run the pipeline with the advisors, and with those made for runners that were given in their place."""
    check = partial(raise_failure, passes) if passes is not None else _nothing
    with ExitStack() as stack:
        asked = [_advisor(each, stack) for each in listed(advisors)]
        points = {getattr(each, "point", "") for each in asked}  # run_pipeline() refuses what is no advisor
        if wanted.decisions and "inline" not in points:
            asked.append(_advisor(f"decisions:{wanted.decisions}", stack))
            points.add("inline")
        asked += [_made(point, runner, stack) for point, runner in runners.items() if point not in points]
        try:
            run_pipeline(module, text, wanted, asked, passes, check, limit)
        except InputError as error:
            raise with_suggestion(error) from error.__cause__


def _pipeline_text(pipeline: str | int) -> str:
    """The text of a pipeline, or of the level that stands for one.

    Raises:
        InputError: it is neither.
    """
    if isinstance(pipeline, str):
        return f"default<{pipeline}>" if pipeline in LEVELS else pipeline
    if type(pipeline) is int and f"O{pipeline}" in LEVELS:
        return f"default<O{pipeline}>"
    expected = f"pipeline text such as 'default<O2>', or a level among {', '.join(LEVELS)}"
    raise InputError(f"optimize: expected {expected}, got {pipeline!r:.80}")


def _advisor(given: object, stack: ExitStack) -> AdvisorLike:
    """The advisor, or one made of the runner that was given in its place; `stack` closes that.

    Raises:
        RunnerError: the runner cannot be made.
    """
    if hasattr(given, "start") and hasattr(given, "finish"):
        return cast("AdvisorLike", given)
    from passpilot.passes.inline import InlineAdvisor  # few compilations need it here
    from passpilot.runners.base import Runner

    if not (isinstance(given, (str, Runner)) or callable(given) or hasattr(given, "decide")):
        return cast("AdvisorLike", given)  # which is refused with the points of the others
    return stack.enter_context(InlineAdvisor(cast("RunnerLike", given)))


def _made(point: str, runner: str, stack: ExitStack) -> AdvisorLike:
    from passpilot.passes.advisor import make_advisor  # as above

    return stack.enter_context(make_advisor(point, runner))


def _nothing() -> None:
    """Checks nothing."""
