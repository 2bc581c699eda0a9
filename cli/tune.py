# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot tune`: searches the decisions that make modules smallest, and writes a decision file."""

from __future__ import annotations

import argparse
import math
import os
import sys
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from passpilot.cli.llvm_options import check_text, set_llvm_options, split_options
from passpilot.cli.outputs import prepare
from passpilot.cli.parser import Parser
from passpilot.cli.progress import progress
from passpilot.plugin.errors import UsageError
from passpilot.plugin.files import check_output
from passpilot.plugin.module import Module
from passpilot.training.tuning.decision_file import UnitDecisions, write_decisions
from passpilot.training.tuning.search import Found, Search
from passpilot.training.tuning.unit import Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

EPILOG: Final = """\
example:
  passpilot tune lua.bc --budget=60 -o lua.decisions
  passpilot opt lua.bc -passes='default<Oz>' --decisions=lua.decisions -o small.bc
  passpilot llc small.bc -filetype=obj -relocation-model=pic --decisions=lua.decisions -o small.o

The size is the machine code in the object file that llc -O2 makes. Every compilation runs in a process of its
own. Ctrl-C ends the search of a module; its best decisions are kept. All other options are LLVM's own."""


class TuneOptions(NamedTuple):
    """The command line of `passpilot tune` without LLVM's own options."""

    modules: tuple[str, ...]
    passes: str
    output: str
    budget: float
    compiles: float
    jobs: int
    seed: int


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code.

    Raises:
        UsageError: the command line is wrong.
        Error: a module cannot be read or compiled, or the file cannot be written.
    """
    prepare()
    options, llvm = _parsed(argv)
    set_llvm_options("tune", llvm)
    check_output(options.output)
    units = []
    starts = texts = 0
    for path in options.modules:
        found, unit = _tuned(path, options)
        print(_summary(path, found), file=sys.stderr)
        units.append(unit)
        starts, texts = starts + found.start, texts + found.text
    notes = [f".text {starts} -> {texts} bytes, {options.passes} and llc -O2"]
    write_decisions(options.output, units, notes)
    return 0


def make_parser() -> Parser:
    """The parser of the command's own options."""
    parser = Parser(
        "passpilot tune",
        description="Search the inlining decisions, a pipeline and outlining that make modules smallest.",
        epilog=EPILOG,
    )
    add = parser.option
    parser.add_argument("modules", nargs="+", metavar="IN", help="a .ll or .bc file, not yet optimized")
    add("passes", default="default<Oz>", metavar="PIPELINE", help="textual pipeline (default<Oz>)")
    add("o", dest="output", required=True, metavar="FILE", help="the decision file")
    add("budget", type=_positive, default=60.0, metavar="SECONDS", help="the time for each module (60)")
    add(
        "compiles", type=_count, default=0, metavar="N", help="compilations of each module, instead of a time"
    )
    add("jobs", type=_count, default=0, metavar="N", help="compilations at once (as many as processors)")
    add("seed", type=_count, default=0, metavar="N", help="of the order in which decisions are tried (0)")
    parser.traceback_option()
    return parser


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        msg = f"expected a number of seconds above 0, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return value


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        msg = f"expected a number of 0 or more, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


def _parsed(argv: Sequence[str]) -> tuple[TuneOptions, list[str]]:
    parser = make_parser()
    ours, llvm = split_options(argv, parser)
    ours.sort(key=lambda argument: argument != "-" and argument.startswith("-"))
    values = parser.values(ours)
    check_text("tune", values)
    modules = cast("tuple[str, ...]", values["modules"])
    if len(set(map(os.path.basename, modules))) < len(modules) and len(set(modules)) < len(modules):
        raise UsageError(f"tune: expected different modules, got {', '.join(modules)}")
    compiles = cast("int", values["compiles"])
    return TuneOptions(
        modules,
        str(values["passes"]),
        str(values["output"]),
        math.inf if compiles else cast("float", values["budget"]),
        compiles or math.inf,
        cast("int", values["jobs"]) or len(os.sched_getaffinity(0)),
        cast("int", values["seed"]),
    ), llvm


def _tuned(path: str, options: TuneOptions) -> tuple[Found, UnitDecisions]:
    """Search one module; returns what was found, and its part of the decision file."""
    module = Module.read(path)
    state = f"{path}: compiling"

    def step(compiles: int, best: int) -> None:
        nonlocal state
        state = f"{path}: {best} bytes, {compiles} compilations"

    search = Search(
        Unit(module, options.passes), options.jobs, options.seed, options.budget, options.compiles, step
    )
    with progress(lambda: state):
        found = search.run()
    best = found.candidate
    note = f".text {found.start} -> {found.text} bytes, {len(best.inline)} of {found.calls} calls"
    return found, UnitDecisions(
        module.source_file, best.inline, best.tail, best.outline, sorted(best.no_outline), [note]
    )


def _summary(path: str, found: Found) -> str:
    ratio = found.text / found.start if found.start else 1.0
    return (
        f"{path}: .text {found.start} -> {found.text} bytes ({ratio:.3f}); {len(found.candidate.inline)} of "
        f"{found.calls} calls decided, {found.compiles} compilations in {found.seconds:.0f} s"
    )
