# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot corpus`: gathers the modules of real programs in a folder, to tune and learn on."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot.cli.outputs import prepare
from passpilot.cli.parser import Parser, record
from passpilot.cli.progress import progress
from passpilot.plugin.errors import UsageError
from passpilot.plugin.failures import for_terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from passpilot.training.corpus.builder import CorpusDraft

EXAMPLES: Final = """\
examples:
  make CC="passpilot cc --record=$PWD/recording"
  passpilot corpus extract --recording=recording -o corpus
"""


class ExtractOptions(NamedTuple):
    """The command line of `passpilot corpus extract`."""

    output: str
    recording: str
    root: str


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code.

    Raises:
        UsageError: the command line is wrong.
        InputError: the corpus cannot be made or read.
    """
    prepare()
    values = make_parser().values(argv)
    return _extract(record(ExtractOptions, values))


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(
        "passpilot corpus",
        description="Gather modules of real programs to tune and learn on.",
        epilog=EXAMPLES,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    extract = commands.add_parser(
        "extract",
        help="make a corpus of what a build has made",
        description="Make a corpus, a folder in the layout of MLGO, of what a build has made.",
        epilog=EXAMPLES,
    )
    add = extract.option
    with extract.group("sources"):
        add("recording", default="", metavar="DIR", help="a recording by passpilot cc --record=DIR")
    add("o", dest="output", required=True, metavar="CORPUS", help="the folder to make")
    add("root", default="", metavar="DIR", help="modules are named by their paths in DIR")
    extract.traceback_option()
    return parser


def _extract(options: ExtractOptions) -> int:
    from passpilot.training.corpus.builder import build_corpus, check_new

    check_new(options.output)
    with progress("extracting"):
        built = build_corpus(options.output, _draft(options))
    for problem in built.problems:
        _say(f"warning: {problem}")
    units, programs = built.corpus.units, built.corpus.programs
    dropped = len(built.corpus.facts.duplicates)
    _say(
        f"{options.output}: {len(units)} units of {len(programs)} programs; "
        f"{dropped} duplicates dropped, {len(built.problems)} problems"
    )
    return 0


def _draft(options: ExtractOptions) -> CorpusDraft:
    from passpilot.training.corpus.from_recording import draft_recording

    if not options.recording:
        raise UsageError("corpus extract: expected a source, got none; see `passpilot corpus extract --help`")
    return draft_recording(options.recording, os.path.abspath(options.root) if options.root else "")


def _say(text: str) -> None:
    print(f"passpilot: {for_terminal(text)}\n", end="", file=sys.stderr)
