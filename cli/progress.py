# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows a spinner or a bar on a terminal if the work takes more than two seconds."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DELAY: Final = 2.0
"""Seconds before anything is shown; rich is imported only then."""
REFRESH: Final = 0.1
"""Seconds between two looks at the number of steps."""


@contextmanager
def progress(what: str | Callable[[], str], total: int | None = None) -> Iterator[StepCounter]:
    """Show `what` and the elapsed time while the block runs, if stderr is a terminal.

    The block calls what it gets after each of `total` steps, which a bar shows; without a total there is a
    spinner.
    """
    steps = StepCounter()
    if not sys.stderr.isatty():
        yield steps
        return
    done = threading.Event()
    thread = threading.Thread(target=_show, args=(what, total, steps, done), daemon=True)
    thread.start()
    try:
        yield steps
    finally:
        done.set()
        thread.join()


@contextmanager
def described_progress(first: str, total: int) -> Iterator[Callable[[int, str], None]]:
    """Show `first`, then what the block says: it calls what it gets with the steps so far and a new text."""
    text = first
    with progress(lambda: text, total) as steps:

        def step(count: int, line: str) -> None:
            nonlocal text
            text = line
            steps.reach(count)

        yield step


class StepCounter:
    """Counts its calls."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1

    def reach(self, count: int) -> None:
        """Set the number of steps so far."""
        self.count = count


def _show(
    what: str | Callable[[], str], total: int | None, steps: StepCounter, done: threading.Event
) -> None:
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

    bars = () if total is None else (BarColumn(), MofNCompleteColumn())
    columns = (SpinnerColumn(), TextColumn("{task.description}"), *bars, TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        while not done.wait(REFRESH):
            text = what if isinstance(what, str) else what()
            bar.update(task, completed=steps.count, description=text)
