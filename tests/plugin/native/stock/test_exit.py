# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a stock tool ends when an error comes up within a pass in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.command import program
from tests.plugin.native.stock.tools import tool

FILE: Final = """\
import atexit
import io
import resource
from dataclasses import dataclass

import passpilot


@passpilot.llvm.module_pass("inner")
@dataclass(frozen=True)
class Inner:
    def run(self, module):
        return module.run("inliner-wrapper")


def decide(obs):
    raise ValueError("no idea")


def waits():
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw


class Last(io.RawIOBase):
    begun = 0

    def flush(self):
        with open("waits", "w") as file:
            file.write(str(waits() - self.begun))


LAST = Last()  # flushed after all handlers


def begin():
    LAST.begun = waits()


atexit.register(begin)  # called before those that were registered earlier
"""


def test_an_error_within_a_pass_ends_the_tool_at_once(tmp_path: Path) -> None:
    """The end waits for other threads' compilations, once each 10 ms, but not for its own."""
    (tmp_path / "in.ll").write_text(program(3))
    (tmp_path / "passes.py").write_text(FILE)
    options = ("-passpilot-load=passes.py", "-passpilot-inline=python:passes.py:decide")
    done = tool("opt", *options, "-passes=inner", "in.ll", "-o", "out.bc", cwd=tmp_path)
    assert done.code == 1
    assert "inline advisor at decision 0 (caller0 -> callee): ValueError: no idea" in done.err
    assert not (tmp_path / "out.bc").exists()
    assert int((tmp_path / "waits").read_text()) < 100
