# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""State of the whole process that threads share: LLVM's options, signal handlers."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

import pytest

from passpilot import InlineAdvisor, Module, Observation, PriorityAdvisor, emit, llvm_options, optimize
from passpilot.plugin.errors import InputError
from tests.command import GENEROUS, program

SIGNALS: Final = """
import os, signal, sys
import passpilot

names = "HUP INT QUIT ILL TRAP ABRT BUS FPE USR1 SEGV USR2 PIPE TERM XCPU XFSZ SYS".split()
numbers = [signal.Signals["SIG" + name] for name in names]
heard = []
for number in numbers:
    signal.signal(number, lambda number, frame: heard.append(number))
text = sys.stdin.buffer.read()


def policy(obs):
    if heard == numbers[:index]:
        os.kill(os.getpid(), numbers[index])
    return True


for index, number in enumerate(numbers):
    remarks = passpilot.Remarks(number.name)
    advisor = passpilot.InlineAdvisor(policy)
    passpilot.optimize(passpilot.Module.read(text), "default<O2>", [advisor], remarks=remarks)
assert heard == numbers, set(numbers) ^ set(heard)
missing = [number.name for number in numbers if not os.path.exists(number.name)]
assert not missing, missing
"""


def test_handlers_of_signals_stay_pythons(tmp_path: Path) -> None:
    """LLVM's own would remove the remarks, though the handler lets the compilation go on."""
    done = subprocess.run(
        [sys.executable, "-c", SIGNALS],
        input=program(3).encode(),
        capture_output=True,
        cwd=tmp_path,
        timeout=GENEROUS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_options_do_not_change_under_a_compilation() -> None:
    asked, answered = threading.Event(), threading.Event()

    def policy(obs: Observation) -> bool:  # noqa: ARG001
        asked.set()
        answered.wait()
        return True

    module = Module.read(program(3).encode())
    compiling = threading.Thread(target=optimize, args=(module, "default<O2>", [InlineAdvisor(policy)]))
    compiling.start()
    asked.wait()
    try:
        with pytest.raises(
            InputError, match="LLVM options: expected no compilation on another thread, got one"
        ):
            llvm_options(["-ir2vec-opc-weight=1"])
    finally:
        answered.set()
        compiling.join()
    llvm_options(["-ir2vec-opc-weight=1"])


def switch(name: str, cases: int = 20) -> str:
    """A function that LLVM compiles to a tree of branches for PowerPC, to a table for most targets."""
    numbers = range(cases)
    table = " ".join(f"i32 {i}, label %c{i}" for i in numbers)
    bodies = "\n".join(f"c{i}:\n  call void @g(i32 {i * i})\n  ret void" for i in numbers)
    return (
        f"define void @{name}(i32 %x) {{\n  switch i32 %x, label %d [{table}]\n{bodies}\nd:\n  ret void\n}}\n"
    )


def test_a_compilation_within_another_leaves_its_targets_options() -> None:
    """PowerPC's back end changes an option of LLVM; a compilation resets it only if it is alone."""
    text = (
        f'target triple = "powerpc64le-linux-gnu"\n{switch("f")}{switch("h")}declare void @g(i32)\n'.encode()
    )

    def policy(obs: Observation) -> float:
        Module.read(b'target triple = "x86_64-linux-gnu"\n', for_codegen=True)
        return float(obs.default())

    expected = emit(Module.read(text), "asm")
    with PriorityAdvisor(policy) as advisor:
        assert emit(Module.read(text), "asm", advisors=[advisor]) == expected
    emit(Module.read(text), "asm")
    x86 = text.replace(b"powerpc64le", b"x86_64")
    assert b".LJTI" in emit(Module.read(x86), "asm")
