# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the options of a Python pass from pipeline text; they are the fields of its dataclass.

    my-pass{limit=3 mode=fast verbose no-cleanup}

The field ``max_depth`` is the option ``max-depth``. The type of the field determines the values after ``=``:
bool (``true`` or ``false``; also ``verbose`` or ``no-verbose`` alone), int, float, str, an enum, a Literal,
or one of these ``| None``, where an empty value is None. A field without a default is a mandatory option. A
value may contain spaces within braces, as in ``default-pipeline=canonicalize{max-iterations=3 top-down=0}``.
"""

from __future__ import annotations

import dataclasses
import enum
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, Union

from passpilot.plugin.failures import did_you_mean, headline

_WORD: Final = re.compile(r"(?:\{(?:[^{}]|\{[^{}]*\})*\}|\S)+")
_BOOLEANS: Final = {"true": True, "false": False}


class OptionError(Exception):
    """An option is wrong; `start` and `end` are its place in the text of the options."""

    def __init__(self, text: str, start: int, end: int) -> None:
        super().__init__(text)
        self.start, self.end = start, end


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """One option: its name in pipeline text, the field that it sets, and the values it takes."""

    name: str
    field: str
    expected: str
    parse: Callable[[str], object]
    required: bool
    flag: bool

    def __str__(self) -> str:
        return self.name if self.flag else f"{self.name}={self.expected}"


def options_of(kind: type) -> tuple[Option, ...]:
    """The options of a pass class, in the order of its fields.

    Raises:
        TypeError: a field's type is not one of those above, or its default has another type.
    """
    try:
        hints = typing.get_type_hints(kind)
    except Exception as error:
        msg = f"types of fields that can be resolved, got {headline(error)}"
        raise TypeError(msg) from error
    options = tuple(_option(field, hints[field.name]) for field in dataclasses.fields(kind) if field.init)
    words = [word for option in options for word in _words(option)]
    for word in words:
        if words.count(word) > 1:
            msg = f"one meaning for the option {word}, got two fields that have it"
            raise TypeError(msg)
    return options


def parse_options(options: Sequence[Option], text: str) -> dict[str, object]:
    """The values, by field, that the text between the braces sets.

    Raises:
        OptionError: an option is unknown, repeated, missing, or has a value of another type.
    """
    known = {word: option for option in options for word in _words(option)}
    values: dict[str, object] = {}
    for match in _WORD.finditer(text):
        word, equals, value = match[0].partition("=")
        option = known.get(word)
        if option is None:
            msg = f"expected {_listed(options)}, got {_shortened(word)!r}{did_you_mean(word, known)}"
            raise OptionError(msg, match.start(), match.start() + len(word))
        if option.field in values:
            msg = f"expected one value for {option.name}, got another"
            raise OptionError(msg, match.start(), match.end())
        values[option.field] = _value(option, word, value if equals else None, match.start())
    for option in options:
        if option.required and option.field not in values:
            msg = f"expected {option.name}={option.expected}, got no {option.name}"
            raise OptionError(msg, 0, len(text))
    return values


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _words(option: Option) -> tuple[str, ...]:
    return (option.name, f"no-{option.name}") if option.flag else (option.name,)


def _value(option: Option, word: str, value: str | None, start: int) -> object:
    if option.flag and value is None:
        return word == option.name
    after = start + len(word)
    if value is None or word != option.name:
        got = f"got {word!r} alone" if value is None else f"got {word}={value}"
        raise OptionError(f"expected {option.name}={option.expected}, {got}", start, after)
    try:
        return option.parse(value)
    except ValueError:
        msg = f"expected {option.expected} for {option.name}, got {_shortened(value)!r}"
        raise OptionError(msg, after + 1, after + 1 + max(len(value), 1)) from None


def _listed(options: Sequence[Option]) -> str:
    return f"options among {', '.join(map(str, options))}" if options else "no options"


def _option(field: dataclasses.Field[object], hint: object) -> Option:
    expected, parse, accepts = _type(field.name, hint)
    default = field.default
    if default is not dataclasses.MISSING and not accepts(default):
        msg = f"a default of the type of the field {field.name}, {expected}, got {default!r}"
        raise TypeError(msg)
    required = default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    return Option(field.name.replace("_", "-"), field.name, expected, parse, required, hint is bool)


def _type(name: str, hint: object) -> tuple[str, Callable[[str], object], Callable[[object], bool]]:
    """The type in words, a parser of its values, and a check whether a Python value has the type."""
    if hint is bool:
        return "true|false", _table(_BOOLEANS), lambda value: isinstance(value, bool)
    if hint is int:
        return "int", int, lambda value: type(value) is int
    if hint is float:
        return "float", float, lambda value: type(value) in (int, float)
    if hint is str:
        return "text", _text, lambda value: isinstance(value, str)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        members = {_member_text(member): member for member in hint}
        return "|".join(members), _table(members), lambda value: isinstance(value, hint)
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is Literal:
        return "|".join(map(_literal_text, arguments)), _literals(arguments), lambda value: value in arguments
    rest = [argument for argument in arguments if argument is not types.NoneType]
    if typing.get_origin(hint) in (Union, types.UnionType) and len(rest) == 1 and len(arguments) == 2:
        expected, parse, accepts = _type(name, rest[0])
        return expected, lambda text: parse(text) if text else None, lambda v: v is None or accepts(v)
    shown = getattr(hint, "__name__", None) or str(hint)
    msg = (
        f"bool, int, float, str, an enum, a Literal, or one of them | None as the type of {name}, got {shown}"
    )
    raise TypeError(msg)


def _text(value: str) -> str:
    if not value:
        raise ValueError
    return value


def _table(values: Mapping[str, object]) -> Callable[[str], object]:
    def parse(text: str) -> object:
        if text not in values:
            raise ValueError
        return values[text]

    return parse


def _literals(arguments: Iterable[object]) -> Callable[[str], object]:
    return _table({_literal_text(value): value for value in arguments})


def _literal_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _member_text(member: enum.Enum) -> str:
    """The value of an enum's member if it is a str, else its name in kebab-case."""
    return member.value if isinstance(member.value, str) else member.name.lower().replace("_", "-")
