# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The other ends of the runners that bench/runners.py measures: model servers of ours and of others."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from passpilot.features.point import Point

SERVE: Final = "import sys; from passpilot.plugin.cli import main; sys.exit(main(['serve', *sys.argv[1:]]))"

BRIDGE: Final = """
import sys
from compilerinterface import PipeCompilerInterface

base, form, reads = sys.argv[1:]
peer = PipeCompilerInterface(form, base)
print("ready", flush=True)
peer.reset_pipes()
while True:
    tensors = peer.evaluate()
    if reads == "reads":
        vector = tensors["v"] if form == "json" else tensors[0]
        total = sum(vector[i] for i in range(len(vector)))
    peer.populate_buffer(0)
"""
"""ML-Compiler-Bridge's own Python end, whose model answers 0, having read the vector if there is one.

Its tensors offer their length and one element at a time, and no more.
"""

MLGO: Final = """
import json, os, sys

base = sys.argv[1]
for name in (".in", ".out"):
    os.mkfifo(base + name, 0o600)
print("ready", flush=True)
answers, questions = open(base + ".in", "wb", 0), open(base + ".out", "rb")
width = {"float": 4, "double": 8, "int64_t": 8}
size = 1
for spec in json.loads(questions.readline())["features"]:
    count = 1
    for extent in spec["shape"]:
        count *= extent
    size += count * width[spec["type"]]
while line := questions.readline():
    if line.startswith(b'{"observation"'):
        questions.read(size)
        answers.write(bytes(8))
"""
"""A plain host of MLGO's interactive mode that always answers 0."""


@contextlib.contextmanager
def _process(*command: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def _first_line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline()


@contextlib.contextmanager
def piped(runner: str, base: Path, *flags: str) -> Iterator[int]:
    """`passpilot serve --pipe`; yields its process."""
    with _process(sys.executable, "-c", SERVE, runner, "--pipe", str(base), *flags) as child:
        yield child.pid


@contextlib.contextmanager
def streamed(runner: str, *flags: str) -> Iterator[tuple[str, int]]:
    """`passpilot serve --grpc`; yields its address and its process."""
    with _process(sys.executable, "-c", SERVE, runner, "--grpc", "127.0.0.1:0", *flags) as child:
        yield _first_line(child).split()[-1], child.pid


@contextlib.contextmanager
def scripted(script: str, base: Path, *arguments: str) -> Iterator[int]:
    """A peer that is written out above; yields its process."""
    with _process(sys.executable, "-c", script, str(base), *arguments) as child:
        assert _first_line(child) == "ready\n"
        yield child.pid


def null_policy(folder: Path, point: Point) -> str:
    """The spec of a Python policy that wants every tensor of the point, adds up a vector, and answers 0."""
    names = [spec.name for spec in point.features if spec.name != point.default.name]
    total = "    obs['v'].sum()\n" if names == ["v"] else ""
    path = folder / "null.py"
    path.write_text(f"def decide(obs):\n{total}    return 0\n\n\ndecide.features = {names!r}\n")
    return f"python:{path}:decide"
