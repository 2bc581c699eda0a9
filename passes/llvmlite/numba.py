# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised_numba`: optimizes with LLVM 22 and advisors what Numba compiles in a `with` block.

Numba's CPU target creates a code library per function; its codegen names the class. While any block is
active, that class is ours: where Numba would run its -O3, it passes the linked module to passpilot. The
context (`contextvars`) in which a library is compiled decides whether it is advised, so other threads get
plain Numba.
"""

from __future__ import annotations

import threading
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, Literal

from passpilot.features.catalogue import emit_points
from passpilot.passes.advisor import Advisor
from passpilot.passes.asking import as_advisors
from passpilot.passes.llvmlite.module import emit, optimize
from passpilot.plugin.errors import InputError, PasspilotWarning
from passpilot.plugin.extras import install, needs

_LOCK: Final = threading.Lock()


@dataclass(frozen=True)
class _Advised:
    pipeline: str
    advisors: tuple[Advisor, ...]
    at: Mapping[str, str]
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    """A unique key for Numba's disk cache, so that nothing cached is reused in this block."""
    compiled: threading.Event = field(default_factory=threading.Event)
    """Set once Numba has compiled a function in this block."""

    def of(self, function: Literal["optimize", "emit"]) -> list[Advisor]:
        """The advisors for `function`: those of emit's points for `emit`, all others for `optimize`."""
        chosen = function == "emit"
        return [advisor for advisor in self.advisors if (advisor.point in emit_points()) == chosen]


_ACTIVE: Final[ContextVar[_Advised | None]] = ContextVar("_ACTIVE", default=None)
"""The innermost block of this context; None also while passpilot compiles one of its libraries."""


@contextmanager
def advised_numba(
    pipeline: str = "default<O3>",
    advisors: Sequence[Advisor] = (),
    *,
    at: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[None]:
    """Compile what Numba compiles in the ``with`` block, or in the decorated function, with advisors.

    A function is compiled when it is first called with arguments of new types, so call it in the block. It
    stays compiled afterwards. Numba's own pruning of reference counts runs before and after; what a function
    with ``cache=True`` has in the cache is not used, and what is stored there is never found again.

    Args:
        pipeline: what runs in place of Numba's -O3, for the processor that Numba compiles for.
        advisors: who takes decisions, at most one per point. With one of evict or priority, passpilot
            generates the code as well.
        at: as in `passpilot.optimize`.

    Raises:
        InputError: Numba is missing, or is not one of those that passpilot knows.
        Error: as `passpilot.optimize` and `passpilot.emit`, out of the call that had a function compiled.
    """
    codegen = _codegen()
    advisors = as_advisors("advised_numba", advisors)
    active = _Advised(pipeline, tuple(advisors), at)
    with _may_idle(advisors):
        with _LOCK:
            _enter(codegen)
        try:
            with _advice(active):
                yield
        finally:
            with _LOCK:
                _leave(codegen)
    if active.compiled.is_set():
        return
    for advisor in advisors:
        if advisor.asks:
            who = f"{advisor.point} advisor: runner {advisor.name}"
            text = "was never asked: Numba compiled nothing in the block; first call the function inside it"
            warnings.warn(f"{who} {text}", PasspilotWarning, stacklevel=3)


@contextmanager
def _may_idle(advisors: Sequence[Advisor]) -> Iterator[None]:
    """Silences the warning about advisors that were never asked: many functions need no decision."""
    before = [advisor.may_idle for advisor in advisors]
    for advisor in advisors:
        advisor.may_idle = True
    try:
        yield
    finally:
        for advisor, may_idle in zip(advisors, before, strict=True):
            advisor.may_idle = may_idle


_blocks = 0


def _enter(codegen: Any) -> None:
    """Install our library class in the codegen when the first block begins."""
    global _blocks
    if _blocks == 0:
        original = codegen.magic_tuple

        def magic_tuple() -> tuple[object, ...]:
            """The key of Numba's disk cache."""
            active = _ACTIVE.get()
            return original() if active is None else (*original(), active.key)

        codegen._library_class = _library_class()
        codegen.magic_tuple = magic_tuple
    _blocks += 1


def _leave(codegen: Any) -> None:
    """Remove our library class when the last block ends."""
    global _blocks
    _blocks -= 1
    if _blocks == 0:
        del codegen._library_class, codegen.magic_tuple  # uncovers the attributes of the codegen's class


def _codegen() -> Any:
    """The codegen of Numba's CPU target."""
    with needs("numba", "advised_numba"):
        registry = import_module("numba.core.registry")
    context = registry.cpu_target.target_context
    codegen = context.codegen()
    needed = ("_library_class", "_module_pass_manager", "_get_host_cpu_name", "magic_tuple")
    if missing := [name for name in needed if not hasattr(codegen, name)]:
        version = import_module("numba").__version__
        raise InputError(
            f"advised_numba: expected a Numba whose codegen has {', '.join(missing)}, got Numba {version}; "
            f"run: {install('numba')}"
        )
    with import_module("numba.core.compiler_lock").global_compiler_lock:
        context.refresh()  # compiles Numba's run time, once per process, without advisors
    return codegen


@cache
def _library_class() -> type:
    """Our class of code libraries; created on first use, because it needs Numba."""
    from numba.core.codegen import JITCodeLibrary

    class AdvisedCodeLibrary(JITCodeLibrary):
        def _optimize_final_module(self) -> None:
            if (active := _ACTIVE.get()) is None:
                super()._optimize_final_module()  # type: ignore[no-untyped-call]
                return
            active.compiled.set()
            with _advice(None):
                _optimize(self, active)

        def _finalize_final_module(self) -> None:
            finalize = super()._finalize_final_module
            active = _ACTIVE.get()
            if active is None or not (advisors := active.of("emit")):
                finalize()  # type: ignore[no-untyped-call]
                return
            codegen: Any = self._codegen
            with _advice(None):
                code = emit(
                    self._final_module,
                    advisors=advisors,
                    mcpu=codegen._get_host_cpu_name(),
                    mattr=codegen._tm_features,
                    opt_level=int(import_module("numba.core.config").OPT),
                )
            _load(self, code, finalize)

    return AdvisedCodeLibrary


@contextmanager
def _advice(active: _Advised | None) -> Iterator[None]:
    """Advise what Numba compiles in the block; with None nothing, since a policy may itself use Numba."""
    token = _ACTIVE.set(active)
    try:
        yield
    finally:
        _ACTIVE.reset(token)


def _optimize(library: Any, active: _Advised) -> None:
    """Repeats Numba's steps, with our pipeline in place of its -O3.

    Source: CPUCodeLibrary._optimize_final_module of Numba 0.68.
    """
    codegen = library._codegen
    for_pruning = {"loop_vectorize": codegen._loopvect, "slp_vectorize": False, "opt": codegen._opt_level}
    _run(library, cost="cheap", **for_pruning)
    library._final_module = optimize(
        library._final_module,
        active.pipeline,
        active.of("optimize"),
        at=active.at,
        mcpu=codegen._get_host_cpu_name(),
        mattr=codegen._tm_features,
    )
    _run(library, loop_vectorize=False, slp_vectorize=False, opt=0)  # for its reference pruning only


def _run(library: Any, **options: object) -> None:
    manager, builder = library._codegen._module_pass_manager(**options)
    manager.run(library._final_module, builder)


def _load(library: Any, code: bytes, finalize: Callable[[], None]) -> None:
    """Finalize a library with `code` in place of the code of Numba's LLVM.

    `code` is passed to Numba's JIT like an object from the disk cache, and may be cached afterwards.
    """
    cached = library._object_caching_enabled
    library.enable_object_caching()
    library._set_compiled_object(code)
    library._disable_inspection = False  # the module is there
    finalize()
    library._compiled, library._compiled_object = True, code
    library._object_caching_enabled = cached
