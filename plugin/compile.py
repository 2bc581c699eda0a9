# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What opt and llc do, in this process and with advisors; `passpilot.optimize` adds passes in Python.

What only some compilations need stands in a dataclass: `PipelineOptions` for opt's rarer flags, `Remarks` for
the file of remarks that both may write.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

from passpilot.plugin import _core
from passpilot.plugin.asking import advised_llvm
from passpilot.plugin.errors import InputError
from passpilot.plugin.module import utf8
from passpilot.plugin.origin import warn_user

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from passpilot.plugin.asking import AdvisorLike, AskedByLLVM
    from passpilot.plugin.module import Module

FileType = Literal["obj", "asm", "null"]


@dataclass(frozen=True, slots=True)
class Remarks:
    """The file for the remarks of LLVM's passes: the flags ``-pass-remarks-*`` of opt and llc."""

    output: str = ""
    """The path; empty for no file."""
    filter: str = ""
    """Only the remarks of passes whose names match this regular expression; empty for all."""
    format: str = "yaml"
    """``yaml`` or ``bitstream``."""
    with_hotness: bool = False
    """Whether the remarks have profile counts, those that ``-pass-remarks`` prints as well."""

    @property
    def core(self) -> _core.RemarkOptions:
        """The same for the core."""
        made = _core.RemarkOptions()
        made.file, made.filter = self.output, self.filter
        made.format, made.with_hotness = self.format, self.with_hotness
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineOptions:
    """The rarer flags of opt, under opt's names."""

    aa_pipeline: str = "default"
    """The alias analyses, as text."""
    verify_each: bool = False
    """Whether the verifier runs after every pass."""
    debug_pass_manager: bool = False
    """Whether the pass manager prints what it runs."""
    pass_plugins: Sequence[str] = ()
    """Paths of plugins for opt to load first."""


PLAIN: Final = PipelineOptions()
NO_REMARKS: Final = Remarks()


def run_pipeline(
    module: Module,
    pipeline: str,
    options: _core.PipelineOptions,
    advisors: Sequence[AdvisorLike] = (),
    passes: _core.Passes | None = None,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Run a pipeline text on `module`, in place; `passpilot.optimize` is for users.

    Args:
        module: what to optimize.
        pipeline: the text.
        options: the flags of opt.
        advisors: who takes decisions.
        passes: the passes in Python that the text names.
        check: raises what a pass in Python has raised.

    Raises:
        Error: as `passpilot.optimize`.
    """

    def run(asked: AskedByLLVM) -> list[str]:
        others = [core for point, core in asked.items() if point != "inline"]
        told = module._core.optimize(pipeline, asked.get("inline"), others, passes, options)
        if not any(core.failure for core in asked.values()):
            check()
        return told

    for text in advised_llvm("optimize", advisors, run):
        warn_user(text)


def emit(
    module: Module,
    filetype: FileType = "obj",
    *,
    advisors: Sequence[AdvisorLike] = (),
    mcpu: str = "",
    mattr: str = "",
    opt_level: int = 2,
    relocation_model: str = "",
    verify: bool = True,
    remarks: Remarks = NO_REMARKS,
) -> bytes:
    """Generate code for `module`, as llc would: an object file or assembly.

    The advisors take the decisions of the points evict and priority, at most one for each. Code generation
    lowers the module in place: `copy` it, or write its IR, first if you want it.

    Args:
        module: what to compile; without a target triple it is compiled for the host.
        filetype: ``obj``, ``asm``, or ``null`` to generate code and drop it.
        advisors: who is asked while registers are allocated.
        mcpu: the processor; empty as in `optimize`.
        mattr: target features, as ``+avx2,-sse4a``.
        opt_level: 0 to 3.
        relocation_model: ``pic``, ``static``, ...; empty for the target's default.
        verify: refuse a module that the verifier refuses.
        remarks: the file for the remarks of LLVM's passes.

    Raises:
        InputError: the triple or an argument is wrong.
        CompilationError: LLVM reported an error.
        Error: an advisor failed and its `on_error` is ``fail``.
    """
    options = _core.EmitOptions()
    options.filetype = file_type(filetype)
    options.cpu, options.features = mcpu, mattr
    options.opt_level, options.relocation_model, options.verify = opt_level, relocation_model, verify
    options.remarks = remarks.core
    return generate(module, options, advisors).code


def file_type(name: str) -> _core.FileType:
    """The core's word for what llc's flag -filetype calls `name`.

    Raises:
        InputError: it is none.
    """
    if name not in get_args(FileType):
        known = " or ".join(map(repr, get_args(FileType)))
        raise InputError(f"emit: expected filetype {known}, got {name!r}")
    return _core.FileType[name.upper()]


def generate(module: Module, options: _core.EmitOptions, advisors: Sequence[AdvisorLike]) -> _core.Emitted:
    """Generate code with all of llc's options: the object or assembly, the .dwo, and what is to be measured.

    Raises:
        Error: as `emit`.
    """
    core = module._core
    return advised_llvm("emit", advisors, lambda by: core.emit(options, by.get("evict"), by.get("priority")))


def llvm_options(arguments: Sequence[str]) -> None:
    """Set options of LLVM's own, such as ``-inline-threshold=50``, for this process.

    Each call starts from LLVM's defaults for what it names; options named before keep their values.

    Raises:
        InputError: LLVM does not take them.
    """
    _core.parse_options([utf8("LLVM option", each) for each in arguments])
