# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every command line of ours in the README and the guides is parsed by the command that it names."""

from __future__ import annotations

import argparse
import contextlib
import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

from passpilot.cli.cc.options import Options
from passpilot.cli.llvm_options import split_options
from passpilot.cli.main import COMMANDS
from passpilot.cli.options_table import options_of
from passpilot.cli.parser import Parser
from passpilot.plugin import _core
from passpilot.plugin.errors import InputError, UsageError
from tests.test_house import LAYERS, SOURCES

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(ROOT.glob("docs/*.md")),
    *sorted(ROOT.glob("policies/*/card.md")),
]
SHELLS: Final = ("", "sh", "console")
FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED: Final = re.compile(r"(?:^    .*\n?)+", re.MULTILINE)
SPAN: Final = re.compile(r"`(passpilot [a-z][^`]*)`")
INNER: Final = re.compile(r"\$\(([^()]*)\)")
QUOTED: Final = re.compile(r"""["'](passpilot[ ;](?:cc|c\+\+)[^"']*)["']""")
STOCK: Final = re.compile(r"--?passpilot-([a-z-]+)")
STOCK_OPTIONS: Final = {row.name for door in ("plugin", "mlir-plugin") for row in options_of(door)}
MAKE: Final = re.compile(r"(?:^    |`)make ([a-z]+)(?=$|`|  )", re.MULTILINE)
TARGETS: Final = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
MODULE: Final = re.compile(r"python -m ((?:bench|tools|tests)(?:\.\w+)*)")
VARIABLE: Final = re.compile(r"\bPASSPILOT_[A-Z0-9_]+\b")
VARIABLES: Final = {row.variable for row in options_of("cc")}.union(
    *(VARIABLE.findall(file.read_text()) for file in SOURCES if file.parts[len(ROOT.parts)] in LAYERS)
)
"""Our environment variables, and our macros of C and CMake."""


def lines_of(text: str) -> Iterator[str]:
    """The command lines in the shell code of a page; a line that ends in a backslash goes on."""
    blocks = [body for language, body in FENCE.findall(text) if language in SHELLS]
    blocks += [found[0] for found in INDENTED.finditer(FENCE.sub("", text))]
    for block in blocks:
        whole = re.sub(r"\\\n\s*|\n {8,}(?=\[)", " ", block)
        yield from (line.strip().removeprefix("$ ") for line in whole.splitlines())


def commands_of(line: str) -> Iterator[list[str]]:
    """The words of each of our commands in a line, also of those in $(...) and in quotes."""
    for inner in INNER.findall(line):
        yield from commands_of(inner)
    for quoted in QUOTED.findall(line):
        yield quoted.replace(";", " ").replace("$PWD", "/here").split()
    outer = re.sub(r"\d?>&\d", "", INNER.sub("X", line))
    outer = re.sub(r"(?<=\w)\|(?=[@\w])", "/", outer)  # in a synopsis, TEXT|@FILE is one word
    lexer = shlex.shlex(outer, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in (*lexer, ";"):
        if set(word) <= set("|&;<>"):
            if words and words[0] == "passpilot":
                yield words
            words = []
        elif words or not re.match(r"\w+=", word):
            words.append(word.strip("[]"))


DRIVERS = ("cc", "c++", "rustc", "build")
"""Commands with the options of `cc`, and no parser."""


def parser_of(command: str) -> Parser:
    """The parser of a command."""
    parser = import_module(COMMANDS[command][0].partition(":")[0]).make_parser()
    assert isinstance(parser, Parser)
    return parser


def parse(words: list[str]) -> None:
    """Parse a whole command line of ours.

    Raises:
        UsageError: the command does not take it.
    """
    _, command, *rest = words
    if "--help" in rest:
        return
    if command == "build":
        rest = rest[: rest.index("--")]
    if command in DRIVERS:
        with contextlib.suppress(InputError):  # a file is missing, because nothing runs here
            Options(command, rest)
        return
    if command == "attach":
        rest = rest[: rest.index("--")]
    parser = parser_of(command)
    if command in ("opt", "llc", "compare"):
        rest, llvm = split_options(rest, parser)
        for word in llvm:
            if word.startswith("-") and _core.option_kind(name_of(word)) == _core.OptionKind.UNKNOWN:
                raise UsageError(f"{command}: LLVM has no option {word}")
    parser.values(rest)


def name_of(word: str) -> str:
    return word.lstrip("-").partition("=")[0]


def known(words: list[str]) -> set[str]:
    """The options that a command takes, without LLVM's."""
    _, command, *rest = words
    if command in DRIVERS:
        return {row.name for row in options_of("cc")} | {"help"}
    parser: argparse.ArgumentParser = parser_of(command)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) and rest:
            parser = action.choices[rest[0]]
    return {name.lstrip("-") for name in parser._option_string_actions}


def stale_span(span: str) -> Iterator[str]:
    """What a name of a command, with or without options, says that is not so."""
    words = [word.strip("[]") for word in span.split()]
    if words[1] not in COMMANDS:
        yield f"{span}: no such command"
        return
    if words[1] not in DRIVERS:
        for action in parser_of(words[1])._actions:
            if isinstance(action, argparse._SubParsersAction) and not {*words[2:3]} <= {*action.choices}:
                yield f"{span}: no such command"
                return
    before = words[: words.index("--")] if "--" in words else words
    for word in before[2:]:
        if word.startswith("-") and name_of(word) not in known(before):
            yield f"{span}: no option {word}"


def stale(page: str) -> Iterator[str]:
    """What a page says of our commands and options that is not so."""
    for line in lines_of(page):
        for words in commands_of(line) if "passpilot" in line else ():
            try:
                parse(words)
            except (UsageError, KeyError) as error:
                yield f"{' '.join(words)}: {error}"
    for span in SPAN.findall(page):
        yield from stale_span(span)
    yield from (f"-passpilot-{name}" for name in STOCK.findall(page) if name not in STOCK_OPTIONS)
    yield from (f"make {name}" for name in MAKE.findall(page) if name not in TARGETS)
    yield from (f"python -m {name}" for name in MODULE.findall(page) if not runs(name))
    yield from (name for name in VARIABLE.findall(page) if name not in VARIABLES)


def runs(module: str) -> bool:
    """Whether a module of the checkout, or a package by its `__main__`, is there to be run."""
    path = ROOT / module.replace(".", "/")
    return path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_commands_of_a_page_are_parsed(page: Path) -> None:
    assert list(stale(page.read_text())) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("    passpilot opt in.bc --inlne=default\n", "inlne"),
        ("    passpilot ooze in.bc\n", "ooze"),
        ("```sh\npasspilot llc in.bc \\\n  --evicted=default | passpilot log display x\n```\n", "evicted"),
        ("    opt-22 -load-pass-plugin=$(passpilot plugin-path --mlr) in.bc\n", "mlr"),
        ('    make CC="passpilot cc --inlin=default"\n', "inlin"),
        ("Use `passpilot serve --gprc`.\n", "gprc"),
        ("Use `passpilot corpus build`.\n", "corpus build"),
        ("    clang-22 -mllvm -passpilot-inlining=default\n", "inlining"),
        ("Set `PASSPILOT_INLINER`.\n", "PASSPILOT_INLINER"),
        ("    make documents  # all\n", "make documents"),
        ("`python -m bench.measure.runners.pip 3` measures it.\n", "bench.measure.runners.pip"),
    ],
)
def test_a_stale_command_is_found(text: str, said: str) -> None:
    assert said in "".join(stale(text))


def test_the_list_of_pages_has_every_command() -> None:
    table = (ROOT / "docs/README.md").read_text().partition("## Commands")[2].partition("\n## ")[0]
    shown = {
        name for row in table.splitlines() if row.startswith("| `") for name in re.findall(r"`([^`]+)`", row)
    }
    assert not set(COMMANDS) - shown
