# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Parser`: parses command lines as LLVM's tools do: options with one or two dashes, errors of one line.

A command declares its arguments once, as the fields of a named tuple, by `argument`, `option`, `flag`,
`several` and `part`. `add_fields` adds them to the parser, `record` makes the named tuple of the values.
It is no dataclass: `dataclasses` imports `inspect`, which takes a fifth of a command's start.
"""

from __future__ import annotations

import argparse
import itertools
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TypeVar

from passpilot.cli.options_table import options_of
from passpilot.cli.shared_options import shared_option
from passpilot.plugin.errors import UsageError
from passpilot.plugin.failures import did_you_mean
from passpilot.plugin.numbers import finite_number, whole_number

if TYPE_CHECKING:
    from passpilot.cli.options_table import Door

    Record = TypeVar("Record", bound=NamedTuple)

_GROUPS: Final = ("positional arguments", "advice", "options")
"""The first groups of a help text, in order."""

_SHORT: Final = re.compile("-(?:[A-Za-z]|O[0-3sz])")
"""Options that people type with one dash."""


_OPTION: Final = re.compile("--?[A-Za-z]")
"""What looks like an option, unlike - for a standard stream and numbers."""

_ALIASES: Final = re.compile(r"-[\w-]+(?:/-[\w-]+)+")
"""The names of an option in argparse's messages."""

_UNKNOWN: Final = "unrecognized arguments: "

_CHOICE: Final = re.compile(r"(.*: )?invalid choice: '(.*)' \(choose from (.*)\)", re.DOTALL)

_TWINS: Final = {"passes": "--pass-pipeline", "pass-pipeline": "--passes", "p": "--pass-pipeline"}
"""What a tool calls an option that another one has by this name."""

_MISSING: Final = "the following arguments are required: "


def _shown_name(names: re.Match[str]) -> str:
    """The name of an option as people type it."""
    every = names[0].split("/")
    return min(every, key=lambda name: (not name.startswith("--") or len(name) < 4, len(name)))


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Shows an option as people type it: ``-o OUT``, ``-O2``, ``--inline=RUNNER``."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        names = [name for name in action.option_strings if name.startswith("--") or _SHORT.fullmatch(name)]
        names = [name for name in names if not _SHORT.fullmatch(name[1:])]
        if not names:
            return super()._format_action_invocation(action)
        if action.nargs == 0:
            return ", ".join(names)
        value = self._format_args(action, action.dest.upper())
        if action.nargs == "?":
            value = value.removeprefix("[").removesuffix("]")
            return ", ".join(f"{name}[={value}]" for name in names)
        return ", ".join(f"{name}{' ' if _SHORT.fullmatch(name) else '='}{value}" for name in names)


class Parser(argparse.ArgumentParser):
    """An argument parser whose options take one or two dashes, and whose errors are `UsageError`."""

    def __init__(
        self,
        prog: str,
        *,
        description: str,
        epilog: str,
        old_names: Mapping[str, str] = MappingProxyType({}),
        color: bool = False,
    ) -> None:
        super().__init__(
            prog,
            description=description,
            epilog=epilog,
            formatter_class=_HelpFormatter,
            allow_abbrev=False,
            add_help=False,
        )
        self.color = color  # since Python 3.14, parsers of subcommands get it from their parent
        self._place: argparse._ActionsContainer = self
        self.option("help", "h", action="help", help="show this text")
        self._old_names = old_names
        """Present names of options by earlier ones, which are understood but not shown."""
        self._words: list[str] = []
        self.for_others = ""
        """What an error says of unknown options; {} is the name without dashes."""

    def option(self, *names: str, **keywords: object) -> None:
        """Add an option by its names without dashes; the keywords are those of `add_argument`."""
        dashed = [dashes + name for name in names for dashes in ("--", "-")]
        self._place.add_argument(*dashed, **keywords)  # type: ignore[arg-type]

    def shared(self, name: str, detail: str = "", **keywords: object) -> None:
        """Add an option that other commands have, too; `detail` says what it is in this one."""
        names, shared = shared_option(name, detail, **keywords)
        self.option(*names, **{"dest": name.replace("-", "_"), **shared})

    @contextmanager
    def group(self, title: str) -> Iterator[None]:
        """Let the help text show the options that the block adds under `title`."""
        known = {group.title: group for group in self._action_groups}
        before, self._place = self._place, known.get(title) or self.add_argument_group(title)
        yield
        self._place = before

    def format_help(self) -> str:
        """The help text: the advice first, then the command's own options, then its other groups."""
        order = {title: place for place, title in enumerate(_GROUPS)}
        self._action_groups.sort(key=lambda group: order.get(group.title or "", len(order)))
        self.usage = self.usage or self._short_usage()
        return super().format_help()

    def _short_usage(self) -> str:
        """The usage without the names of the options, which follow below it."""
        forms = {"?": "[{}]", "*": "[{} ...]", "+": "{} ..."}
        names = [
            forms.get(str(action.nargs), "{}").format(action.metavar or action.dest)
            for action in self._get_positional_actions()
        ]
        return " ".join([self.prog, "[option ...]", *names])

    def add_fields(self, kind: type[NamedTuple]) -> None:
        """Add the arguments that the fields of a command's named tuple declare."""
        for field, declared in kind._field_defaults.items():
            if isinstance(declared, _Part):
                with self.group(declared.title or "options"):
                    self.add_fields(declared.kind)
                continue
            for names, keywords in [declared] if isinstance(declared, _Declaration) else declared:
                if names is None:
                    self.add_argument(field, **keywords)
                else:
                    self.option(*(names or (field.replace("_", "-"),)), dest=field, **keywords)

    def table_options(self, door: Door) -> None:
        """Add the options of the options table that belong to this command, as the group "advice"."""
        with self.group("advice"):
            self._add_table(door)

    def _add_table(self, door: Door) -> None:
        for row in options_of(door):
            value, text = row.said(door)
            if row.kind == "flag":
                self.option(row.name, action="store_true", help=text)
            elif row.repeats(door):
                self.option(row.name, action="append", default=[], metavar=value, help=text)
            elif row.choices:
                self.option(row.name, choices=row.choices, help=text)
            else:
                self.option(row.name, type=_READERS.get(row.kind, str), metavar=value, help=text)

    def traceback_option(self) -> None:
        """Add --traceback; `passpilot.cli.main` obeys it."""
        self.option("traceback", action="store_true", help="show the whole traceback of an error")

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """As argparse's; takes earlier names of options, and values that begin with -, too."""
        self._words = list(self._joined(iter(sys.argv[1:] if args is None else args)))
        return super().parse_known_args(self._words, namespace)

    def _joined(self, rest: Iterator[str]) -> Iterator[str]:
        given: dict[str, str] = {}
        for argument in rest:
            if argument == "--":
                yield argument
                yield from rest
                return
            name, equals, value = argument.partition("=")
            if name.startswith("-") and (new := self._old_names.get(name.lstrip("-"))):
                name = f"--{new}"
            action = self._option_string_actions.get(name)
            joined = f"{name}{equals}{value}" if equals or action is None else self.joined(name, rest)
            if isinstance(action, argparse._StoreAction) and given.setdefault(action.dest, joined) != joined:
                who = self.prog.removeprefix("passpilot ")
                raise UsageError(f"{who}: {name}: expected one value, got {given[action.dest]} and {joined}")
            yield joined

    def joined(self, option: str, rest: Iterator[str], *, others: bool = False) -> str:
        """Join an option with its value, the next argument; argparse then takes it whatever it begins with.

        `others` says that a command takes options that are not its parser's.
        """
        action = self._option_string_actions[option]
        if action.nargs == "?":  # takes a value only with "="
            return f"{option}={action.const}"
        if action.nargs is not None:
            return option
        who = f"{self.prog.removeprefix('passpilot ')}: {option}"
        expected = action.metavar or " or ".join(map(str, action.choices or ())) or "a value"
        if (value := next(rest, None)) is None:
            raise UsageError(f"{who}: expected {expected}, got nothing; see `{self.prog} --help`")
        known = value == "--" or value.partition("=")[0] in self._option_string_actions
        if known or (others and _OPTION.match(value)):
            raise UsageError(
                f"{who}: expected {expected}, got the option {value}; "
                f"write {option}={value} if it is the value"
            )
        return f"{option}={value}"

    def values(self, argv: Sequence[str] | None) -> dict[str, object]:
        """The option values by Python name; for an option that may be repeated, a tuple of its values."""
        values = vars(self.parse_args(argv)).items()
        return {name: tuple(value) if isinstance(value, list) else value for name, value in values}

    def error(self, message: str) -> NoReturn:
        if message.startswith(_UNKNOWN) and (chosen := self._chosen()):
            chosen.error(message)  # argparse reports what a subcommand does not know here
        message = _ALIASES.sub(_shown_name, message).removeprefix("argument ")
        if message.startswith(_MISSING):
            if unknown := self._unknown():
                self.error(f"{_UNKNOWN}{unknown}")
            message = f"expected {message.removeprefix(_MISSING).replace(', ', ' and ')}, got none"
        who = self.prog.removeprefix("passpilot ")
        hint = ""
        if message.startswith(_UNKNOWN):
            unknown = message.removeprefix(_UNKNOWN)
            option = unknown.partition(" ")[0].partition("=")[0]
            if option.startswith("-"):
                from passpilot.cli.advice import refuse_point  # only errors need it

                refuse_point(who, option)
            hint = self.suggestion(option, 0.8 if self.for_others else 0.6)
            message = f"expected no more arguments, got {unknown}"
            if option.startswith("-"):
                message = f"{option}: expected an option of {self.prog}"
                from passpilot.cli.owners import owners

                is_near = self.suggestion(option, 0.8).startswith("; did")
                if not is_near and (others := owners(option, who)):
                    raise UsageError(f"{who}: {message}, got one of {others}")
        elif wrong := _CHOICE.fullmatch(message):
            name, value, choices = wrong.groups()
            known = [each.strip("'") for each in choices.split(", ") if each.strip("'")]
            several = "one of " * (len(known) > 1)
            message = f"{name}expected {several}{', '.join(known)}, got {value!r}"
            hint = did_you_mean(value, known)
        raise UsageError(f"{who}: {message}{hint or f'; see `{self.prog} --help`'}")

    def _unknown(self) -> str:
        """The first argument that looks like an option and is none; empty if all are known."""
        ours = itertools.takewhile("--".__ne__, self._words)
        options = (word for word in ours if word.startswith("--"))
        known = self._option_string_actions
        return next((word for word in options if word.partition("=")[0] not in known), "")

    def _chosen(self) -> Parser | None:
        """The parser of the subcommand that the arguments name."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return next((action.choices[word] for word in self._words if word in action.choices), None)
        return None

    def suggestion(self, option: str, close: float = 0.6) -> str:
        """``; did you mean ...?`` if an unknown option is close to one of this parser's."""
        name = option.partition("=")[0]
        bare = name.lstrip("-")
        known = [dashed[2:] for dashed in self._option_string_actions if re.match("--..", dashed)]
        if name.startswith("-") and (twin := _TWINS.get(bare, "")[2:]) in known:
            return f"; did you mean '--{twin}'?"
        hint = did_you_mean(bare, known, close if name.startswith("-") else 0.8).replace(" '", " '--")
        return hint or (self.for_others.format(bare) if name.startswith("-") else "")


def count_of(noun: str, least: int = 0) -> Callable[[str], int]:
    """The `type` of an option that is a whole number of things, `least` or more."""

    def read(text: str) -> int:
        number = whole_number(text)
        if number is None or number < least:
            more = f", {least} or more" if least else ""
            raise argparse.ArgumentTypeError(f"expected a number of {noun}{more}, got {text!r}")
        return number

    return read


def number_of(noun: str, *, positive: bool = False, most: float = math.inf) -> Callable[[str], float]:
    """The `type` of an option that is a number of 0 or more, or if `positive` above 0, and at most `most`."""

    def read(text: str) -> float:
        number = finite_number(text)
        if number is None or not 0 <= number <= most or (positive and not number):
            above = " above 0" if positive else ""
            raise argparse.ArgumentTypeError(f"expected a number of {noun}{above}, got {text!r}")
        return number

    return read


def truth(text: str) -> bool:
    """The `type` of an option that is true or false, in LLVM's words."""
    values = {"true": True, "1": True, "": True, "false": False, "0": False}
    if text.lower() not in values:
        raise argparse.ArgumentTypeError(f"expected true or false, got {text!r}")
    return values[text.lower()]


SECONDS: Final = number_of("seconds", positive=True, most=1e6)
"""The `type` of an option that is a time: above 0, at most a million seconds."""

_READERS: Final[Mapping[str, Callable[[str], object]]] = {
    "seconds": SECONDS,
    "number": number_of("times"),
    "count": count_of("times"),
}
"""The `type` of an option of the options table, by its kind."""


class _Declaration(NamedTuple):
    names: tuple[str, ...] | None
    """None for an argument without a flag."""
    keywords: Mapping[str, object]


class _Part(NamedTuple):
    kind: type[NamedTuple]
    title: str


def argument(metavar: str, help_: str, **keywords: object) -> Any:
    """Declares an argument without a flag, as the default of a named tuple's field."""
    return _Declaration(None, {"metavar": metavar, "help": help_, **keywords})


def option(*names: str, **keywords: object) -> Any:
    """Declares an option as the default of a named tuple's field; without a name it has that of the field.

    The keywords are those of `add_argument`.
    """
    return _Declaration(names, keywords)


def flag(help_: str, *names: str) -> Any:
    """Declares a flag, as `option`."""
    return _Declaration(names, {"action": "store_true", "help": help_})


def several(*names: str, **keywords: object) -> Any:
    """Declares an option that may be repeated, as `option`; its value is a tuple."""
    return _Declaration(names, {"action": "append", "default": [], **keywords})


def shared(name: str, detail: str = "", **keywords: object) -> Any:
    """Declares an option that other commands have, too; `detail` says what it is in this one."""
    return _Declaration(*shared_option(name, detail, **keywords))


def part(kind: type[NamedTuple], title: str = "") -> Any:
    """Declares a field that is a named tuple of options, which the help text shows under a title."""
    return _Part(kind, title)


def record(kind: type[Record], values: Mapping[str, object], **parts: object) -> Record:
    """Make a named tuple from the values with the names of its fields; `parts` override values."""
    make: Callable[..., Record] = kind
    whole = {**values, **parts}
    for name, declared in kind._field_defaults.items():
        if isinstance(declared, _Part):
            whole[name] = record(declared.kind, values)
    return make(**{name: whole[name] for name in kind._fields})
