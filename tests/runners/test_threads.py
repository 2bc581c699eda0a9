# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A native runner serves one thread at a time: a second one gets an error, never a wrong answer."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
import pytest

from passpilot import InlineAdvisor, Module, find_point, function_runner, optimize
from passpilot.features.spec import layout
from passpilot.plugin.errors import RunnerError
from passpilot.runners.base import Runner, tensor_views
from tests.command import program

FUNCTION: Final = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64)
)
POINT: Final = find_point("inline")
BUSY: Final = (
    "native runner: expected one thread at a time, got another while it was in use; make a runner for "
)


class Gate:
    """A native function that waits within an evaluation until it is told to go on."""

    def __init__(self) -> None:
        self.inside, self.opened = threading.Event(), threading.Event()
        self._function = FUNCTION(self._evaluate)
        address = ctypes.cast(self._function, ctypes.c_void_p).value
        assert address
        self.runner = function_runner(address, POINT.select(["callee_users"]), POINT.advice)

    def _evaluate(self, context: int, inputs: int, output: object) -> int:  # noqa: ARG002
        self.inside.set()
        self.opened.wait()
        output[0] = 1  # type: ignore[index]
        return 0

    @contextmanager
    def held(self, ask: object) -> Iterator[None]:
        """While the block runs, another thread is within an evaluation."""
        self.inside.clear()
        self.opened.clear()
        thread = threading.Thread(target=ask)  # type: ignore[arg-type]
        thread.start()
        self.inside.wait()
        try:
            yield
        finally:
            self.opened.set()
            thread.join()


def bound(runner: Runner) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """A frame for the runner's inputs."""
    frame = np.zeros(layout(runner.inputs)[1], np.uint8)
    runner.bind(tensor_views(runner.inputs, frame), frame)
    return frame


def test_a_second_thread_gets_an_error() -> None:
    gate = Gate()
    frame = bound(gate.runner)
    answers: list[object] = []
    with gate.held(lambda: answers.append(gate.runner.evaluate())):
        for use in (
            gate.runner.evaluate,
            lambda: gate.runner.evaluate_batch(frame[np.newaxis]),
            lambda: gate.runner.switch_context("f"),
            lambda: gate.runner.core.bind(frame),
        ):
            with pytest.raises(RunnerError, match=BUSY):
                use()
        with pytest.raises(
            RunnerError, match="inline advisor: expected a runner that is free, got one that ano"
        ):
            optimize(Module.read(program(3).encode()), "default<O2>", [InlineAdvisor(gate.runner)])
    assert answers == [1]
    assert gate.runner.evaluate() == 1


def test_a_compilation_has_its_runner_alone() -> None:
    gate = Gate()
    frame = bound(gate.runner)
    module, advisor = Module.read(program(3).encode()), InlineAdvisor(gate.runner)
    with (
        gate.held(lambda: optimize(module, "default<O2>", [advisor])),
        pytest.raises(RunnerError, match=BUSY),
    ):
        gate.runner.evaluate_batch(frame[np.newaxis])
    assert advisor.stats.accepted == advisor.stats.decisions > 0
    assert gate.runner.evaluate() == 1


def test_a_refused_compilation_leaves_all_free() -> None:
    gate = Gate()
    frame = bound(gate.runner)
    module, advisor = Module.read(program(3).encode()), InlineAdvisor(gate.runner)
    with gate.held(lambda: gate.runner.evaluate_batch(frame[np.newaxis])), pytest.raises(RunnerError):
        optimize(module, "default<O2>", [advisor])
    optimize(module, "default<O2>", [advisor])
    assert advisor.stats.decisions > 0
