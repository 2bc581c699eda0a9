# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot compare`: compiles modules with several runners and shows what each makes of them."""

from __future__ import annotations

import argparse
import os
import tempfile
import warnings
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from passpilot.cli.advice import contending
from passpilot.cli.comparison_text import BASELINE, Comparison, csv_text, json_text, table_text
from passpilot.cli.llvm_options import check_text, set_llvm_options, split_options
from passpilot.cli.options_table import RUNNERS
from passpilot.cli.outputs import prepare, quiet_pipe
from passpilot.cli.parser import Parser
from passpilot.cli.progress import progress
from passpilot.features.catalogue import HOOKED
from passpilot.plugin.errors import InputError, PasspilotWarning, UsageError
from passpilot.plugin.files import write_file
from passpilot.plugin.load import load_file
from passpilot.runners.spec import shown
from passpilot.training.comparison import Contender, Recipe, compare_on

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from passpilot.cli.advice import Advice
    from passpilot.passes.advisor import Advisor

EPILOG: Final = f"""\
example:
  passpilot compare test/*.bc --inline=python:policy.py:decide --inline=onnx:model.onnx

LLVM's own decisions are always compared; each --inline, --evict, --priority and --advise adds a contender.
.text is the machine code in the object file that llc -O2 makes. All other options are LLVM's own:
-mcpu=znver4, -relocation-model=pic, ...
{RUNNERS}"""


class CompareOptions(NamedTuple):
    """The command line of `passpilot compare` without LLVM's own options."""

    modules: tuple[str, ...]
    contenders: Sequence[Advice]
    recipe: Recipe
    json: bool
    csv: bool
    output: str
    logs: str
    """The folder for the decision logs; empty to keep none."""


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code. Ends quietly if the reader of the output goes away.

    Raises:
        UsageError: the command line is wrong.
        Error: a module cannot be compiled, or a runner failed; nothing has been written but logs.
    """
    prepare()
    options, llvm = _parsed(argv)
    set_llvm_options("compare", llvm)
    made = _compared(options, llvm)
    text = (json_text if options.json else csv_text if options.csv else table_text)(made)
    with quiet_pipe():
        write_file(options.output, text.encode())
    return 0


def make_parser() -> Parser:
    """The parser of the advice flags and of the command's own."""
    parser = Parser(
        "passpilot compare",
        description="Compile modules with several runners; show size, decisions, agreement and time.",
        epilog=EPILOG,
    )
    add = parser.option
    parser.add_argument("modules", nargs="+", metavar="IN", help="a .ll or .bc file")
    add("passes", default="default<Oz>", metavar="PIPELINE", help="textual pipeline (default<Oz>)")
    add("repeat", type=_count, default=1, metavar="N", help="time N compilations, take the median (1)")
    add("json", action="store_true", help="print one JSON object")
    add("csv", action="store_true", help="print a line per module and contender, and the totals")
    add("o", dest="output", default="-", metavar="OUT", help="output file; - (the default) for stdout")
    parser.table_options("compare")
    parser.traceback_option()
    return parser


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        msg = f"expected a number of compilations, 0 or more, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


def _parsed(argv: Sequence[str]) -> tuple[CompareOptions, list[str]]:
    """The parsed options, and the arguments for LLVM; runs the files of --load, which may declare points."""
    parser = make_parser()
    ours, llvm = split_options(argv, parser)
    # argparse wants the inputs together, and before an option whose value is missing
    ours.sort(key=lambda argument: argument != "-" and argument.startswith("-"))
    values = parser.values(ours)
    check_text("compare", values)
    for file in cast("tuple[str, ...]", values["load"]):
        load_file(file)
    recipe = Recipe(str(values["passes"]), cast("int", values["repeat"]))
    logs = cast("tuple[str, ...]", values["log"])
    options = CompareOptions(
        cast("tuple[str, ...]", values["modules"]),
        contending("compare", values),
        recipe,
        values["json"] is True,
        values["csv"] is True,
        str(values["output"]),
        logs[-1] if logs else "",
    )
    _check(options)
    return options, llvm


def _check(options: CompareOptions) -> None:
    if not options.contenders:
        raise UsageError("compare: expected a runner to compare with LLVM, got none; add --inline=RUNNER")
    if options.json and options.csv:
        raise UsageError("compare: expected --json or --csv, got both")
    for source in options.modules:
        if not os.path.isfile(source):
            raise InputError(f"compare: expected files, which are read several times, got {source!r}")


def _compared(options: CompareOptions, llvm: Sequence[str]) -> Comparison:
    contenders = _contenders(options.contenders)
    steps = len(options.modules) * len(contenders) * (1 + options.recipe.repeat)
    modules = []
    with (
        tempfile.TemporaryDirectory(prefix="passpilot-") as scratch,
        progress("comparing", steps) as step,
    ):
        folder = options.logs or scratch
        _make_folder(folder)
        for number, source in enumerate(options.modules):
            logs = [
                _log_paths(f"{folder}/{number:03}-{_stem(source)}", *each) for each in enumerate(contenders)
            ]
            modules.append(compare_on(source, contenders, options.recipe, logs, step))
    names = [each.name for each in contenders]
    made = Comparison(options.recipe, llvm, names, modules, logged=bool(options.logs))
    _warn_of_silence(made)
    return made


def _contenders(asked: Sequence[Advice]) -> list[Contender]:
    """LLVM's own decisions at all points that are compared, then a contender for each runner."""
    points = tuple(dict.fromkeys(point for advice in asked for point in advice.runners))
    alone = asked[0]._replace(runners=dict.fromkeys(points, "default"), keywords={})
    return [
        Contender(BASELINE, points, partial(_advisors, alone)),
        *(Contender(_name(each), tuple(each.runners), partial(_advisors, each)) for each in asked),
    ]


def _name(advice: Advice) -> str:
    """The option that made the contender."""
    ((point, runner),) = advice.runners.items()
    return f"--{'' if point in HOOKED else 'advise='}{point}={shown(str(runner))}"


def _advisors(advice: Advice, logs: Mapping[str, str]) -> Sequence[Advisor]:
    advisors = advice._replace(logs=logs).make_advisors()
    for advisor in advisors:
        advisor.may_idle = True  # among several modules, one without decisions is no mistake
    return advisors


def _make_folder(path: str) -> None:
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise InputError(f"compare: --log: expected a folder at {path}, got: {error.strerror}") from error


def _stem(source: str) -> str:
    return os.path.splitext(os.path.basename(source))[0]


def _log_paths(start: str, index: int, contender: Contender) -> dict[str, str]:
    """The paths of a contender's logs of one module, by point."""
    return {point: f"{start}.{index or BASELINE}.{point}.log" for point in contender.points}


def _warn_of_silence(made: Comparison) -> None:
    for name, whole in zip(made.contenders, made.totals, strict=True):
        if not whole.decisions:
            msg = f"compare: {name} was never asked: the pipeline or the modules have no such decision"
            warnings.warn(msg, PasspilotWarning, stacklevel=2)
