# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`optimize`: opt in this process, with advisors and passes in Python."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from passpilot.passes.python.pipeline import bind, raise_failure
from passpilot.plugin import _core
from passpilot.plugin.compile import NO_REMARKS, PLAIN, deadline_of, run_pipeline
from passpilot.plugin.module import utf8

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from passpilot.plugin.asking import AdvisorLike
    from passpilot.plugin.compile import PipelineOptions, Remarks
    from passpilot.plugin.module import Module


def optimize(
    module: Module,
    pipeline: str,
    advisors: Sequence[AdvisorLike] = (),
    *,
    at: Mapping[str, str] = MappingProxyType({}),
    mcpu: str = "",
    mattr: str = "",
    verify: bool = True,
    options: PipelineOptions = PLAIN,
    remarks: Remarks = NO_REMARKS,
    isolated: bool = False,
    deadline: float | None = None,
) -> None:
    """Run a textual pipeline of LLVM's new pass manager on `module`, in place, as opt would.

    After an error the module is valid IR, but only partly optimized. If a pass in Python has made the module
    invalid, the module cannot be used any more.

    Args:
        module: the module to optimize.
        pipeline: the pipeline text; it may name passes in Python, see `passpilot.llvm`.
        advisors: the advisors that take decisions, at most one per decision point.
        at: pipelines at LLVM's extension points: ``{"vectorizer-start": "my-pass"}``.
        mcpu: the processor; empty for the one that `llvm_options` has set.
        mattr: target features, as ``+avx2,-sse4a``; empty for those that `llvm_options` has set.
        verify: run LLVM's verifier before and after the pipeline, and refuse an invalid module.
        options: the rarer flags of opt.
        remarks: the file for the remarks of LLVM's passes.
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
    utf8("optimize: pipeline", pipeline)
    for point, text in at.items():
        utf8(f"optimize: pipeline at {point!r}", text)
    passes = bind(pipeline, at)
    wanted = _core.PipelineOptions()
    wanted.cpu, wanted.features, wanted.verify = mcpu, mattr, verify
    wanted.aa_pipeline, wanted.debug_pass_manager = options.aa_pipeline, options.debug_pass_manager
    wanted.verify_each, wanted.pass_plugins = options.verify_each, list(options.pass_plugins)
    wanted.remarks, wanted.at = remarks.core, list(at.items())
    check = partial(raise_failure, passes) if passes is not None else _nothing
    run_pipeline(
        module, pipeline, wanted, advisors, passes, check, deadline_of("optimize", isolated, deadline)
    )


def _nothing() -> None:
    """Checks nothing."""
