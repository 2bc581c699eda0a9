# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot eval`: what policies make of the programs of a corpus, beside the baselines."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot.cli.outputs import prepare, quiet_pipe
from passpilot.cli.parser import Parser, count_of, record
from passpilot.cli.progress import progress
from passpilot.plugin.errors import UsageError
from passpilot.plugin.failures import for_terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from passpilot.training.corpus.layout import CorpusProgram
    from passpilot.training.evaluation.competitors import Competitor
    from passpilot.training.evaluation.evaluate import Evaluation
    from passpilot.training.evaluation.results import EvaluationResult

EPILOG: Final = """\
A policy is one of
  SPEC             a runner for the inliner, as in passpilot opt --inline=SPEC
  POINT=SPEC ...   runners for several points, separated by blanks
  decisions:FILE   a decision file of passpilot tune
  best-of:N        what passpilot cc --best-of=N makes
  LEVEL            -Oz, -Os, -O1, -O2, -O3, with +outline: with the machine outliner
Options of passpilot cc may follow: 'inline=python:p.py:decide --load=features.py'. A LEVEL in front is the
policy's (-Oz): '-O2 inline=onnx:m.onnx'. {program} stands for the name of the program.

example:
  passpilot eval --corpus=corpus --policy='decisions:{program}.decisions' -o result.json --html=result.html

The programs' own runs are made on this machine; --no-runs leaves them out."""


class EvalOptions(NamedTuple):
    """The command line of `passpilot eval`."""

    corpus: str
    policy: tuple[str, ...]
    baselines: str
    program: tuple[str, ...]
    output: str
    markdown: str
    html: str
    resume: bool
    jobs: int
    deadline: float
    run_deadline: float
    rounds: int
    no_runs: bool
    no_logs: bool
    no_cache: bool


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code: 1 if a unit, a link or a run failed.

    Raises:
        UsageError: the command line is wrong.
        InputError: the corpus or a policy cannot be used, or a result cannot be written.
    """
    prepare()
    for name in [each for each in os.environ if each.startswith("PASSPILOT_")]:
        del os.environ[name]  # a policy is what the command line says, and a baseline has none
    options = record(EvalOptions, make_parser().values(argv))
    if options.resume and not options.output:
        raise UsageError("eval: expected -o RESULT.json with --resume, got none")
    evaluation, result = _prepared(options)
    if options.resume and os.path.exists(options.output):
        result.take_up(options.output)
        done = {each["name"] for each in result.programs}
        evaluation.programs = [each for each in evaluation.programs if each.name not in done]
    _write(result, options, complete=False)  # a path that cannot be written shows before the work
    _evaluate(evaluation, result, options)
    _write(result, options, complete=True)
    return _report(result)


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(
        "passpilot eval",
        description="Compile, link and run the programs of a corpus with policies and baselines; show\n"
        "sizes, times and decisions, by program and in the geometric mean.",
        epilog=EPILOG,
    )
    add = parser.option
    add("corpus", required=True, metavar="DIR", help="the corpus, made by passpilot corpus")
    add("policy", action="append", default=[], metavar="POLICY", help="what is evaluated; may be repeated")
    baselines = "what it is compared with (-Oz,-Os,-O2,-Oz+outline); the first is the reference"
    add("baselines", default="", metavar="LEVEL,...", help=baselines)
    add("program", action="append", default=[], metavar="NAME", help="only this program; may be repeated")
    add("o", dest="output", default="", metavar="RESULT.json", help="the result as JSON")
    add("markdown", default="", metavar="FILE", help="the result as Markdown; - for standard output")
    add("html", default="", metavar="FILE", help="the result as a page")
    add("resume", action="store_true", help="take finished programs from RESULT.json")
    add("jobs", type=count_of("jobs"), default=0, metavar="N", help="compilations at once (processors)")
    add("deadline", type=_seconds, default=300.0, metavar="SECONDS", help="for one compilation (300)")
    add("run-deadline", type=_seconds, default=60.0, metavar="SECONDS", help="for one run (60)")
    rounds = "run every program N times for its time (5); 0: once, for its output"
    add("rounds", type=count_of("rounds"), default=5, metavar="N", help=rounds)
    add("no-runs", action="store_true", help="run no program")
    add("no-logs", action="store_true", help="do not count decisions, which compiles policies twice")
    add("no-cache", action="store_true", help="compile baselines, even if their objects are in the cache")
    parser.traceback_option()
    return parser


def _seconds(text: str) -> float:
    import argparse

    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, got {text!r}")
    return value


def _prepared(options: EvalOptions) -> tuple[Evaluation, EvaluationResult]:
    from passpilot.training.corpus.layout import Corpus
    from passpilot.training.evaluation.competitors import check_names
    from passpilot.training.evaluation.compile_cache import CompileCache
    from passpilot.training.evaluation.evaluate import Evaluation, Toolchain, programs_of
    from passpilot.training.evaluation.program import EvaluationPlan
    from passpilot.training.evaluation.results import EvaluationResult

    baselines, policies = _baselines(options), _policies(options)
    competitors = [*baselines, *policies]
    check_names(competitors)
    corpus = Corpus.read(options.corpus)
    programs = programs_of(corpus, options.program)
    toolchain = Toolchain.find()
    plan = EvaluationPlan(
        competitors,
        options.jobs or len(os.sched_getaffinity(0)),
        options.rounds,
        not options.no_runs,
        not options.no_logs,
        options.run_deadline,
        options.deadline,
        toolchain.linkers,
    )
    cache = CompileCache("") if options.no_cache else CompileCache.of_user()
    evaluation = Evaluation(plan, corpus, programs, toolchain, options.deadline, cache)
    contenders = [{"name": each.name, "kind": each.kind} for each in competitors]
    names = [each.name for each in baselines]
    return evaluation, EvaluationResult(_facts(options, toolchain.version), contenders, names)


def _facts(options: EvalOptions, compiler: str) -> dict[str, object]:
    from importlib.metadata import version

    return {
        "passpilot": version("passpilot"),
        "compiler": compiler,
        "machine": f"{_processor()}, {len(os.sched_getaffinity(0))} processors",
        "corpus": os.path.abspath(options.corpus),
        "rounds": 0 if options.no_runs else options.rounds,
    }


def _processor() -> str:
    """The name of the processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            lines = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        lines = []
    return lines[0] if lines else os.uname().machine


def _baselines(options: EvalOptions) -> list[Competitor]:
    from passpilot.training.evaluation.competitors import BASELINES, baseline

    found = []
    for name in [each.strip() for each in options.baselines.split(",")] if options.baselines else BASELINES:
        if (known := baseline(name)) is None:
            raise UsageError(f"eval: --baselines: expected levels such as -Oz or -Oz+outline, got {name!r}")
        found.append(known)
    return found


def _policies(options: EvalOptions) -> list[Competitor]:
    from passpilot.cli.evaluated import competitor

    return [competitor(text) for text in options.policy]


def _evaluate(evaluation: Evaluation, result: EvaluationResult, options: EvalOptions) -> None:
    state = "evaluating"

    def finished(program: CorpusProgram) -> None:
        nonlocal state
        state = f"evaluated {program.name}"
        for text in [line for each in result.programs[-1:] for line in _lines(each)]:
            print(f"passpilot: {for_terminal(text)}", file=sys.stderr, flush=True)
        _write(result, options, complete=False)

    with progress(lambda: state, evaluation.steps) as step:
        evaluation.run(result, step, finished)


def _lines(program: object) -> list[str]:
    """The errors and warnings of a program, one line each."""
    from typing import cast

    from passpilot.training.evaluation.results import ProgramResult

    made = cast("ProgramResult", program)
    errors = [
        f"error: eval: {made['name']}, {name}: {text}"
        for name, each in made["results"].items()
        for text in each["errors"]
    ]
    return [*errors, *(f"warning: eval: {made['name']}, {text}" for text in made["warnings"])]


def _write(result: EvaluationResult, options: EvalOptions, *, complete: bool) -> None:
    from passpilot.plugin.files import write_file
    from passpilot.training.evaluation.markdown import markdown

    if options.output:
        result.write(options.output, complete=complete)
    if not complete:
        return
    if options.html:
        from passpilot.training.report.inputs import Report

        report = Report(0)
        report.add_result("evaluation", result.to_json(complete=True))
        write_file(options.html, report.to_html("Evaluation"))
    if options.markdown:
        with quiet_pipe():
            write_file(options.markdown, markdown(result).encode())


def _report(result: EvaluationResult) -> int:
    """Print the table for people; returns the exit code."""
    from passpilot.cli.evaluated import table_text
    from passpilot.training.evaluation.markdown import problems

    with quiet_pipe():
        print(table_text(result), end="")
    return 1 if any(True for _ in problems(result)) else 0
