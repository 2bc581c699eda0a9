# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Module`: LLVM IR in this process, and `optimize` and `emit`, what opt and llc do with it."""

from __future__ import annotations

import os
import warnings
from contextvars import ContextVar
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeVar, cast, get_args

from passpilot.plugin import _core
from passpilot.plugin.errors import InputError, PasspilotWarning
from passpilot.plugin.files import write_file
from passpilot.plugin.ir import ModuleIR

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    _Asked = Mapping[str, _core.Advisor]  # by point

T = TypeVar("T")
FileType = Literal["obj", "asm", "null"]


class SupportsBitcode(Protocol):
    """A module of llvmlite's binding layer."""

    name: str

    def as_bitcode(self) -> bytes: ...


class Advisor(Protocol):
    """What `optimize` and `emit` need of an advisor; `passpilot.InlineAdvisor` is one for `optimize`."""

    @property
    def point(self) -> str:
        """The decision point that it advises."""

    def start(self) -> _core.Advisor | None:
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


ASKED: Final[ContextVar[Mapping[str, Advisor]]] = ContextVar("ASKED", default=MappingProxyType({}))
"""Who advises the compilation on this thread, by point: passes in Python ask them."""


class Module(ModuleIR):
    """One LLVM module with a context of its own; `Module.read` makes it.

    Modules on different threads are independent. One module serves one compilation at a time.
    """

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
        discard_value_names: bool = False,
        for_codegen: bool = False,
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
            discard_value_names: drop the names of values that are not global.
            for_codegen: read as llc does, not as opt: with the target's own data layout.

        Raises:
            InputError: it cannot be read, parsed or verified.
        """
        options = _core.ParseOptions()
        options.triple, options.data_layout = mtriple, data_layout
        options.verify, options.strip_debug = verify, strip_debug
        options.discard_value_names, options.for_codegen = discard_value_names, for_codegen
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

    def copy(self) -> Module:
        """Another module of the same content, in a context of its own."""
        return Module.read(self.bitcode(), name=self.name, verify=False)

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
    _utf8("optimize: pipeline", pipeline)
    options = _core.PipelineOptions()
    options.cpu, options.features = mcpu, mattr
    options.aa_pipeline, options.debug_pass_manager = aa_pipeline, debug_pass_manager
    options.verify, options.verify_each = verify, verify_each
    options.pass_plugins = list(pass_plugins)
    options.remarks.file, options.remarks.filter = remarks_output, remarks_filter
    options.remarks.format, options.remarks.with_hotness = remarks_format, remarks_with_hotness
    for point, text in at.items():
        _utf8(f"optimize: pipeline at {point!r}", text)
    python = import_module("passpilot.passes.python.pipeline")
    passes = python.bind(pipeline, at)
    options.at = list(at.items())

    def run(asked: _Asked) -> list[str]:
        others = [core for point, core in asked.items() if point != "inline"]
        told = module._core.optimize(pipeline, asked.get("inline"), others, passes, options)
        if passes is not None and not any(core.failure for core in asked.values()):
            python.raise_failure(passes)
        return told

    for text in _advised("optimize", advisors, run):
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
    return _advised("emit", advisors, lambda by: core.emit(options, by.get("evict"), by.get("priority")))


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


POINTS: Final[Mapping[str, tuple[str, ...]]] = {"optimize": ("inline",), "emit": ("evict", "priority")}
"""LLVM's decision points that each function reaches; those of passes in Python, `optimize` alone."""


def _advised(function: str, advisors: Sequence[Advisor], run: Callable[[_Asked], T]) -> T:
    """What `run` gives, which gets those of the advisors that LLVM is to ask, by point.

    All advisors that were started are finished, the last first but those that failed before all others; each
    learns of the first error before it.
    """
    _check_points(function, advisors)
    error: BaseException | None = None
    started: list[Advisor] = []
    asked: dict[str, _core.Advisor] = {}
    active: dict[str, Advisor] = {}
    token = ASKED.set(active)
    try:
        for advisor in advisors:
            core = advisor.start()
            started.append(advisor)
            if core is not None:
                asked[advisor.point], active[advisor.point] = core, advisor
        made = run(asked)
    except BaseException as raised:  # noqa: BLE001  (raised again below)
        error = raised
    finally:
        ASKED.reset(token)
    failed = {point for point, core in asked.items() if core.failure is not None}
    last_first = started[::-1]
    for advisor in sorted(last_first, key=lambda each: each.point not in failed):
        try:
            advisor.finish(error)
        except BaseException as raised:  # noqa: BLE001  (likewise)
            error = raised
    if error is not None:
        raise error
    return made


def advised(function: str, advisors: Sequence[Advisor], run: Callable[[], T]) -> T:
    """What `run` gives, a compilation on this thread by another compiler than LLVM.

    Its passes in Python may ask the advisors by their points; what failed in one of these is raised then.

    Raises:
        InputError: an advisor is of a point of LLVM's, two are of one point, or one is in use.
        Error: an advisor failed and its `on_error` is ``fail``.
    """

    def begun(asked: _Asked) -> T | None:
        for core in asked.values():
            core.begin()
        try:
            return run()
        except Exception:
            if any(core.failure for core in asked.values()):
                return None  # what the advisor has to say is raised by its finish()
            raise
        finally:
            for core in asked.values():
                core.end()

    return cast("T", _advised(function, advisors, begun))


def _check_points(function: str, advisors: Sequence[Advisor]) -> None:
    points = [advisor.point for advisor in advisors]
    known = POINTS.get(function, ())
    for point in points:
        other = next((name for name, reached in POINTS.items() if point in reached), None)
        if point not in known and (other or function == "emit"):
            hint = f"; give it to {other}" if other else ""
            raise InputError(f"{function}: expected advisors of {_listed(known)}, got {point}{hint}")
        if points.count(point) > 1:
            raise InputError(
                f"{function}: expected one advisor of the point {point}, got {points.count(point)}"
            )


def _listed(points: Sequence[str]) -> str:
    if not points:
        return "points of passes in Python"
    return f"the point{'s' if len(points) > 1 else ''} {' and '.join(points)}"
