# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot corpus`: gathers the modules of real programs in a folder, to tune and learn on."""

from __future__ import annotations

import argparse
import math
import os
import re
import shlex
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Final

from passpilot.cli.options_table import options_of
from passpilot.cli.outputs import new_folder, prepare, quiet_pipe, say
from passpilot.cli.parser import Parser, count_of, number_of
from passpilot.cli.progress import progress
from passpilot.plugin.errors import UsageError
from passpilot.plugin.failures import for_terminal
from passpilot.runners.plurals import counted

if TYPE_CHECKING:
    from passpilot.training.corpus.builder import CorpusDraft
    from passpilot.training.corpus.statistics import CorpusStatistics

EXAMPLES: Final = {
    "extract": """\
example:
  make CC="passpilot cc --record=$PWD/recording"
  passpilot corpus extract --recording=recording -o corpus
""",
    "verify": "example:\n  passpilot corpus verify corpus\n",
    "split": "example:\n  passpilot corpus split corpus --shares=50,25,25 -o parts\n",
    "stats": "example:\n  passpilot corpus stats corpus\n",
}

DEBIAN_EXAMPLE: Final = """\
example:
  passpilot corpus debian -o debian --level=-Oz hello zopfli
"""

LEVELS: Final = tuple(f"-O{level}" for level in "0123sz")

SOURCES: Final = {
    "recording": ("DIR", "a recording by passpilot cc --record=DIR"),
    "compile-commands": ("FILE", "compile_commands.json; compiles sources whose objects embed no bitcode"),
    "objects": ("DIR", "all *.o below DIR, compiled with -Xclang -fembed-bitcode=all"),
    "params": ("FILE", "objects and archives in a linker's response file"),
    "thinlto": ("DIR", "what ld.lld --save-temps=import --thinlto-emit-index-files has left in DIR"),
    "bitcode": ("DIR", "all *.bc below DIR, not yet optimized"),
}
"""The options of `corpus extract` that say where modules are, with their values and help."""

OLD_NAMES: Final = {"root": "base", "file": "split"}

BASE: Final = (
    "paths are relative to DIR: those that name a recording's modules, and those in\n--params; with "
    "--compile-commands, response files may be in DIR, too"
)


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code, which is 1 if `verify` finds broken units."""
    prepare()
    values = make_parser().values(argv)
    values.pop("traceback")
    run = RUNS[str(values.pop("command"))]
    with quiet_pipe():
        return run(**values)


def make_parser() -> Parser:
    parser = Parser(
        "passpilot corpus",
        description="Gather modules of real programs to tune and learn on.",
        epilog=EXAMPLES["extract"],
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")

    def command(name: str, line: str, text: str) -> Parser:
        sub: Parser = commands.add_parser(
            name, help=line, description=text, epilog=EXAMPLES[name], old_names=OLD_NAMES
        )
        if name != "extract":
            sub.add_argument("corpus", metavar="CORPUS", help="a corpus of passpilot or of mlgo-utils")
        return sub

    extract = command(
        "extract",
        "make a corpus of what a build has made",
        "Make a corpus, a folder in the layout of MLGO, of what a build has made. One source is needed.\n"
        "What cannot be used is left out with a warning.",
    )
    with extract.group("sources"):
        for name, (value, text) in SOURCES.items():
            extract.option(name, default="", metavar=value, help=text)
    extract.option("o", dest="output", required=True, metavar="CORPUS", help="the output: a new folder")
    extract.option("base", default="", metavar="DIR", help=BASE)
    starts = "only units with an argument that begins so"
    extract.option("filter", dest="pattern", default="", metavar="REGEX", help=starts)
    words = "arguments of clang -cc1 for all modules, with --bitcode and --thinlto"
    extract.option("arguments", default="", metavar="TEXT", help=words)
    verify = command(
        "verify",
        "compile a corpus again, and compare",
        "Compile every unit from its bitcode and arguments, and compare the machine code with that of the\n"
        "build. The exit code is 1 if a unit is broken.",
    )
    split = command(
        "split",
        "split a corpus by programs",
        "Split a corpus into the folders train, validation and test. Programs stay whole; families, and\n"
        "programs that share modules, stay together. The same seed gives the same parts.",
    )
    split.option("o", dest="output", required=True, metavar="DIR", help="the output: a new folder")
    split.shared("seed", "of the order of programs (0)", type=count_of("seeds"), default=0)
    shares = "how many programs come into train, validation and test (70,15,15)"
    split.option("shares", type=_shares, default=(70.0, 15.0, 15.0), metavar="A,B,C", help=shares)
    split.shared("split", "by name, and families that stay together", default="")
    stats = command("stats", "print what is in a corpus", "Print what is in a corpus, by program.")
    stats.shared("json", "one object")
    for command_parser in (extract, split):
        command_parser.shared("force")
    debian = _debian_parser(commands)
    for command_parser in (extract, verify, debian):
        command_parser.shared("jobs", type=count_of("processes"), default=0)
    for command_parser in (extract, verify, split, stats, debian):
        command_parser.traceback_option()
    return parser


def _debian_parser(commands: argparse._SubParsersAction[Parser]) -> Parser:
    debian: Parser = commands.add_parser(
        "debian",
        help="build Debian's packages, and make a corpus of each",
        description="Build source packages of Debian by their own rules, in a system in DIR, and make\n"
        "DIR/PACKAGE/corpus of each. What is there is not built again. It connects to the mirror, and needs\n"
        "mmdebstrap and root.",
        epilog=DEBIAN_EXAMPLE,
    )
    debian.add_argument("names", nargs="*", metavar="PACKAGE", help="the name of a source package")
    debian.option(
        "o", dest="output", required=True, metavar="DIR", help="the output: a folder for systems and corpora"
    )
    debian.option("packages", default="", metavar="LIST.txt", help="a file with their names, a line each")
    debian.option("suite", default="bookworm", metavar="SUITE", help="the distribution's release (bookworm)")
    debian.option("mirror", default="http://deb.debian.org/debian", metavar="URL", help="where packages are")
    level = "the level of all compilations, such as -Oz (the package's own)"
    debian.option("level", choices=LEVELS, default="", metavar="-ON", help=level)
    wait = "for each step of a package: fetch, build, extract (900)"
    debian.shared("timeout", wait, type=number_of("seconds", positive=True), default=900.0)
    return debian


def _shares(text: str) -> tuple[float, ...]:
    try:
        shares = tuple(map(float, text.split(",")))
    except ValueError:
        shares = ()
    if len(shares) != 3 or not all(0 <= share < math.inf for share in shares) or not sum(shares):
        msg = f"expected three numbers, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return shares


def _extract(
    *,
    output: str,
    base: str,
    pattern: str,
    arguments: str,
    jobs: int,
    force: bool,
    **sources: str,
) -> int:
    from passpilot.training.corpus.builder import build_corpus
    from passpilot.training.corpus.layout import DESCRIPTION

    places = {name: sources[name.replace("-", "_")] for name in SOURCES}
    chosen = [name for name, place in places.items() if place]
    if len(chosen) != 1:
        got = " and ".join(f"--{name}" for name in chosen) or "none"
        expected = ", ".join(f"--{name}" for name in SOURCES)
        raise UsageError(f"corpus extract: expected one of {expected}, got {got}")
    if arguments and chosen[0] not in ("bitcode", "thinlto"):
        raise UsageError(
            f"corpus extract: expected --arguments with --bitcode or --thinlto, got --{chosen[0]}"
        )
    try:
        starts = re.compile(pattern)
    except re.error as error:
        raise UsageError(
            f"corpus extract: --filter: expected a regular expression, got {pattern}: {error}"
        ) from error
    with (
        new_folder("corpus extract", output, force=force, marks=(DESCRIPTION,)),
        tempfile.TemporaryDirectory(prefix="passpilot-") as scratch,
        progress("extracting"),
    ):
        override = tuple(shlex.split(arguments)) or None
        draft = _draft(chosen[0], places[chosen[0]], base, override, jobs, Path(scratch))
        built = build_corpus(
            output, draft, lambda words: not pattern or any(starts.match(word) for word in words)
        )
    say(*(f"warning: {problem}" for problem in built.problems))
    corpus = built.corpus
    say(
        f"{output}: {counted(len(corpus.units), 'unit')}, {counted(len(corpus.programs), 'program')}, "
        f"{counted(len(corpus.facts.duplicates), 'duplicate')} dropped, {len(built.problems)} left out"
    )
    return 0


def _draft(
    source: str, place: str, base: str, override: tuple[str, ...] | None, jobs: int, scratch: Path
) -> CorpusDraft:
    from passpilot.training.corpus.compile_commands import draft_commands
    from passpilot.training.corpus.embedded import draft_objects, draft_params
    from passpilot.training.corpus.from_bitcode import draft_bitcode, draft_thinlto
    from passpilot.training.corpus.recorded.from_recording import draft_recording

    drafts: dict[str, Callable[[], CorpusDraft]] = {
        "recording": lambda: draft_recording(place, os.path.abspath(base) if base else ""),
        "compile-commands": lambda: draft_commands(
            place, scratch, jobs, [row.name for row in options_of("cc")], base
        ),
        "objects": lambda: draft_objects(place),
        "params": lambda: draft_params(place, base or os.curdir),
        "thinlto": lambda: draft_thinlto(place, override),
        "bitcode": lambda: draft_bitcode(place, override),
    }
    return drafts[source]()


def _verify(*, corpus: str, jobs: int) -> int:
    from passpilot.training.corpus.layout import Corpus
    from passpilot.training.corpus.verification import verify

    found = Corpus.read(corpus)
    with progress("verifying", len(found.units)) as step:
        verdicts = list(verify(found, jobs, step))
    broken = [verdict.problem for verdict in verdicts if verdict.problem]
    say(*broken)
    same = sum(verdict.compared for verdict in verdicts if not verdict.problem)
    print(
        f"{corpus}: {counted(len(verdicts), 'unit')}: {same} make the code of the build, "
        f"{len(verdicts) - same - len(broken)} compile, {len(broken)} broken"
    )
    return 1 if broken else 0


def _debian(
    *,
    names: list[str],
    output: str,
    packages: str,
    suite: str,
    mirror: str,
    level: str,
    timeout: float,
    jobs: int,
) -> int:
    from passpilot.plugin.files import make_folder
    from passpilot.training.corpus.debian.gather import gather, listed_packages
    from passpilot.training.corpus.debian.system import DebianSystem

    chosen = listed_packages(names, packages)
    folder = Path(output).absolute()
    make_folder(str(folder))
    with progress(f"making a system of {suite}"):
        system = DebianSystem.made(
            folder / f".system-{suite}", suite, mirror, folder / f".system-{suite}.log"
        )
    failed = 0
    with progress("building packages", len(chosen)) as step:
        for found in gather(system, chosen, folder, level, timeout, jobs or len(os.sched_getaffinity(0))):
            step()
            print(for_terminal(found.line()), flush=True)
            failed += bool(found.problem)
    print(f"{output}: {counted(len(chosen), 'package')}, {failed} without a corpus")
    return 1 if failed == len(chosen) else 0


def _split(*, corpus: str, output: str, seed: int, shares: tuple[float, ...], split: str, force: bool) -> int:
    from passpilot.training.corpus.layout import DESCRIPTION, Corpus
    from passpilot.training.corpus.partition import (
        SplitFile,
        partition,
        programs_of,
        write_parts,
    )

    found = Corpus.read(corpus)
    fixed = SplitFile.of(split, programs_of(found)) if split else None
    parts = partition(found, seed, shares, fixed)
    marks = [f"{part.name}/{DESCRIPTION}" for part in parts]
    with new_folder("corpus split", output, force=force, marks=marks):
        write_parts(found, parts, output)
    for part in parts:
        programs = ", ".join(part.programs) or "none"
        print(for_terminal(f"{part.name:10} {counted(len(part.modules), 'unit')}: {programs}"))
    return 0


def _stats(*, corpus: str, json: bool) -> int:
    from passpilot.training.corpus.layout import Corpus
    from passpilot.training.corpus.statistics import statistics_of

    found = Corpus.read(corpus)
    with progress("reading"):
        statistics = statistics_of(found)
    say(*(f"warning: {problem}" for problem in statistics.problems))
    print(dumps(asdict(statistics)) if json else _table(statistics))
    return 0


def _table(found: CorpusStatistics) -> str:
    """The numbers of all programs, the total, and what holds for all."""
    from passpilot.training.evaluation.tables import aligned

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
    last = f"{counted(found.duplicates, 'duplicate')} dropped; {found.compiler}; {found.target}"
    return "\n".join((*aligned(rows, left=3), for_terminal(last)))


RUNS: Final[dict[str, Callable[..., int]]] = {
    "extract": _extract,
    "verify": _verify,
    "split": _split,
    "stats": _stats,
    "debian": _debian,
}
"""The functions of the commands; their arguments are the options."""
