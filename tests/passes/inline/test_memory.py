# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A million decisions grow the process by less than a megabyte, whoever answers."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import stock
from tests.passes.inline.test_runners import perceptron
from tests.runners.serving.serving import served

ROOT = Path(__file__).parents[3]
RUNNERS = ("policy", "const:0", "const:1", "random:3", "native-echo", "onnx", "pipe", "replay", "function")
NOISE = 512
"""Kilobytes that the allocator's fragmentation may come to however few the decisions."""


def grow(count: int, *arguments: str) -> list[int]:
    """Kilobytes and decisions of `growth.py`, in a process of its own."""
    command = [sys.executable, "-m", "tests.passes.inline.growth", str(count), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return [int(number) for number in done.stdout.split()]


@contextlib.contextmanager
def prepared(runner: str, folder: Path) -> Iterator[str]:
    """What `growth.py` calls the runner, with what it needs in place."""
    if runner == "onnx":
        yield f"onnx:{perceptron(folder / 'model.onnx')}?map=x:*"
    elif runner == "replay":
        log = folder / "decisions.log"
        grow(0, "const:0", str(log))
        yield f"replay:{log}"
    elif runner == "function":
        source = folder / "decide.c"
        source.write_text("int decide(void *c, void **in, long long *out) { *out = 0; return 0; }")
        stock.run("clang", "-shared", "-fPIC", source, "-o", source.with_suffix(".so"))
        yield f"function:{source.with_suffix('.so')}"
    elif runner == "pipe":
        with served("const:0", str(folder / "server")):
            yield f"pipe:{folder / 'server'}"
    else:
        yield runner


@pytest.mark.parametrize("runner", ["policy", "random:3", "onnx", "pipe", "replay"])
def test_memory_over_twenty_thousand_decisions(runner: str, tmp_path: Path) -> None:
    with prepared(runner, tmp_path) as name:
        kilobytes, decisions = grow(20_000, name)
    assert decisions >= 20_000
    assert kilobytes < 1024 * decisions / 1e6 + NOISE


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("runner", RUNNERS)
def test_memory_over_a_million_decisions(runner: str, tmp_path: Path) -> None:
    with prepared(runner, tmp_path) as name:
        kilobytes, decisions = grow(1_000_000, name)
    assert decisions >= 1_000_000
    assert kilobytes < 1024
