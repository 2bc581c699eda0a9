# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Progress on a terminal: a spinner, or a bar of steps."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from passpilot.cli import progress as module
from passpilot.cli.progress import described_progress, progress


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A terminal as stderr, on which progress shows at once; the end at which its text comes out."""
    near, far = os.openpty()
    with open(far, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(module, "DELAY", 0.0)
        monkeypatch.setenv("TERM", "xterm")
        yield near
    os.close(near)


def read_until(near: int, text: str) -> None:
    """Read what is shown until the text has come; the test's own deadline ends it otherwise."""
    shown = ""
    while text not in shown:
        shown += os.read(near, 4096).decode("utf-8", "replace")


def test_a_bar_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as near, progress("comparing", 3) as step:
        read_until(near, "0/3")
        step()
        step()
        read_until(near, "2/3")


def test_a_bar_with_a_changing_text(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as near, described_progress("starting") as step:
        read_until(near, "0/0")
        step(2, 9, "two")
        step(5, 9, "five")
        read_until(near, "5/9")
        read_until(near, "five")


def test_a_spinner(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as near, progress("compiling in.bc"):
        read_until(near, "compiling in.bc")


def test_nothing_off_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DELAY", 0.0)
    with progress("compiling", 2) as step:
        step()
    assert capsys.readouterr().err == ""


def test_lines_off_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINES", 0.001)
    shown = ""
    with progress(lambda: "half of it", 2, lines=True):
        while "half of it\n" not in shown:  # the test's own deadline ends it otherwise
            shown += capsys.readouterr().err
