# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot compare`: compiles modules with several runners and shows what each makes of them."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from passpilot.cli.advice import Advice, contending
from passpilot.cli.comparison_text import BASELINE, Comparison, csv_text, json_text, table_text
from passpilot.cli.llvm_options import set_llvm_options, split_options
from passpilot.cli.options_table import RUNNERS
from passpilot.cli.outputs import prepare, quiet_pipe
from passpilot.cli.parser import Parser, count_of
from passpilot.cli.progress import progress
from passpilot.features.catalogue import HOOKED
from passpilot.passes.advisor import Advisor
from passpilot.passes.unasked import cause
from passpilot.plugin.errors import InputError, PasspilotWarning, UsageError
from passpilot.plugin.failures import shown
from passpilot.plugin.files import write_file
from passpilot.plugin.load import load_file
from passpilot.plugin.module import Module
from passpilot.training.comparison import Contender, compare_on

EPILOG: Final = f"""\
example:
  passpilot compare test/*.bc --inline=python:policy.py:decide --inline=onnx:model.onnx

LLVM's own decisions are always compared; each --inline, --evict, --priority and --advise adds a contender.
allocated is what the object file that llc -O2 makes loads: code, constants, data and unwind tables; .text is
its machine code; file and xz are its size and that after xz -9e. All other options are LLVM's own:
-mcpu=znver4, -relocation-model=pic, ...
{RUNNERS}"""


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code. After an error nothing has been written but logs."""
    prepare()
    parser = make_parser()
    ours, llvm = split_options(argv, parser)
    # argparse wants the inputs together, and before an option whose value is missing
    ours.sort(key=lambda argument: argument != "-" and argument.startswith("-"))
    options: dict[str, Any] = parser.values(ours)
    for file in options["load"]:
        load_file(file)
    advice = contending("compare", options)
    if not advice:
        raise UsageError("compare: expected a runner to compare with LLVM, got none; add --inline=RUNNER")
    if options["json"] and options["csv"]:
        raise UsageError("compare: choose --json or --csv")
    for source in options["modules"]:
        if not os.path.isfile(source):
            there = os.path.exists(source) or source == "-"
            got = "something else: it is read several times" if there else "no such file"
            raise InputError(f"compare: {source}: expected a file, got {got}")
    set_llvm_options("compare", llvm)
    comparison = _compared(options, _contenders(advice), llvm)
    text = json_text if options["json"] else csv_text if options["csv"] else table_text
    with quiet_pipe():
        write_file(options["output"], text(comparison))
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
    parser.shared("passes", "default<Oz> unless given", default="default<Oz>")
    repeat = "time N compilations, take the median (1); 0: none"
    add("repeat", type=count_of("compilations"), default=1, metavar="N", help=repeat)
    parser.shared("json", "one object")
    parser.shared("csv", "a line per module and contender, and the totals")
    add("o", dest="output", default="-", metavar="OUT", help="the output; - (the default) for stdout")
    parser.table_options("compare")
    parser.traceback_option()
    return parser


def _compared(options: dict[str, Any], contenders: Sequence[Contender], llvm: Sequence[str]) -> Comparison:
    sources, pipeline, repeat = options["modules"], options["passes"], options["repeat"]
    modules = []
    with (
        tempfile.TemporaryDirectory(prefix="passpilot-") as scratch,
        progress("comparing", len(sources) * len(contenders) * (1 + repeat)) as step,
    ):
        folder = (options["log"] or [scratch])[-1]
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            msg = f"compare: --log: expected a folder at {folder}, got: {error.strerror}"
            raise InputError(msg) from error
        for number, source in enumerate(sources):
            stem = f"{folder}/{number:03}-{os.path.splitext(os.path.basename(source))[0]}"
            logs = [
                {point: f"{stem}.{index or BASELINE}.{point}.log" for point in contender.points}
                for index, contender in enumerate(contenders)
            ]
            modules.append(compare_on(source, contenders, pipeline, repeat, logs, step))
    names = [contender.name for contender in contenders]
    comparison = Comparison(pipeline, llvm, names, modules, logged=bool(options["log"]))
    for name, whole in zip(names, comparison.totals, strict=True):
        if not whole.decisions:
            causes = filter(None, (cause(Module.read(source)) for source in sources))
            why = next(causes, "the pipeline or the modules have no such decision")
            msg = f"compare: {name} was never asked: {why}"
            warnings.warn(msg, PasspilotWarning, stacklevel=2)
    return comparison


def _contenders(advice: Sequence[Advice]) -> list[Contender]:
    """LLVM's own decisions at all points that are compared, then a contender for each runner."""
    points = tuple(dict.fromkeys(point for one in advice for point in one.runners))
    alone = advice[0]._replace(runners=dict.fromkeys(points, "default"), keywords={})
    return [
        Contender(BASELINE, points, partial(_advisors, alone)),
        *(Contender(_name(one), tuple(one.runners), partial(_advisors, one)) for one in advice),
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
