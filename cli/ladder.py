# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Climbs ladders for `passpilot tune --ladder` and `passpilot size --ladder`, and prints them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from passpilot.cli.outputs import quiet_pipe, say
from passpilot.cli.parser import Parser
from passpilot.cli.progress import progress
from passpilot.plugin.files import write_file

ALLOW: Final = (
    "take levers that lose something, by group or name: icf, constants, visibility, relocations, lto, "
    "unwind, speed, oz, hardening; all is all but hardening"
)


def ladder_options(parser: Parser) -> None:
    """Add the options that both commands have."""
    add = parser.option
    add("ladder", action="store_true", help="measure what to switch on in the build, one lever on the other")
    add("allow", action="append", default=[], metavar="WHAT,...", help=ALLOW)
    run = (
        "count the instructions of this run of the program at every step, such as '{} FILE'; may be repeated"
    )
    add("run", action="append", default=[], metavar="COMMAND", help=run)


def climb(build: Sequence[str] = (), tables: str = "", raw: str = "", **keywords: Any) -> None:
    """Measure the ladders of programs, and print them; `tables` and `raw` are files for Markdown and JSON."""
    from passpilot.training.ladder.ladder import LadderResult
    from passpilot.training.ladder.programs import BUILDS, REWARDS, LadderStep, ladder
    from passpilot.training.ladder.tables import ladder_markdown, ladder_text, step_ratio, verdict
    from passpilot.training.tuning.build import RECORDING, rebuild_line

    reward = keywords.setdefault("reward", next(iter(REWARDS)))
    recording = os.path.join(keywords.get("output", ""), RECORDING)
    state, terminal = "recording the build" if build else "reading the corpus", sys.stderr.isatty()

    def done(result: LadderResult) -> None:
        steps.count = 0
        with quiet_pipe():
            if "-" not in (tables, raw):
                print(ladder_text(result))
                if build:
                    print(f"build {result.program} with: {rebuild_line(build, result.flags, recording)}\n")
                else:
                    print(f"{result.program}: passpilot cc {result.flags}\n")

    with progress(lambda: state, BUILDS) as steps:

        def step(now: LadderStep) -> None:
            nonlocal state
            if now.row is None:
                state, steps.count = f"{now.program}: {now.lever}", now.builds
            elif not terminal:
                ratio = f"{step_ratio(now.row, (), REWARDS[reward]):.3f}, " if now.row.on_top else ""
                say(f"{now.program}: {now.lever}: {ratio}{verdict(now.row)}")

        found = ladder(build=build, step=step, done=done, **keywords)
    with quiet_pipe():
        if tables:
            write_file(tables, "\n".join(map(ladder_markdown, found)))
        if raw:
            write_file(raw, json.dumps([asdict(each) for each in found], indent=1) + "\n")
