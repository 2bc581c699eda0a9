# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows a spinner or a bar on a terminal if the work takes more than two seconds, or elsewhere lines."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

DELAY: Final = 2.0
"""Seconds before anything is shown; rich is imported only then."""
REFRESH: Final = 0.1
"""Seconds between two looks at the number of steps."""
LINES: Final = 30.0
"""Seconds between two lines where there is no terminal."""


@contextmanager
def progress(
    what: str | Callable[[], str], total: int | None = None, *, lines: bool = False
) -> Iterator[StepCounter]:
    """Show `what` and the elapsed time while the block runs, if stderr is a terminal.

    The block calls what it gets after each of `total` steps, which a bar shows; without a total there is a
    spinner. Where there is no terminal, `lines` prints `what` every `LINES` seconds.
    """
    steps = StepCounter(total)
    terminal = sys.stderr.isatty()
    if not (terminal or lines):
        yield steps
        return
    done = threading.Event()
    show = _show if terminal else _print
    thread = threading.Thread(target=show, args=(what, steps, done), daemon=True)
    thread.start()
    try:
        yield steps
    finally:
        done.set()
        thread.join()


@contextmanager
def compiling(what: str) -> Iterator[None]:
    """Show the `progress` of one compilation on the main thread; Ctrl-C ends it also where it is stuck."""
    from passpilot.plugin.process_end import prompt_interrupt

    with progress(what), prompt_interrupt():
        yield


@contextmanager
def described_progress(first: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show `first`, then the text that the block gives with the steps so far and the total."""
    text = first
    with progress(lambda: text, 0) as steps:

        def step(count: int, total: int, line: str = "") -> None:
            nonlocal text
            text = line or text
            steps.count, steps.total = count, total

        yield step


class StepCounter:
    def __init__(self, total: int | None) -> None:
        self.count, self.total = 0, total

    def __call__(self) -> None:
        self.count += 1


def _print(what: str | Callable[[], str], _: StepCounter, done: threading.Event) -> None:
    while not done.wait(LINES):
        print(what if isinstance(what, str) else what(), file=sys.stderr, flush=True)


def _show(what: str | Callable[[], str], steps: StepCounter, done: threading.Event) -> None:
    if done.wait(DELAY):
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    bars = () if steps.total is None else (BarColumn(), MofNCompleteColumn())
    columns = (SpinnerColumn(), TextColumn("{task.description}"), *bars, TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=steps.total)
        while not done.wait(REFRESH):
            text = what if isinstance(what, str) else what()
            bar.update(task, completed=steps.count, total=steps.total, description=text)
