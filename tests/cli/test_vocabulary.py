# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The options of all commands side by side: a name means one thing, and takes one kind of value."""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from typing import Final, NamedTuple

import pytest

from passpilot.cli.main import COMMANDS
from passpilot.cli.options_table import DOORS, TABLE, options_of
from passpilot.plugin.errors import UsageError

CLANG: Final = ("cc", "c++", "rustc", "build")


class Shown(NamedTuple):
    """An option as the help of a command shows it."""

    command: str
    value: str
    meaning: str
    """The help up to what is special in this command."""


def parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The parsers of all commands and subcommands, by name."""
    for command, (place, _) in COMMANDS.items():
        if command not in CLANG:
            yield from subparsers(command, import_module(place.partition(":")[0]).make_parser())


def subparsers(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub, child in action.choices.items():
                yield from subparsers(f"{name} {sub}", child)


PARSERS: Final = dict(parsers())


def meaning(text: str | None) -> str:
    return re.split(r"[:;(,]", text or "")[0].strip()


def options() -> dict[str, list[Shown]]:
    """What each option with two dashes is in each command; a row of the table has one meaning."""
    found: dict[str, list[Shown]] = defaultdict(list)
    of_table = {door: {row.name: row for row in options_of(door)} for door in DOORS}
    for command, parser in PARSERS.items():
        rows = of_table.get(command, {})  # type: ignore[call-overload]
        for action in parser._actions:
            value = "" if action.nargs == 0 else action.metavar or "|".join(map(str, action.choices or ()))
            for name in action.option_strings:
                row = rows.get(name[2:])
                text, shown = (row.help, row.value) if row else (action.help, value)
                found[name].append(Shown(command, str(shown), meaning(text)))
    for row in options_of("cc"):
        found[f"--{row.name}"].append(Shown("cc", row.value, meaning(row.help)))
    return {name: found[name] for name in found if name.startswith("--")}


EVERY: Final = options()


@pytest.mark.parametrize("name", [name for name, shown in EVERY.items() if len(shown) > 1])
def test_a_name_has_one_meaning(name: str) -> None:
    shown = EVERY[name]
    assert len({option.meaning for option in shown}) == 1, shown
    assert name == "--o" or len({option.value for option in shown}) == 1, shown
    assert all(option.meaning for option in shown)


def test_the_table_is_of_all_commands() -> None:
    commands = {option.command for shown in EVERY.values() for option in shown}
    assert commands >= {*COMMANDS, "train data", "corpus split", "log diff", "unwind check"} - {
        "c++",
        "rustc",
        "build",
    }
    assert len(EVERY) > 150


def test_where_there_is_work_in_parallel_there_is_j() -> None:
    jobs = {option.command for option in EVERY["--jobs"]}
    assert jobs == {option.command for option in EVERY["--j"]}
    working = {"tune", "eval", "size", "corpus extract", "corpus verify", "corpus debian"}
    assert jobs == {*working, *(f"train {name}" for name in ("data", "imitate", "evolve", "native-size"))}


@pytest.mark.parametrize("name", [row.name for row in TABLE if len(row.wording) > 1])
def test_the_wordings_of_a_row_take_the_same_kind_of_value(name: str) -> None:
    row = next(row for row in TABLE if row.name == name)
    assert all(bool(value) == bool(row.value) for value, _ in row.wording.values())


def values(command: str, *arguments: str) -> dict[str, object]:
    parser = PARSERS[command.partition(" ")[0]]
    return vars(parser.parse_args([*command.split()[1:], *arguments]))


EARLIER: Final = {
    ("train data", "--deadline=5", "--timeout=5"): ("in.bc", "-o", "d"),
    ("train data", "--seconds=5", "--budget=5"): ("in.bc", "-o", "d"),
    ("train native-size", "-deadline=5", "--timeout=5"): ("in.bc", "-o", "d"),
    ("eval", "--deadline=5", "--timeout=5"): ("--corpus=c",),
    ("eval", "--run-deadline=5", "--run-timeout=5"): ("--corpus=c",),
    ("eval", "--policy=@oz", "--contender=@oz"): ("--corpus=c",),
    ("corpus extract", "--root=d", "--base=d"): ("-o", "d"),
    ("corpus split", "--file=d", "--split=d"): ("c", "-o", "d"),
    ("serve-compiler", "--corpus=d", "--modules=d"): ("--grpc=0",),
    ("size", "--json=-", "--result=-"): ("a.o",),
    ("unwind check", "--at=calls", "--stops=calls"): ("a.o", "b.o"),
}


@pytest.mark.parametrize(("command", "old", "new"), EARLIER)
def test_an_earlier_name_is_accepted_but_not_shown(command: str, old: str, new: str) -> None:
    rest = EARLIER[command, old, new]
    expected = values(command, *rest, new)
    assert expected != values(command, *rest)
    assert values(command, *rest, old) == values(command, *rest, *old.split("=")) == expected
    assert f"--{old.partition('=')[0].lstrip('-')}" not in PARSERS[command]._option_string_actions


@pytest.mark.parametrize(
    ("command", "arguments", "name", "value"),
    [
        ("eval", ("--corpus", "c", "--baselines", "-Oz,-Os"), "baselines", "-Oz,-Os"),
        ("eval", ("--corpus", "c", "--contender", "-O2 inline=const:1"), "contender", ["-O2 inline=const:1"]),
        ("train imitate", ("s.toml", "-o", "-d", "-j4"), "jobs", 4),
        ("train data", ("in.bc", "-o", "d", "--flips", "3"), "flips", 3),
        ("mlir-opt", ("--verify-each", "in.mlir"), "input", "in.mlir"),
        ("mlir-opt", ("--inline", "const:1", "in.mlir"), "advise", ["mlir-inline=const:1"]),
        ("log show", ("a.log", "--limit", "3"), "limit", 3),
    ],
)
def test_a_value_may_be_an_argument_of_its_own(
    command: str, arguments: tuple[str, ...], name: str, value: object
) -> None:
    assert values(command, *arguments)[name] == value


@pytest.mark.parametrize(
    ("command", "arguments", "told"),
    [
        ("eval", ("--corpus", "--no-runs"), "eval: --corpus: expected DIR, got the option --no-runs; write"),
        ("train imitate", (), "train imitate: expected SETTINGS.toml and -o, got none; see `passpilot train"),
        (
            "train data",
            ("a.bc", "-o"),
            "train data: -o: expected DIR, got nothing; see `passpilot train data",
        ),
        ("train data", ("a.bc", "-o", "d", "-jx"), "train data: --jobs: expected a number of jobs, got 'x'"),
    ],
)
def test_a_missing_value_is_named(command: str, arguments: tuple[str, ...], told: str) -> None:
    with pytest.raises(UsageError) as caught:
        values(command, *arguments)
    assert str(caught.value).startswith(told)


def test_levels_are_one_line_of_help() -> None:
    text = PARSERS["llc"].format_help()
    assert "  -O0, -O1, -O2, -O3    the optimization level, of code generation (-O2)" in text
    assert text.count("optimization level") == 1


@pytest.mark.parametrize(
    ("command", "inputs"),
    [
        ("compare", "IN ..."),
        ("log show", "LOG ..."),
        ("log diff", "A B"),
        ("policies", "[POLICY ...]"),
        ("aot", "[MODEL]"),
    ],
)
def test_the_usage_says_how_many_inputs_there_are(command: str, inputs: str) -> None:
    usage = PARSERS[command].format_help().partition("\n")[0]
    assert usage == f"usage: passpilot {command} [option ...] {inputs}"
