# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`emit`: llc in this process, with advisors; `generate` is the same with all options of the core."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from passpilot.features.catalogue import EMIT_PASSES
from passpilot.passes.asking import advised_llvm, as_advisors, isolated_llvm
from passpilot.plugin import _core
from passpilot.plugin.compile import (
    DEADLINE,
    NO_REMARKS,
    FileType,
    Remarks,
    deadline_of,
    file_type,
    llvm_options,
    unset_options,
    whole_remarks,
)
from passpilot.plugin.module import Module, checked_module

if TYPE_CHECKING:
    from passpilot.passes.advisor import Advisor
    from passpilot.passes.asking import AskedByLLVM
    from passpilot.passes.policy import ChosenPolicy


def emit(
    module: Module,
    filetype: FileType = "obj",
    *,
    advisors: Advisor | Sequence[Advisor] = (),
    mcpu: str = "",
    mattr: str = "",
    opt_level: int = 2,
    relocation_model: str = "",
    verify: bool = True,
    remarks: Remarks = NO_REMARKS,
    decisions: str = "",
    policy: str | ChosenPolicy = "",
    isolated: bool = False,
    deadline: float | None = None,
) -> bytes:
    """Generate code for `module`, as llc would: an object file or assembly.

    Code generation lowers the module in place: to keep the module, `copy` it or write its IR first.

    Args:
        module: the module to compile; without a target triple, it is compiled for the host.
        filetype: ``obj``, ``asm``, or ``null`` to generate code and drop it.
        advisors: the advisors of the points evict, priority, advised-outliner and advised-outline, at most
            one for a point; one alone needs no list.
        mcpu: the processor; empty for the one that `llvm_options` has set.
        mattr: target features, as ``+avx2,-sse4a``; empty for those that `llvm_options` has set.
        opt_level: 0 to 3.
        relocation_model: ``pic``, ``static``, ...; empty for the target's default.
        verify: run LLVM's verifier, and refuse an invalid module.
        remarks: the file for the remarks of LLVM's passes.
        decisions: the path of a decision file of ``passpilot tune``, whose options of LLVM are used.
        policy: a policy, as ``@oz``: its models where no advisor decides, and its options of LLVM.
        isolated: compile in a child process, as in `passpilot.optimize`; the module then stays as it is. So
            it does if `decisions` or `policy` have options of LLVM, which are options of a whole process.
        deadline: the seconds that the child process may take; 300 by default.

    Raises:
        InputError: the triple, a file or an argument is wrong.
        CompilationError: LLVM reported an error, or ended the child process, or did not end in time.
        Error: an advisor failed and its `on_error` is ``fail``.
    """
    checked_module("emit", module)
    options = _core.EmitOptions()
    options.filetype, options.remarks = file_type(filetype), remarks.core
    options.cpu, options.features = mcpu, mattr
    options.opt_level, options.relocation_model, options.verify = opt_level, relocation_model, verify
    limit = deadline_of("emit", isolated, deadline)
    several, flags = as_advisors("emit", advisors), list[str]()
    with ExitStack() as stack:
        if decisions:
            flags += unset_options(_core.decided_options(decisions, module.source_file))
        if policy:
            from passpilot.passes.policy import ChosenPolicy

            chosen = ChosenPolicy.of(policy, "emit", module.triple)
            several += chosen.advisors({advisor.point for advisor in several}, stack)
            flags += unset_options(chosen.options(module.triple))
        return _emitted(module, options, several, flags, DEADLINE if flags and limit is None else limit)


def _emitted(
    module: Module,
    options: _core.EmitOptions,
    advisors: Sequence[Advisor],
    flags: Sequence[str],
    deadline: float | None,
) -> bytes:
    """Generate code with these flags of LLVM, in a child process if there is a deadline."""
    if deadline is None:
        return generate(module, options, advisors).code

    def run() -> bytes:
        if flags:
            llvm_options(flags)
        return generate(module, options, advisors).code

    with whole_remarks(options):
        return isolated_llvm("emit", module._core, advisors, deadline, run)


def generate(
    module: Module, options: _core.EmitOptions, advisors: Advisor | Sequence[Advisor] = ()
) -> _core.Emitted:
    """Generate code with all options of llc; returns the object or assembly, the .dwo, and the costs.

    Raises:
        Error: as `emit`.
    """
    core = module._core
    several = as_advisors("emit", advisors)
    for advisor in several:
        advisor.check_target(module.triple)

    def run(asked: AskedByLLVM) -> _core.Emitted:
        for point in EMIT_PASSES:
            if point in asked:
                _run_pass(core, point, asked[point], options)
                if asked[point].failure:
                    return _core.Emitted()  # the advisor's finish() raises it
        return core.emit(options, [advisor for point, advisor in asked.items() if point not in EMIT_PASSES])

    return advised_llvm("emit", several, run)


def _run_pass(core: _core.Module, point: str, advisor: _core.Advisor, options: _core.EmitOptions) -> None:
    """Run the pass that asks at a point, at the beginning of code generation."""
    from passpilot.passes.python.pipeline_text import bind, raise_failure  # few compilations need it

    passes = bind(EMIT_PASSES[point], {})
    pipeline_options = _core.PipelineOptions()
    pipeline_options.cpu, pipeline_options.features = options.cpu, options.features
    pipeline_options.verify = options.verify
    core.optimize(EMIT_PASSES[point], [advisor], passes, pipeline_options)
    options.outlines = options.outlines or point == "advised-outliner"
    if passes is not None and advisor.failure is None:
        raise_failure(passes)
