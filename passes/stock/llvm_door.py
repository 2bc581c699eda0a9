# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python side of the plugin in a stock LLVM compiler; the plugin starts this interpreter.

Python passes run in this process: the core that they use shares the process's libLLVM.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from ctypes import c_bool, c_double, c_size_t
from typing import Final

from passpilot.features.catalogue import HOOKED
from passpilot.passes.advisor import Advisor, OnError, advisor
from passpilot.passes.point_advisor import PointAdvisor
from passpilot.passes.python.pipeline_text import bind_to, raise_failure
from passpilot.passes.stock import advisors as loaded
from passpilot.passes.stock.compilation import CompilationAdvisors
from passpilot.plugin import _core
from passpilot.plugin.embedded import TEXT, Tell, Teller, end, load, told_warnings


class _LoadedCompilation:
    def __init__(self, address: int) -> None:
        self.passes = _core.Passes.of(address)
        self.advisors = CompilationAdvisors()

    def find(self, element: str) -> None:
        """Add the Python pass that an element of pipeline text names, if any."""
        bind_to(self.passes, element, self._advised)

    def explain(self) -> None:
        self.advisors.raise_failure()
        raise_failure(self.passes)

    def end(self, *, good: bool, stats: bool) -> None:
        """End the compilation: close the advisors, and raise their errors."""
        self.passes.end()
        self.advisors.end(good=good, stats=stats)

    def _advised(self, run: Callable[..., object]) -> Callable[..., object]:
        """Wraps a pass's run() so that the advisors of this compilation take its decisions."""

        def body(unit: object) -> object:
            with self.advisors.asked():
                return run(unit)

        return body


_COMPILATIONS: Final[dict[int, _LoadedCompilation]] = {}
"""The compilations by the address of the plugin's passes, until these are destroyed."""


def _compilation(address: int) -> _LoadedCompilation:
    if address not in _COMPILATIONS:
        _COMPILATIONS[address] = _LoadedCompilation(address)
    return _COMPILATIONS[address]


def _find(tell: Teller, address: int, element: bytes) -> None:  # noqa: ARG001
    _compilation(address).find(os.fsdecode(element))


def _advise(
    tell: Teller,  # noqa: ARG001
    address: int,
    point: bytes,
    runner: bytes,
    log: bytes,
    on_error: bytes,
    timeout: float,
) -> None:
    policy: OnError = "default" if on_error == b"default" else "fail"
    point_advisor = PointAdvisor(
        os.fsdecode(point),
        os.fsdecode(runner),
        log=os.fsdecode(log) or None,
        on_error=policy,
        timeout=timeout,
    )
    _compilation(address).advisors.advise(point_advisor)


def _explain(tell: Teller, address: int) -> None:  # noqa: ARG001
    _compilation(address).explain()


def _end_passes(tell: Teller, address: int, good: bool, stats: bool) -> None:
    with told_warnings(tell):
        _compilation(address).end(good=good, stats=stats)


def _forget(tell: Teller, address: int) -> None:  # noqa: ARG001
    if compilation := _COMPILATIONS.pop(address, None):
        compilation.passes.end()


def _make(
    point: str, runner: str, log: str | None, on_error: OnError, timeout: float, limit: float
) -> Advisor:
    row = HOOKED[point].limit if point in HOOKED else None
    limits = {row.keyword: int(limit) if row.whole else limit} if row else {}
    return advisor(point, runner, log=log, on_error=on_error, timeout=timeout, **limits)


def connect(address: int, tell: Tell) -> None:
    """Write the functions of this module into the struct of plugin/native/stock/llvm_calls.h at `address`."""
    more = (
        (_find, None, (c_size_t, TEXT)),
        (_advise, None, (c_size_t, TEXT, TEXT, TEXT, TEXT, c_double)),
        (_explain, None, (c_size_t,)),
        (_end_passes, None, (c_size_t, c_bool, c_bool)),
        (_forget, None, (c_size_t,)),
    )
    loaded.connect(
        address, tell, load=lambda _, files: load(files), end=lambda _: end(), make=_make, more=more
    )
