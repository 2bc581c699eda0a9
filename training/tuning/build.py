# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records a build for `tune`, and says how to build with decision files."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Final

from passpilot.plugin.errors import InputError
from passpilot.plugin.origin import warn_user
from passpilot.training.corpus.builder import build_corpus
from passpilot.training.corpus.recorded.from_recording import draft_recording

COMPILERS: Final = {"cc": ("cc", "gcc", "clang"), "c++": ("c++", "g++", "clang++")}
"""The names of compilers that a build may call, for which our commands stand in."""

MAKE: Final = ("make", "gmake")


def recorded_corpus(command: Sequence[str], output: str) -> str:
    """Run a build, and make a corpus of what it compiles and links; returns its folder.

    If the corpus is there already, the build is not run again.

    Raises:
        InputError: the build fails, or compiles nothing.
    """
    folder = os.path.join(output, "corpus")
    if os.path.exists(folder):
        warn_user(f"tuning what {folder} has; remove it to build again")
        return folder
    recording = os.path.join(output, "recording")
    with tempfile.TemporaryDirectory(prefix="passpilot-compilers-") as place:
        try:
            done = subprocess.run(command, env=_environment(place, recording), check=False)
        except OSError as error:
            raise InputError(f"tune: expected to run {command[0]}, got: {error.strerror}") from error
    if done.returncode:
        raise InputError(
            f"tune: expected {shlex.join(command)} to succeed, got exit code {done.returncode}; "
            "clang compiles it here"
        )
    if not os.path.isdir(recording):
        raise InputError(
            f"tune: expected {shlex.join(command)} to compile something, got nothing; clean the build first"
        )
    built = build_corpus(folder, draft_recording(os.path.abspath(recording)))
    for problem in built.problems:
        warn_user(problem)
    return folder


LTO: Final = "-flto -fuse-ld=lld -Wl,--gc-sections,--icf=safe "
"""How compilers are called for a decision file of link-time optimization."""


def rebuild_line(command: Sequence[str], decisions: str, *, lto: bool) -> str:
    """The shell command that builds with a decision file."""
    path, flags = os.path.abspath(decisions), LTO if lto else ""
    variables = [
        f"{variable}={shlex.quote(f'passpilot {tool} {flags}--decisions={path}')}"
        for variable, tool in (("CC", "cc"), ("CXX", "c++"))
    ]
    words = [shlex.join(command), *variables]
    return " ".join(words if os.path.basename(command[0]) in MAKE else [*variables, words[0]])


def _environment(place: str, recording: str) -> Mapping[str, str]:
    """The environment in which compilers are ours."""
    passpilot = os.path.join(os.path.dirname(sys.executable), "passpilot")
    for tool, names in COMPILERS.items():
        record = shlex.quote(f"--record={os.path.abspath(recording)}")
        text = f'#!/bin/sh\nexec {shlex.quote(passpilot)} {tool} {record} "$@"\n'
        for name in names:
            with open(os.path.join(place, name), "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text)
            os.chmod(file.name, 0o700)
    path = os.pathsep.join([place, *os.get_exec_path()])
    return {**os.environ, "PATH": path, "CC": os.path.join(place, "cc"), "CXX": os.path.join(place, "c++")}
