# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Advisors in a stock compiler that has loaded our plugin; plugin/native/loaded/advisor.h calls them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from ctypes import c_bool, c_double, c_size_t
from typing import TYPE_CHECKING, Final

from passpilot.plugin.embedded import TEXT, Function, Tell, Teller, fill, told_warnings
from passpilot.plugin.errors import InputError
from passpilot.plugin.mlir.bindings import enter_foreign_tool

if TYPE_CHECKING:
    from passpilot.passes.advisor import Advisor, OnError
    from passpilot.plugin import _core

    MakeAdvisor = Callable[[str, str, str | None, OnError, float, float], Advisor]
    """Creates an advisor from point, runner, log, on_error, timeout and limit."""


_MAKE: MakeAdvisor

_STARTED: Final[dict[int, tuple[Advisor, _core.Advisor]]] = {}
"""The advisors in use, by the address of their session."""


def _start(
    tell: Teller,
    point: bytes,
    runner: bytes,
    log: bytes,
    on_error: bytes,
    timeout: float,
    limit: float,
) -> int:
    policy: OnError = "default" if on_error == b"default" else "fail"
    with told_warnings(tell):
        advisor = _MAKE(point.decode(), os.fsdecode(runner), os.fsdecode(log) or None, policy, timeout, limit)
    advisor.may_idle = True  # the plugin itself warns of a runner that is never asked
    try:
        core = advisor.start()
        assert core is not None, "where nobody is to be asked, the plugin asks nobody"
        core.begin()
    except BaseException:
        advisor.close()
        raise
    _STARTED[core.session] = (advisor, core)
    return core.session


def _finish(tell: Teller, address: int, good: bool) -> None:
    advisor, core = _STARTED[address]
    with told_warnings(tell):
        core.end()
        try:
            advisor.finish(None if good else InputError("the compiler has failed"))
        finally:
            advisor.close()


def _drop(tell: Teller, address: int) -> None:  # noqa: ARG001
    del _STARTED[address]


def _prepare(tell: Teller, policy: bytes) -> None:
    from passpilot.runners.policy.prepare import prepare_policy  # few compilations need it

    with told_warnings(tell):
        tell("policy", prepare_policy(os.fsdecode(policy)))


def connect(
    address: int,
    tell: Tell,
    *,
    load: Callable[[Teller, bytes], None],
    end: Callable[[Teller], None],
    make: MakeAdvisor,
    more: Sequence[Function],
) -> None:
    """Write the callbacks into the plugin's struct.

    Args:
        address: the address of `AdvisorCalls`, or of a struct that extends it.
        tell: the plugin's function for results and messages.
        load: runs files and reports the passes that they register.
        end: called when the process ends.
        make: creates an advisor.
        more: further members of the struct, in order.
    """
    global _MAKE
    _MAKE = make
    enter_foreign_tool()
    functions: tuple[Function, ...] = (
        (end, None, ()),
        (load, None, (TEXT,)),
        (_start, c_size_t, (TEXT, TEXT, TEXT, TEXT, c_double, c_double)),
        (_finish, None, (c_size_t, c_bool)),
        (_drop, None, (c_size_t,)),
        (_prepare, None, (TEXT,)),
        *more,
    )
    fill(address, tell, functions)
