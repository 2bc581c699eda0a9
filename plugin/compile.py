# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`optimize` and `emit`: what opt and llc do, in this process and with advisors."""

from __future__ import annotations

import warnings
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, get_args

from passpilot.plugin import _core
from passpilot.plugin.asking import advised_llvm
from passpilot.plugin.errors import InputError, PasspilotWarning
from passpilot.plugin.module import utf8

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from passpilot.plugin.asking import Advisor, AskedByLLVM
    from passpilot.plugin.module import Module

FileType = Literal["obj", "asm", "null"]


def optimize(
    module: Module,
    pipeline: str,
    advisors: Sequence[Advisor] = (),
    *,
    at: Mapping[str, str] = MappingProxyType({}),
    mcpu: str = "",
    mattr: str = "",
    aa_pipeline: str = "default",
    verify: bool = True,
    verify_each: bool = False,
    debug_pass_manager: bool = False,
    pass_plugins: Sequence[str] = (),
    remarks_output: str = "",
    remarks_filter: str = "",
    remarks_format: str = "yaml",
    remarks_with_hotness: bool = False,
) -> None:
    """Run a textual pipeline of LLVM's new pass manager on `module`, in place, as opt would.

    The text may name passes in Python, see `passpilot.llvm`; `at` has more such texts, by LLVM's extension
    points: ``{"vectorizer-start": "my-pass"}``. The advisors take the decisions of their points. After an
    error the module is still valid IR, but only partly optimized; one that a pass in Python has made invalid
    is of no more use. The other keywords are opt's flags of the same names; an empty `mcpu` or `mattr` means
    what `llvm_options` has set.

    Raises:
        InputError: the pipeline, a file or an option is wrong.
        CompilationError: LLVM reported an error.
        PassError: a pass in Python raised, or left IR that is not valid.
        Error: an advisor failed and its `on_error` is ``fail``.
    """
    utf8("optimize: pipeline", pipeline)
    options = _core.PipelineOptions()
    options.cpu, options.features = mcpu, mattr
    options.aa_pipeline, options.debug_pass_manager = aa_pipeline, debug_pass_manager
    options.verify, options.verify_each = verify, verify_each
    options.pass_plugins = list(pass_plugins)
    options.remarks.file, options.remarks.filter = remarks_output, remarks_filter
    options.remarks.format, options.remarks.with_hotness = remarks_format, remarks_with_hotness
    for point, text in at.items():
        utf8(f"optimize: pipeline at {point!r}", text)
    python = import_module("passpilot.passes.python.pipeline")
    passes = python.bind(pipeline, at)
    options.at = list(at.items())

    def run(asked: AskedByLLVM) -> list[str]:
        others = [core for point, core in asked.items() if point != "inline"]
        told = module._core.optimize(pipeline, asked.get("inline"), others, passes, options)
        if passes is not None and not any(core.failure for core in asked.values()):
            python.raise_failure(passes)
        return told

    for text in advised_llvm("optimize", advisors, run):
        warnings.warn(text, PasspilotWarning, stacklevel=2)


def emit(
    module: Module,
    filetype: FileType = "obj",
    *,
    advisors: Sequence[Advisor] = (),
    mcpu: str = "",
    mattr: str = "",
    opt_level: int = 2,
    relocation_model: str = "",
    verify: bool = True,
    remarks_output: str = "",
    remarks_filter: str = "",
    remarks_format: str = "yaml",
    remarks_with_hotness: bool = False,
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
        remarks_output: a file for the remarks of LLVM's passes.
        remarks_filter: only remarks of passes that match this regular expression.
        remarks_format: ``yaml`` or ``bitstream``.
        remarks_with_hotness: remarks with profile counts.

    Raises:
        InputError: the triple or an argument is wrong.
        CompilationError: LLVM reported an error.
        Error: an advisor failed and its `on_error` is ``fail``.
    """
    options = _core.EmitOptions()
    options.filetype = file_type(filetype)
    options.cpu, options.features = mcpu, mattr
    options.opt_level, options.relocation_model, options.verify = opt_level, relocation_model, verify
    options.remarks.file, options.remarks.filter = remarks_output, remarks_filter
    options.remarks.format, options.remarks.with_hotness = remarks_format, remarks_with_hotness
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


def generate(module: Module, options: _core.EmitOptions, advisors: Sequence[Advisor]) -> _core.Emitted:
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
