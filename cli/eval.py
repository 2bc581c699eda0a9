# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot eval`: what policies make of the programs of a corpus, beside the baselines."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import Any, Final

from passpilot.cli.evaluate import evaluate
from passpilot.cli.outputs import check_made, prepare, quiet_pipe
from passpilot.cli.parser import SECONDS, Parser, count_of
from passpilot.cli.progress import progress
from passpilot.plugin.failures import for_terminal
from passpilot.plugin.files import write_file
from passpilot.training.evaluation.competitors import BASELINES
from passpilot.training.evaluation.results import ProgramResult
from passpilot.training.evaluation.tables import markdown, problems, table_text

EPILOG: Final = """\
WHO is one of
  @NAME, FOLDER    a policy, as in passpilot cc --policy=@NAME
  SPEC             a runner for the inliner, as in passpilot opt --inline=SPEC
  POINT=SPEC ...   runners for several points, separated by blanks
  decisions:FILE   a decision file of passpilot tune
  best-of:N        what passpilot cc --best-of=N makes
  LEVEL            -Oz, -Os, -O1, -O2, -O3, with +outline: with the machine outliner
Options of passpilot cc may follow: 'inline=python:p.py:decide --load=features.py'. A LEVEL in front is the
contender's (-Oz): '-O2 inline=onnx:m.onnx'. {program} stands for the name of the program.

example:
  passpilot eval --corpus=corpus --contender='decisions:{program}.decisions' -o result.json --html=result.html

The programs' own runs are made on this machine; --no-runs leaves them out."""


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code: 1 if a unit, a link or a run failed."""
    prepare()
    keywords: dict[str, Any] = make_parser().values(argv)
    page, tables, _ = (keywords.pop(name) for name in ("html", "markdown", "traceback"))
    force, output = keywords.pop("force"), keywords["output"]
    if output and not keywords["resume"]:
        check_made("eval", output, force=force, resume="--resume")
    profile = keywords.pop("profile")
    also = f" {shlex.quote(f'--profile={profile}')}" if profile else ""
    keywords["contenders"] = [contender + also for contender in keywords.pop("contender")]
    keywords["baselines"] = keywords["baselines"].split(",") if keywords["baselines"] else BASELINES
    state = "evaluating"

    def done(program: ProgramResult) -> None:
        nonlocal state
        state = f"evaluated {program['name']}"
        for line in _lines(program):
            print(f"passpilot: {for_terminal(line)}", file=sys.stderr, flush=True)

    with progress(lambda: state, 0) as steps:

        def step(count: int, total: int) -> None:
            steps.count, steps.total = count, total

        result = evaluate(**keywords, step=step, done=done)
    if page:
        from passpilot.training.report.inputs import Report

        report = Report(0)
        report.add_result("evaluation", result.to_json(complete=True))
        write_file(page, report.to_html("Evaluation"))
    with quiet_pipe():
        if tables:
            write_file(tables, markdown(result))
        print(table_text(result), end="")
    return 1 if any(True for _ in problems(result)) else 0


def make_parser() -> Parser:
    parser = Parser(
        "passpilot eval",
        description="Compile, link and run the programs of a corpus with contenders and baselines; show\n"
        "sizes, times and decisions, by program and in the geometric mean.",
        epilog=EPILOG,
        old_names={"deadline": "timeout", "run-deadline": "run-timeout", "policy": "contender"},
    )
    add = parser.option
    parser.shared("corpus", required=True)
    parser.shared("root", default="")
    contender = "a policy or a runner to evaluate; may be repeated"
    add("contender", action="append", default=[], metavar="WHO", help=contender)
    baselines = "what it is compared with (-Oz,-Os,-O2,-Oz+outline); the first is the reference"
    add("baselines", default="", metavar="LEVEL,...", help=baselines)
    parser.shared("profile", "of all contenders, such as '{program}.profdata', not of baselines", default="")
    parser.shared("program")
    add("o", dest="output", default="", metavar="RESULT.json", help="the output: the result as JSON")
    parser.shared("markdown", default="")
    parser.shared("html", default="")
    parser.shared("resume", "take finished programs from RESULT.json")
    parser.shared("force")
    parser.shared("jobs", type=count_of("jobs"), default=0)
    parser.shared("timeout", "for one compilation (300)", type=SECONDS, default=300.0)
    add(
        "run-timeout", type=SECONDS, default=60.0, metavar="SECONDS", help="how long to wait for one run (60)"
    )
    rounds = "run every program N times for its time (5); 0: once, for its output"
    add("rounds", type=count_of("rounds"), default=5, metavar="N", help=rounds)
    counted = "instructions: count those that the runs execute with valgrind, beside their time"
    add("runs", choices=("time", "instructions"), default="time", help=counted)
    parser.shared("lto", "compile all sides with -flto")
    add("no-runs", action="store_true", help="run no program")
    add("no-logs", action="store_true", help="do not count decisions, which compiles policies twice")
    parser.shared("no-cache", "objects of baselines")
    parser.traceback_option()
    return parser


def _lines(program: ProgramResult) -> list[str]:
    errors = [
        f"error: eval: {program['name']}, {name}: {text}"
        for name, result in program["results"].items()
        for text in result["errors"]
    ]
    return [*errors, *(f"warning: eval: {program['name']}, {text}" for text in program["warnings"])]
