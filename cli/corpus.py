# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot corpus`: gathers the modules of real programs in a folder, to tune and learn on."""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shlex
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot.cli.options_table import options_of
from passpilot.cli.outputs import prepare, quiet_pipe
from passpilot.cli.parser import Parser, count_of, record
from passpilot.cli.progress import progress
from passpilot.plugin.errors import UsageError
from passpilot.plugin.failures import for_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from passpilot.training.corpus.builder import CorpusDraft
    from passpilot.training.corpus.statistics import CorpusStatistics

EXAMPLES: Final = """\
examples:
  make CC="passpilot cc --record=$PWD/recording"
  passpilot corpus extract --recording=recording -o corpus
  passpilot corpus verify corpus
  passpilot corpus split corpus -o parts
"""

SOURCES: Final = {
    "recording": ("DIR", "a recording by passpilot cc --record=DIR"),
    "compile-commands": ("FILE", "compile_commands.json; compiles sources whose objects embed no bitcode"),
    "objects": ("DIR", "all *.o below DIR, compiled with -Xclang -fembed-bitcode=all"),
    "params": ("FILE", "objects and archives in a linker's response file"),
    "thinlto": ("DIR", "what ld.lld --save-temps=import --thinlto-emit-index-files has left in DIR"),
    "bitcode": ("DIR", "all *.bc below DIR, not yet optimized"),
}
"""The options of `corpus extract` that say where modules are, with their values and help."""


class ExtractOptions(NamedTuple):
    """The command line of `passpilot corpus extract` but for the sources."""

    output: str
    root: str
    filter: str
    arguments: str
    jobs: int


class VerifyOptions(NamedTuple):
    """The command line of `passpilot corpus verify`."""

    corpus: str
    jobs: int


class SplitOptions(NamedTuple):
    """The command line of `passpilot corpus split`."""

    corpus: str
    output: str
    seed: int
    shares: tuple[float, ...]
    file: str


class StatsOptions(NamedTuple):
    """The command line of `passpilot corpus stats`."""

    corpus: str
    json: bool


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code, which is 1 if `verify` finds broken units.

    Raises:
        UsageError: the command line is wrong.
        InputError: the corpus cannot be made or read.
    """
    prepare()
    values = make_parser().values(argv)
    code = 1
    with quiet_pipe():
        if values["command"] == "extract":
            code = _extract(record(ExtractOptions, values), _source(values))
        elif values["command"] == "verify":
            code = _verify(record(VerifyOptions, values))
        elif values["command"] == "split":
            code = _split(record(SplitOptions, values))
        else:
            code = _stats(record(StatsOptions, values))
    return code


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(
        "passpilot corpus",
        description="Gather modules of real programs to tune and learn on.",
        epilog=EXAMPLES,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")

    def command(name: str, line: str, text: str) -> Parser:
        made: Parser = commands.add_parser(name, help=line, description=text, epilog=EXAMPLES)
        return made

    _add_extract(
        command(
            "extract",
            "make a corpus of what a build has made",
            "Make a corpus, a folder in the layout of MLGO, of what a build has made. One source is needed.\n"
            "What cannot be used is left out with a warning.",
        )
    )
    verify = command(
        "verify",
        "compile a corpus again, and compare",
        "Compile every unit from its bitcode and arguments, and compare the machine code with that of the\n"
        "build. The exit code is 1 if a unit is broken.",
    )
    verify.add_argument("corpus", metavar="CORPUS", help="a corpus of passpilot or of mlgo-utils")
    _add_jobs(verify)
    _add_split(
        command(
            "split",
            "split a corpus by programs",
            "Split a corpus into the folders train, validation and test. Programs stay whole; families, and\n"
            "programs that share modules, stay together. The same seed gives the same parts.",
        )
    )
    stats = command("stats", "print what is in a corpus", "Print what is in a corpus, by program.")
    stats.add_argument("corpus", metavar="CORPUS", help="a corpus of passpilot or of mlgo-utils")
    stats.option("json", action="store_true", help="print one JSON object")
    for each in (verify, stats):
        each.traceback_option()
    return parser


def _add_extract(parser: Parser) -> None:
    add = parser.option
    with parser.group("sources"):
        for name, (value, text) in SOURCES.items():
            add(name, default="", metavar=value, help=text)
    add("o", dest="output", required=True, metavar="CORPUS", help="the folder to make")
    add(
        "root",
        default="",
        metavar="DIR",
        help="a recording's modules are named by their paths in DIR; with\n"
        "--params, paths are relative to DIR",
    )
    add("filter", default="", metavar="REGEX", help="only units with an argument that begins so")
    add(
        "arguments",
        default="",
        metavar="TEXT",
        help="arguments of clang -cc1 for all modules, with --bitcode and --thinlto",
    )
    _add_jobs(parser)
    parser.traceback_option()


def _add_split(parser: Parser) -> None:
    add = parser.option
    parser.add_argument("corpus", metavar="CORPUS", help="a corpus of passpilot or of mlgo-utils")
    add("o", dest="output", required=True, metavar="DIR", help="the folder to make")
    add("seed", type=count_of("seeds"), default=0, metavar="N", help="of the order of programs (0)")
    add(
        "shares",
        type=_shares,
        default=(70.0, 15.0, 15.0),
        metavar="A,B,C",
        help="how many programs come into train, validation and test (70,15,15)",
    )
    add(
        "file",
        default="",
        metavar="FILE.toml",
        help="families that stay together, and parts of programs by name",
    )
    parser.traceback_option()


def _add_jobs(parser: Parser) -> None:
    parser.option(
        "jobs",
        "j",
        type=count_of("processes"),
        default=0,
        metavar="N",
        help="processes at once (as processors)",
    )


def _shares(text: str) -> tuple[float, ...]:
    try:
        shares = tuple(map(float, text.split(",")))
    except ValueError:
        shares = ()
    if len(shares) != 3 or not all(0 <= each < math.inf for each in shares) or not sum(shares):
        msg = f"expected three numbers, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return shares


def _source(values: dict[str, object]) -> tuple[str, str]:
    """The name and the value of the option that says where modules are."""
    given = [(name, str(values[name.replace("-", "_")])) for name in SOURCES]
    given = [each for each in given if each[1]]
    if len(given) != 1:
        got = " and ".join(f"--{name}" for name, _ in given) or "none"
        expected = ", ".join(f"--{name}" for name in SOURCES)
        raise UsageError(f"corpus extract: expected one of {expected}, got {got}")
    return given[0]


def _extract(options: ExtractOptions, source: tuple[str, str]) -> int:
    from passpilot.training.corpus.builder import build_corpus, check_new

    wanted = _pattern(options.filter)
    if options.arguments and source[0] not in ("bitcode", "thinlto"):
        raise UsageError(
            f"corpus extract: expected --arguments with --bitcode or --thinlto, got --{source[0]}"
        )
    check_new(options.output)
    with tempfile.TemporaryDirectory(prefix="passpilot-") as scratch, progress("extracting"):
        built = build_corpus(options.output, _draft(options, source, Path(scratch)), wanted)
    for problem in built.problems:
        _say(f"warning: {problem}")
    corpus = built.corpus
    _say(
        f"{options.output}: {_count(len(corpus.units), 'unit')}, {_count(len(corpus.programs), 'program')}, "
        f"{_count(len(corpus.facts.duplicates), 'duplicate')} dropped, {len(built.problems)} left out"
    )
    return 0


def _pattern(text: str) -> Callable[[Sequence[str]], bool]:
    """Whether an argument of a unit matches, as mlgo-utils' --cmd_filter does."""
    if not text:
        return lambda _: True
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise UsageError(
            f"corpus extract: --filter: expected a regular expression, got {text}: {error}"
        ) from error
    return lambda arguments: any(pattern.match(each) for each in arguments)


def _draft(options: ExtractOptions, source: tuple[str, str], scratch: Path) -> CorpusDraft:
    from passpilot.training.corpus.compile_commands import draft_commands
    from passpilot.training.corpus.embedded import draft_objects, draft_params
    from passpilot.training.corpus.from_bitcode import draft_bitcode, draft_thinlto
    from passpilot.training.corpus.recorded.from_recording import draft_recording

    name, value = source
    override = tuple(shlex.split(options.arguments)) or None
    if name == "recording":
        return draft_recording(value, os.path.abspath(options.root) if options.root else "")
    if name == "compile-commands":
        names = [row.name for row in options_of("cc")]
        return draft_commands(value, scratch, _jobs(options.jobs), names)
    if name == "objects":
        return draft_objects(value)
    if name == "params":
        return draft_params(value, options.root or os.curdir)
    return (draft_thinlto if name == "thinlto" else draft_bitcode)(value, override)


def _verify(options: VerifyOptions) -> int:
    from passpilot.training.corpus.layout import Corpus
    from passpilot.training.corpus.verification import verify

    corpus = Corpus.read(options.corpus)
    with progress("verifying", len(corpus.units)) as step:
        verdicts = list(verify(corpus, _jobs(options.jobs), step))
    broken = [each for each in verdicts if each.problem]
    for each in broken:
        _say(each.problem)
    same = sum(each.compared for each in verdicts if not each.problem)
    print(
        f"{options.corpus}: {_count(len(verdicts), 'unit')}: {same} make the code of the build, "
        f"{len(verdicts) - same - len(broken)} compile, {len(broken)} broken"
    )
    return 1 if broken else 0


def _split(options: SplitOptions) -> int:
    from passpilot.training.corpus.builder import check_new
    from passpilot.training.corpus.layout import Corpus
    from passpilot.training.corpus.partition import SplitFile, partition, unknown_programs, write_parts

    corpus = Corpus.read(options.corpus)
    file = SplitFile.read(options.file) if options.file else None
    if file and (unknown := unknown_programs(corpus, file)):
        _say(f"warning: {options.file}: expected programs of the corpus, got {', '.join(unknown)}")
    check_new(options.output)
    parts = partition(corpus, options.seed, options.shares, file)
    write_parts(corpus, parts, options.output)
    for part in parts:
        programs = ", ".join(part.programs) or "none"
        print(for_terminal(f"{part.name:10} {_count(len(part.modules), 'unit')}: {programs}"))
    return 0


def _stats(options: StatsOptions) -> int:
    from passpilot.training.corpus.layout import Corpus
    from passpilot.training.corpus.statistics import statistics_of

    corpus = Corpus.read(options.corpus)
    with progress("reading"):
        found = statistics_of(corpus)
    for problem in found.problems:
        _say(f"warning: {problem}")
    print(json.dumps(asdict(found)) if options.json else _table(found))
    return 0


def _table(found: CorpusStatistics) -> str:
    """The numbers of all programs, the total, and what holds for all."""
    rows: list[tuple[str, ...]] = [("program", "language", "level", "units", "functions", "calls", "bytes")]
    rows += [
        (
            for_terminal(row.name),
            ",".join(row.languages),
            ",".join(row.levels),
            *(f"{number:,}" for number in (row.units, row.functions, row.calls, row.bitcode)),
        )
        for row in (*found.rows, found.total)
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = [
        "  ".join(
            f"{cell:{width}}" if place < 3 else f"{cell:>{width}}"
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    last = f"{_count(found.duplicates, 'duplicate')} dropped; {found.compiler}; {found.target}"
    return "\n".join((*lines, for_terminal(last)))


def _jobs(given: int) -> int:
    return given or len(os.sched_getaffinity(0))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _say(text: str) -> None:
    print(f"passpilot: {for_terminal(text)}\n", end="", file=sys.stderr)
