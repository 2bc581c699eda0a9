# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: growth.py DECISIONS RUNNER [LOG]

Prints by how many kilobytes the process grows over at least DECISIONS decisions of one runner, and how many
they were. RUNNER is a spec, or `policy` for a Python policy that touches a bit of everything, or
`function:LIBRARY` for the C function `decide` in it. A `replay` takes an advisor per compilation, the others
one for all. With LOG, writes the log of one compilation instead.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from pathlib import Path
from typing import Final

from passpilot.features.custom import feature
from passpilot.features.llvm.inline import DECISION
from passpilot.features.point import find_point
from passpilot.passes.llvm_advisors import InlineAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin import _core
from passpilot.plugin.module import Module
from passpilot.runners.base import Runner
from passpilot.runners.native import function_runner
from passpilot.runners.python import Observation
from passpilot.runners.spec import make_runner

CALLERS: Final = 50
CALLS: Final = 40
WARM_UP: Final = 3
"""Compilations before the first look at the memory; with an advisor each, the allocator settles later."""


def module_text() -> str:
    """Calls that are cheap to ask about and that nothing here inlines: the program stays what it is."""
    calls = "".join(f"  %v{i} = call i32 @callee(i32 {i}, i32 %x)\n" for i in range(CALLS))
    body = "  store volatile i32 %a, ptr @out\n" * 60
    callee = f"define internal i32 @callee(i32 %a, i32 %b) {{\n{body}  ret i32 %b\n}}\n"
    callers = (f"define i32 @caller{n}(i32 %x) {{\n{calls}  ret i32 %x\n}}\n" for n in range(CALLERS))
    return "@out = global i32 0\n" + callee + "".join(callers)


def touch(obs: Observation) -> object:
    """Looks at a bit of everything."""
    site = obs.site
    assert isinstance(site, _core.CallSite)
    seen = (site.caller.name, site.callee.attributes, site.arguments[0].integer, site.ordinal)
    return obs.default() and bool(obs["touched"]) and not seen


@feature("int64[1]")
def touched(site: _core.CallSite) -> int:
    return len(site.arguments)


def runner_of(name: str) -> str | Runner:
    if name == "policy":
        return make_runner(touch, find_point("inline"))
    if name == "native-echo":
        return make_runner("default", find_point("inline"))
    if name.startswith("function:"):
        decide = ctypes.CDLL(name.removeprefix("function:")).decide
        address = ctypes.cast(decide, ctypes.c_void_p).value or 0
        return function_runner(address, find_point("inline").select(["callee_users"]), DECISION)
    return name


def resident_kilobytes() -> int:
    """After the collector has run and the allocator has given back what it can."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE") // 1024


def main(count: int, name: str, log: str | None = None) -> None:
    """Compile the same module again and again."""
    source = module_text().encode()
    advisor = InlineAdvisor(runner_of(name), log=log, size_budget=0)
    again = name.startswith("replay:")
    decisions = 0

    def compile_once() -> int:
        mine = InlineAdvisor(name) if again else advisor
        before = mine.stats.decisions
        optimize(Module.read(source), "inliner-wrapper", [mine])
        if again:
            mine.close()
        return mine.stats.decisions - before

    for _ in range(1 if log else 10 * WARM_UP if again else WARM_UP):
        compile_once()
    if log:
        return
    start = resident_kilobytes()
    while decisions < count:
        decisions += compile_once()
    print(resident_kilobytes() - start, decisions)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
