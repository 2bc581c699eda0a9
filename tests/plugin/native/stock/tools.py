# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM's stock tools with our plugin loaded."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from passpilot.plugin.toolchain import llvm_plugin
from passpilot.plugin.version import MAJOR
from tests.corpus.build import bindir

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CLANGS: Final = (
    ["-fpass-plugin={}"] if MAJOR >= 22 else ["-fpass-plugin={}", "-Xclang", "-load", "-Xclang", "{}"]
)
"""Before LLVM 22, only what `-load` names is there when clang reads `-mllvm`."""
LOAD: Final = {
    "opt": ["-load-pass-plugin={}"],
    "llc": ["-load={}"],
    "clang": CLANGS,
    "clang++": CLANGS,
}

SECONDS: Final = 300.0


@dataclass(frozen=True)
class Done:
    """What came of a command."""

    code: int
    out: bytes
    err: str


def tool(
    name: str,
    *arguments: str | Path,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    plugin: Path | None = None,
) -> Done:
    """Run a tool that has loaded the plugin first."""
    load = [word.format(plugin or llvm_plugin()) for word in LOAD[name]]
    return run(bindir() / name, *load, *arguments, cwd=cwd, env=env)


def run(
    *command: str | Path,
    cwd: Path,
    env: Mapping[str, str] | None = None,
) -> Done:
    """Run a command, with more variables than those of this process."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=SECONDS,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr.decode())


def made(name: str, output: Path, *arguments: str | Path, env: Mapping[str, str] | None = None) -> bytes:
    """What a tool writes to a file, without a word."""
    done = tool(name, *arguments, "-o", output, cwd=output.parent, env=env)
    assert (done.code, done.err) == (0, ""), done.err
    return output.read_bytes()
