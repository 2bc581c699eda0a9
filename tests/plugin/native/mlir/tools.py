# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stock mlir-opt with our plugin, as a user runs it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from passpilot.plugin.toolchain import mlir_plugin
from passpilot.plugin.version import MAJOR
from tests.command import Done, files_in, run

MLIR_OPT: Final = Path(f"/usr/lib/llvm-{MAJOR}/bin/mlir-opt")
CALL: Final = re.compile(r"\bcall @")

CALLS: Final = """\
func.func private @leaf(%a: i32) -> i32 {
  %c = arith.constant 3 : i32
  %r = arith.muli %a, %c : i32
  return %r : i32
}
func.func private @middle(%a: i32) -> i32 {
  %0 = call @leaf(%a) : (i32) -> i32
  %1 = call @leaf(%0) : (i32) -> i32
  return %1 : i32
}
func.func @top(%a: i32) -> i32 {
  %c = arith.constant 5 : i32
  %0 = call @middle(%c) : (i32) -> i32
  %1 = call @leaf(%a) : (i32) -> i32
  %2 = arith.addi %0, %1 : i32
  return %2 : i32
}
"""
"""A module of four calls."""


def stock(pipeline: str, source: Path, *flags: str | Path, cwd: Path) -> Done:
    """What stock mlir-opt makes of a file, with the plugin."""
    load = f"--load-pass-plugin={mlir_plugin()}"
    return run(MLIR_OPT, load, *flags, source, f"--pass-pipeline=builtin.module({pipeline})", cwd=cwd)


def inlined(options: str, source: Path, *flags: str | Path) -> str:
    """The module after `advised-inline`."""
    done = stock(f"advised-inline{{{options}}}", source, *flags, cwd=source.parent)
    assert done.code == 0, done.err
    return done.out.decode()


def native(source: Path, pipeline: str = "inline") -> str:
    """The module after passes of MLIR's own, without the plugin."""
    done = run(MLIR_OPT, source, f"--pass-pipeline=builtin.module({pipeline})", cwd=source.parent)
    assert done.code == 0, done.err
    return done.out.decode()


def refused(pipeline: str, source: Path, *flags: str | Path) -> str:
    """The errors of a run that fails as mlir-opt does: with diagnostics, code 1 and no output."""
    before = files_in(source.parent)
    done = stock(pipeline, source, "-o", "out.mlir", *flags, cwd=source.parent)
    assert done.code == 1, done
    assert files_in(source.parent) == before
    for word in ("Traceback", "PLEASE submit", "LLVM ERROR"):
        assert word not in done.err
    assert " error: " in done.err or done.err.startswith("error: ")
    return done.err


def written(folder: Path, name: str, text: str) -> Path:
    """A file with a text."""
    path = folder / name
    path.write_text(text)
    return path
