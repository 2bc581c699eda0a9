# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`optimize` and `emit` for llvmlite's modules: converts to passpilot's LLVM and back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypedDict, Unpack

from passpilot.passes.emit import emit as emit_module
from passpilot.passes.optimize import Advisors
from passpilot.passes.optimize import optimize as optimize_module
from passpilot.plugin.errors import InputError
from passpilot.plugin.extras import needs
from passpilot.plugin.module import Module
from passpilot.plugin.version import MAJOR

if TYPE_CHECKING:
    from llvmlite import ir
    from llvmlite.binding import ContextRef, ModuleRef

    from passpilot.passes.advisor import Advisor
    from passpilot.passes.policy import ChosenPolicy
    from passpilot.plugin.compile import PipelineOptions, Remarks

    class SharedKeywords(TypedDict, total=False):
        """The keyword arguments that both functions take."""

        mcpu: str
        mattr: str
        verify: bool
        remarks: Remarks
        decisions: str
        policy: str | ChosenPolicy
        isolated: bool
        deadline: float | None

    class OptimizeKeywords(SharedKeywords, total=False):
        """The other keyword arguments of `passpilot.optimize`."""

        at: Mapping[str, str]
        options: PipelineOptions
        profile: str

    class EmitKeywords(SharedKeywords, total=False):
        """The other keyword arguments of `passpilot.emit`."""

        advisors: Advisor | Sequence[Advisor]
        opt_level: int


OLDEST: Final = 20
"""The oldest LLVM that `passpilot.passes.llvmlite.downgrade` supports."""
UNSET: Final = "unknown-unknown-unknown"
"""The triple that llvmlite.ir writes for a module without one."""


def optimize(
    module: ir.Module | ModuleRef,
    pipeline: str | int = "default<O2>",
    advisors: Advisors = (),
    **options: Unpack[OptimizeKeywords],
) -> ModuleRef:
    """What `passpilot.optimize` makes of a module of llvmlite, as a module of llvmlite.

    Args:
        module: left as it is. Give it the triple of the machine, else LLVM knows no costs of instructions.
        pipeline: as in `passpilot.optimize`.
        advisors: as in `passpilot.optimize`.
        options: the keyword arguments of `passpilot.optimize`.

    Raises:
        InputError: the module is not llvmlite's or not valid, or llvmlite's LLVM cannot read the result.
        Error: as `passpilot.optimize`.
    """
    _check_version()
    copy = _read("optimize", module)
    optimize_module(copy, pipeline, advisors, **options)
    return _converted(copy, getattr(module, "_context", None))


def emit(
    module: ir.Module | ModuleRef,
    filetype: Literal["obj", "asm"] = "obj",
    *,
    relocation_model: str = "pic",
    **options: Unpack[EmitKeywords],
) -> bytes:
    """What `passpilot.emit` makes of a module of llvmlite: an object file that llvmlite's JIT compilers load.

    Args:
        module: left as it is; without a triple it is compiled for the host.
        filetype: ``obj`` or ``asm``.
        relocation_model: what MCJIT and ORC place anywhere is ``pic``.
        options: the other keyword arguments of `passpilot.emit`; ``llvmlite.binding.get_host_cpu_name()`` as
            `mcpu` for this machine.

    Raises:
        InputError: the module is not llvmlite's or not valid, or an argument is wrong.
        Error: as `passpilot.emit`.
    """
    copy = _read("emit", module, for_codegen=True)
    return emit_module(copy, filetype, relocation_model=relocation_model, **options)


def _read(who: str, module: ir.Module | ModuleRef, *, for_codegen: bool = False) -> Module:
    """A copy of llvmlite's module as a `Module`."""
    with needs("llvmlite", f"llvmlite.{who}"):
        from llvmlite import ir
        from llvmlite.binding import ModuleRef, get_process_triple

    if not isinstance(module, (ir.Module, ModuleRef)):
        kind = type(module).__name__
        raise InputError(f"llvmlite.{who}: expected an llvmlite.ir.Module or a ModuleRef, got {kind}")
    if getattr(module, "closed", False):
        raise InputError(f"llvmlite.{who}: the module has been closed")
    unset = for_codegen and module.triple in ("", UNSET)
    triple = get_process_triple() if unset else ""
    return Module.read(module, for_codegen=for_codegen, mtriple=triple)


def _converted(module: Module, context: ContextRef | None) -> ModuleRef:
    """A copy of the module in llvmlite's LLVM."""
    from llvmlite import binding

    try:
        if _version() >= MAJOR:
            parsed = binding.parse_bitcode(module.bitcode(), context)
        else:
            from passpilot.passes.llvmlite.downgrade import assembly

            parsed = binding.parse_assembly(assembly(module), context)
        parsed.verify()
    except RuntimeError as error:
        raise _unreadable(module.name, str(error)) from error
    parsed.name = module.name
    return parsed


def _unreadable(name: str, message: str) -> InputError:
    """The error for IR that llvmlite's LLVM cannot read; has its message, and the line if it shows one."""
    from llvmlite.binding import llvm_version_info

    lines = [line.strip() for line in message.splitlines() if line.strip(" ^")]
    place = r"^<string>:\d+:\d+: error: "
    text = " in ".join(re.sub(place, "", line) for line in lines if not line.endswith("parsing error"))
    version = ".".join(map(str, llvm_version_info))
    return InputError(
        f"llvmlite.optimize at {name}: expected IR that llvmlite's LLVM {version} reads, got: "
        f"{text}; take a llvmlite of LLVM {MAJOR} (llvmlite>=0.48)"
    )


def _version() -> int:
    with needs("llvmlite", "llvmlite.optimize"):
        from llvmlite.binding import llvm_version_info

    return int(llvm_version_info[0])


def _check_version() -> None:
    if (version := _version()) < OLDEST:
        raise InputError(
            f"llvmlite.optimize: expected a llvmlite of LLVM {OLDEST} or newer, got one of LLVM {version}; "
            'run: pip install "llvmlite>=0.48"'
        )
