# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Module`: LLVM IR in this process, and `optimize` and `emit`, what opt and llc do with it."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Literal, Protocol

from passpilot.plugin import _core
from passpilot.plugin.errors import InputError, PasspilotWarning
from passpilot.plugin.files import write_file

if TYPE_CHECKING:
    from collections.abc import Sequence


class SupportsBitcode(Protocol):
    """A module of llvmlite's binding layer."""

    name: str

    def as_bitcode(self) -> bytes: ...


class Advisor(Protocol):
    """What `optimize` needs of an advisor; `passpilot.InlineAdvisor` is one."""

    @property
    def point(self) -> str:
        """The decision point that it advises."""

    def start(self) -> _core.InlineAdvisor | None:
        """Get ready for one compilation; None if the compiler is to decide as if there were no advisor."""

    def finish(self, error: BaseException | None) -> None:
        """End the compilation that `start` began, which raised `error` or nothing.

        Raises:
            Error: the advisor's own failure, if that is what ended the compilation.
        """

    def report(self) -> str:
        """The counts for people."""

    def close(self) -> None:
        """Let go of the runner."""


class Module:
    """One LLVM module with a context of its own; `Module.read` makes it.

    Modules on different threads are independent. One module serves one compilation at a time.
    """

    def __init__(self, core: _core.Module) -> None:
        self._core = core

    @classmethod
    def read(
        cls,
        source: str | os.PathLike[str] | bytes | SupportsBitcode | object,
        *,
        name: str | None = None,
        mtriple: str = "",
        data_layout: str = "",
        verify: bool = True,
        strip_debug: bool = False,
    ) -> Module:
        """Parse LLVM assembly or bitcode.

        Args:
            source: a path (``-``: standard input), the bytes of a .ll or .bc file, or a module of llvmlite
                (`llvmlite.ir.Module` or `llvmlite.binding.ModuleRef`).
            name: the module's identifier where `source` is not a path.
            mtriple: overrides the module's target triple.
            data_layout: overrides the module's data layout.
            verify: refuse a module that the verifier refuses.
            strip_debug: drop debug information first.

        Raises:
            InputError: it cannot be read, parsed or verified.
        """
        options = _core.ParseOptions()
        options.triple, options.data_layout = mtriple, data_layout
        options.verify, options.strip_debug = verify, strip_debug
        if isinstance(source, (str, os.PathLike)):
            return cls(_core.Module.from_file(_utf8("Module.read", os.fspath(source)), options))
        data, found = _bytes_of(source)
        return cls(_core.Module.from_memory(data, name or found, options))

    @property
    def name(self) -> str:
        """The module's identifier: the path it was read from."""
        return self._core.name

    @property
    def triple(self) -> str:
        """The target triple; empty if the module has none."""
        return self._core.triple

    @property
    def data_layout(self) -> str:
        """The data layout string."""
        return self._core.data_layout

    def verify(self) -> None:
        """Run LLVM's verifier.

        Raises:
            InputError: the module is broken; says how.
        """
        if complaints := self._core.verify():
            raise InputError(f"{self.name}: expected a module that verifies, got: {complaints}")

    def __str__(self) -> str:
        return self._core.assembly().decode("utf-8", "replace")

    def __repr__(self) -> str:
        return f"<Module {self.name!r} {self.triple}>"

    def assembly(self) -> bytes:
        """The module as LLVM assembly, byte for byte as ``opt -S`` prints it."""
        return self._core.assembly()

    def bitcode(self) -> bytes:
        """The module as bitcode, byte for byte as opt writes it."""
        return self._core.bitcode()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the module to `path`, as assembly if it ends in ``.ll``, else as bitcode.

        Raises:
            InputError: the file cannot be written.
        """
        target = os.fspath(path)
        write_file(target, self.assembly() if target.endswith(".ll") else self.bitcode())


def optimize(
    module: Module,
    pipeline: str,
    advisors: Sequence[Advisor] = (),
    *,
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

    The advisors take the decisions of their points. After an error the module is still valid IR, but only
    partly optimized. The keywords are opt's flags of the same names; an empty `mcpu` or `mattr` means what
    `llvm_options` has set.

    Raises:
        InputError: the pipeline, a file or an option is wrong.
        CompilationError: LLVM reported an error.
        Error: an advisor failed and its `on_error` is ``fail``.
    """
    _utf8("optimize: pipeline", pipeline)
    options = _core.PipelineOptions()
    options.cpu, options.features = mcpu, mattr
    options.aa_pipeline, options.debug_pass_manager = aa_pipeline, debug_pass_manager
    options.verify, options.verify_each = verify, verify_each
    options.pass_plugins = list(pass_plugins)
    options.remarks_file, options.remarks_filter = remarks_output, remarks_filter
    options.remarks_format, options.remarks_with_hotness = remarks_format, remarks_with_hotness
    advisor = _the_advisor(advisors)
    if advisor is None:
        _run(module, pipeline, None, options)
        return
    core = advisor.start()
    try:
        _run(module, pipeline, core, options)
    except BaseException as error:
        advisor.finish(error)
        raise
    advisor.finish(None)


def emit(
    module: Module,
    filetype: Literal["obj", "asm"] = "obj",
    *,
    mcpu: str = "",
    mattr: str = "",
    opt_level: int = 2,
    relocation_model: str = "",
) -> bytes:
    """Generate code for `module`, as llc would: an object file or assembly.

    Code generation lowers the module in place: write its IR first if you want it.

    Args:
        module: what to compile; needs a target triple.
        filetype: ``obj`` or ``asm``.
        mcpu: the processor; empty as in `optimize`.
        mattr: target features, as ``+avx2,-sse4a``.
        opt_level: 0 to 3.
        relocation_model: ``pic``, ``static``, ...; empty for the target's default.

    Raises:
        InputError: the triple or an argument is wrong.
        CompilationError: LLVM reported an error.
    """
    if filetype not in ("obj", "asm"):
        raise InputError(f"emit: expected filetype 'obj' or 'asm', got {filetype!r}")
    options = _core.EmitOptions()
    options.cpu, options.features = mcpu, mattr
    options.assembly = filetype == "asm"
    options.opt_level, options.relocation_model = opt_level, relocation_model
    return module._core.emit(options)


def llvm_options(arguments: Sequence[str]) -> None:
    """Set options of LLVM's own, such as ``-inline-threshold=50``, for this process.

    Each call starts from LLVM's defaults for what it names; options named before keep their values.

    Raises:
        InputError: LLVM does not take them.
    """
    _core.parse_options([_utf8("LLVM option", each) for each in arguments])


def _utf8(what: str, text: str) -> str:
    """The text itself, if the core can have it: Python keeps bytes of the command line that are no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{what}: expected UTF-8, got {text!r}; rename it") from error
    return text


def _bytes_of(source: object) -> tuple[bytes, str]:
    """The bytes and a name of a source that is no path."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), "<bytes>"
    if type(source).__module__.partition(".")[0] == "llvmlite":
        name = str(getattr(source, "name", "")) or "<llvmlite>"
        if hasattr(source, "as_bitcode"):
            return source.as_bitcode(), name
        return str(source).encode(), name
    kind = type(source).__name__
    raise InputError(f"Module.read: expected a path, bytes or a module of llvmlite, got {kind}")


def _the_advisor(advisors: Sequence[Advisor]) -> Advisor | None:
    for advisor in advisors:
        if advisor.point != "inline":
            raise InputError(f"optimize: expected advisors of the point inline, got {advisor.point}")
    if len(advisors) > 1:
        raise InputError(f"optimize: expected one advisor of the point inline, got {len(advisors)}")
    return advisors[0] if advisors else None


def _run(
    module: Module, pipeline: str, inline: _core.InlineAdvisor | None, options: _core.PipelineOptions
) -> None:
    for text in module._core.optimize(pipeline, inline, options):
        warnings.warn(text, PasspilotWarning, stacklevel=3)
