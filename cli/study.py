# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot study`: shows the trials in study files, and merges the files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from passpilot.cli.outputs import check_made, quiet_pipe
from passpilot.cli.parser import Parser, argument, option, record, shared
from passpilot.plugin.errors import UsageError
from passpilot.plugin.failures import for_terminal
from passpilot.runners.plurals import counted
from passpilot.training.studies.study_file import KeptStudy, existing, merge_studies

_EPILOG = """\
examples:
  passpilot tune in.bc --study=here.study -o in.decisions
  passpilot tune in.bc --seed=1 --study=there.study -o in.decisions
  passpilot study here.study there.study -o both.study
  passpilot study both.study
  passpilot tune in.bc --update=both.study -o in.decisions

A study is a journal of Optuna: `optuna-dashboard here.study` shows its curves and importances.
"""


class StudyOptions(NamedTuple):
    studies: tuple[str, ...] = argument("STUDY", "a file of --study", nargs="+")
    output: str = option("o", metavar="FILE", default="", help="the output: a study of all trials")
    force: bool = shared("force")


def main(argv: Sequence[str]) -> int:
    options = record(StudyOptions, make_parser().values(argv))
    if options.output:
        check_made("study", options.output, force=options.force)
        studies = merge_studies(options.studies, options.output)
    elif len(options.studies) > 1:
        for path in options.studies:  # a wrong name is an error of its own
            existing(path)
        raise UsageError("study: -o: expected the file of several studies together, got none")
    else:
        studies = existing(options.studies[0])
    with quiet_pipe():
        for study in studies:
            print(for_terminal(_line(study)))
    return 0


def make_parser() -> Parser:
    parser = Parser(
        "passpilot study",
        description="Show the trials that tune and train evolve keep with --study, or merge the files.",
        epilog=_EPILOG,
    )
    parser.add_fields(StudyOptions)
    parser.traceback_option()
    return parser


def _line(study: KeptStudy) -> str:
    trials, best = list(study.trials.values()), study.best
    count = f"{study.name}: {counted(len(trials), 'trial')}"
    if best is None:
        return f"{count}, {study.facts.get('compiler')}"
    first = next(trial.value for trial in trials if trial.value is not None)
    return f"{count}, {first:.6g} -> {best.value:.6g}, {study.facts.get('compiler')}"
