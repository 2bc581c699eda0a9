# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The process of Python passes dies after any byte of what it says: stock mlir-opt ends with an error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.plugin.native.mlir.tools import refused, stock, written

PASS: Final = """\
import os
import signal
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection

from passpilot import mlir

LIMIT = {limit}
SAID = []


def send(self, data, write=os.write):
    SAID.append(bytes(data))
    left = LIMIT - sum(map(len, SAID[:-1]))
    os.write(self.fileno(), SAID[-1][:left])
    with open("said", "w") as file:
        file.write(str(sum(map(len, SAID))))
    if left < len(data):
        os.kill(os.getpid(), signal.SIGKILL)


if any("stock.worker" in word or "stock/worker" in word for word in sys.orig_argv):
    Connection._send = send  # the process that runs passes, and not the tool


@mlir.pass_("note", anchor="func.func")
@dataclass(frozen=True)
class Note:
    def run(self, operation):
        operation.attributes["noted"] = mlir.bindings().ir.UnitAttr.get(operation.context)
"""


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("step", [97, pytest.param(1, marks=pytest.mark.soak)])
def test_it_dies_after_any_byte(step: int, tmp_path: Path) -> None:
    source = written(tmp_path, "in.mlir", "func.func @f() {\n  return\n}\n")
    load = f"--passpilot-load={written(tmp_path, 'mine.py', PASS.format(limit=1 << 20))}"
    done = stock("func.func(note)", source, load, cwd=tmp_path)
    assert done.code == 0, done.err
    assert b"noted" in done.out
    whole = int((tmp_path / "said").read_text())
    told = re.compile(r"error: .*an answer of the process in which it runs, got its end with code -9")
    for size in {*range(0, whole, step), whole - 1}:
        written(tmp_path, "mine.py", PASS.format(limit=size))
        assert told.search(refused("func.func(note)", source, load))
