# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`run_pipeline` and `emit`: opt and llc in this process, with advisors.

`passpilot.optimize` adds passes in Python. Rarely used options are in dataclasses: `PipelineOptions` for
opt's rarer flags, `Remarks` for the file of remarks that both may write.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, get_args

from passpilot.plugin import _core
from passpilot.plugin.asking import (
    PreparingAdvisor,
    advised_llvm,
    as_advisors,
    check_targets,
    isolated_llvm,
)
from passpilot.plugin.errors import InputError
from passpilot.plugin.files import OutputFile, check_output
from passpilot.plugin.module import checked_module, utf8
from passpilot.plugin.origin import warn_user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from passpilot.plugin.asking import AdvisorLike, AskedByLLVM
    from passpilot.plugin.module import Module

FileType = Literal["obj", "asm", "null"]

DEADLINE: Final = 300.0
"""The seconds that an isolated compilation may take unless the caller says otherwise."""


@dataclass(frozen=True, slots=True)
class Remarks:
    """The file for the remarks of LLVM's passes: the flags ``-pass-remarks-*`` of opt and llc."""

    output: str = ""
    """The path; empty for no file."""
    filter: str = ""
    """A regular expression: only remarks of passes with matching names; empty for all remarks."""
    format: str = "yaml"
    """``yaml`` or ``bitstream``."""
    with_hotness: bool = False
    """Whether remarks have profile counts, including those that ``-pass-remarks`` prints."""

    @property
    def core(self) -> _core.RemarkOptions:
        """The options as the core takes them; raises InputError for a path of another user's link."""
        if self.output:
            check_output(self.output)
        made = _core.RemarkOptions()
        made.file, made.filter = self.output, self.filter
        made.format, made.with_hotness = self.format, self.with_hotness
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineOptions:
    """The rarer flags of opt, under opt's names."""

    aa_pipeline: str = "default"
    """The alias analyses, as pipeline text."""
    verify_each: bool = False
    """Whether the verifier runs after every pass."""
    debug_pass_manager: bool = False
    """Whether the pass manager prints the passes that it runs."""
    pass_plugins: Sequence[str] = ()
    """Paths of LLVM pass plugins to load first."""
    as_clang: bool = False
    """Whether ``default<LEVEL>`` is clang's pipeline of that level, not opt's: at -Oz clang vectorizes
    straight-line code."""
    functions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Decisions about functions by their names, in the words of a decision file: ``{"f": ["optsize"]}``."""


PLAIN: Final = PipelineOptions()
NO_REMARKS: Final = Remarks()


def run_pipeline(
    module: Module,
    pipeline: str,
    options: _core.PipelineOptions,
    advisors: Sequence[AdvisorLike] = (),
    passes: _core.Passes | None = None,
    check: Callable[[], None] = lambda: None,
    deadline: float | None = None,
) -> None:
    """Run a pipeline on `module`, in place; users call `passpilot.optimize`.

    Args:
        module: the module to optimize.
        pipeline: the pipeline text.
        options: the flags of opt.
        advisors: the advisors that take decisions.
        passes: the passes in Python that the text names.
        check: raises the exception of a pass in Python, if there was one.
        deadline: the seconds for a compilation in a child process; None to compile in this process.

    Raises:
        Error: as `passpilot.optimize`.
    """

    def run(asked: AskedByLLVM) -> list[str]:
        told = module._core.optimize(pipeline, list(asked.values()), passes, options)
        if not any(core.failure for core in asked.values()):
            check()
        return told

    def compiled() -> None:
        for text in advised_llvm("optimize", advisors, run):
            warn_user(text)

    core = module._core
    check_targets(advisors, module.triple)
    if deadline is None:
        compiled()
        return

    def inside() -> bytes:
        compiled()
        return core.bitcode()

    with _whole_remarks(options):
        isolated_llvm("optimize", core, advisors, deadline, inside, core.replace)


@contextmanager
def _whole_remarks(options: _core.PipelineOptions | _core.EmitOptions) -> Iterator[None]:
    """Let a child process write the remarks into a file that appears at the end, unless the block fails."""
    remarks = options.remarks
    path = remarks.file
    if not path or path == "-" or (os.path.exists(path) and not _is_plain(path)):
        yield
        return
    with OutputFile(path) as file:
        remarks.file = f"/proc/self/fd/{file.fd}"
        options.remarks = remarks
        yield


def _is_plain(path: str) -> bool:
    """Whether the path names a regular file, not an open descriptor of this process."""
    return os.path.isfile(path) and not path.startswith(("/dev/", "/proc/"))


def deadline_of(function: str, isolated: bool, deadline: float | None) -> float | None:
    """The deadline of a compilation in a child process; None for one in this process.

    Raises:
        InputError: there is a deadline without a child process, or it is not a number above 0.
    """
    if deadline is not None and not isolated:
        raise InputError(f"{function}: expected isolated=True with a deadline, got a deadline alone")
    if deadline is not None and not deadline > 0:
        raise InputError(f"{function}: expected a deadline of more than 0 seconds, got {deadline}")
    if not isolated:
        return None
    return DEADLINE if deadline is None else deadline


def emit(
    module: Module,
    filetype: FileType = "obj",
    *,
    advisors: AdvisorLike | Sequence[AdvisorLike] = (),
    mcpu: str = "",
    mattr: str = "",
    opt_level: int = 2,
    relocation_model: str = "",
    verify: bool = True,
    remarks: Remarks = NO_REMARKS,
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
        isolated: compile in a child process, as in `passpilot.optimize`; the module then stays as it is.
        deadline: the seconds that the child process may take; 300 by default.

    Raises:
        InputError: the triple or an argument is wrong.
        CompilationError: LLVM reported an error, or ended the child process, or did not end in time.
        Error: an advisor failed and its `on_error` is ``fail``.
    """
    checked_module("emit", module)
    options = _core.EmitOptions()
    options.filetype = file_type(filetype)
    options.cpu, options.features = mcpu, mattr
    options.opt_level, options.relocation_model, options.verify = opt_level, relocation_model, verify
    options.remarks = remarks.core
    limit = deadline_of("emit", isolated, deadline)
    if limit is None:
        return generate(module, options, advisors).code
    with _whole_remarks(options):
        return isolated_llvm(
            "emit", module._core, advisors, limit, lambda: generate(module, options, advisors).code
        )


def file_type(name: str) -> _core.FileType:
    """The core's file type for a value of llc's flag -filetype.

    Raises:
        InputError: there is no such file type.
    """
    if name not in get_args(FileType):
        known = " or ".join(map(repr, get_args(FileType)))
        raise InputError(f"emit: expected filetype {known}, got {name!r}")
    return _core.FileType[name.upper()]


def generate(
    module: Module, options: _core.EmitOptions, advisors: AdvisorLike | Sequence[AdvisorLike]
) -> _core.Emitted:
    """Generate code with all options of llc; returns the object or assembly, the .dwo, and the costs.

    Raises:
        Error: as `emit`.
    """
    core = module._core
    check_targets(advisors, module.triple)
    preparing = {
        each.point: each for each in as_advisors("emit", advisors) if isinstance(each, PreparingAdvisor)
    }

    def run(asked: AskedByLLVM) -> _core.Emitted:
        for point, _ in _core.emit_passes():
            if point in asked and point in preparing:
                preparing[point].prepare(core, options)
                if asked[point].failure:
                    return _core.Emitted()  # the advisor's finish() raises it
        return core.emit(options, [each for point, each in asked.items() if point not in preparing])

    return advised_llvm("emit", advisors, run)


def llvm_options(arguments: Sequence[str], *, forget: Sequence[str] = ()) -> None:
    """Set LLVM's own options, such as ``-inline-threshold=50``, for this process.

    A call first resets the options that it names to LLVM's defaults; other options keep their values. Those
    in `forget`, such as ``-regalloc``, are as if an earlier call had not given them.

    Raises:
        InputError: LLVM refuses an option, or another thread compiles and reads the options.
    """
    given, forgotten = ([utf8("LLVM option", each) for each in some] for some in (arguments, forget))
    _core.parse_options(given, forgotten)
