# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of passes: the fields of a dataclass, as pipeline text has them."""

from __future__ import annotations

import contextlib
import enum
from dataclasses import dataclass, field, fields, make_dataclass
from typing import ClassVar, Literal, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passpilot.passes.python.options import OptionError, options_of, parse_options


class Mode(enum.Enum):
    FAST_MATH = 1
    SLOW = 2


class Named(enum.Enum):
    A = "first"
    B = "second"


@dataclass(frozen=True)
class Everything:
    kind: ClassVar[str] = "no option"
    limit: int = 3
    ratio: float = 0.5
    text: str = "x"
    verbose: bool = False
    mode: Mode = Mode.SLOW
    named: Named = Named.A
    level: Literal["low", "high", 3, True] = "low"
    max_depth: int | None = None
    made: str = field(default="", init=False)


OPTIONS = options_of(Everything)


def parsed(text: str) -> Everything:
    return Everything(**parse_options(OPTIONS, text))  # type: ignore[arg-type]


def refused(kind: type, text: str) -> OptionError:
    with pytest.raises(OptionError) as caught:
        parse_options(options_of(kind), text)
    return caught.value


def test_all_types() -> None:
    made = parsed("limit=-7 ratio=1e3 text=a=b verbose mode=fast-math named=second level=3 max-depth=4")
    assert made == Everything(-7, 1000.0, "a=b", True, Mode.FAST_MATH, Named.B, 3, 4)
    assert parsed("") == Everything()
    assert parsed("level=true").level is True


@pytest.mark.parametrize(
    ("text", "value"),
    [("verbose", True), ("no-verbose", False), ("verbose=true", True), ("verbose=false", False)],
)
def test_a_flag_has_four_spellings(text: str, value: bool) -> None:
    assert parsed(text).verbose is value


@given(
    st.integers(),
    st.floats(allow_nan=False),
    st.booleans(),
    st.text("abcxyz0123=-_./+", min_size=1),
    st.sampled_from(Mode),
)
def test_what_is_written_is_read(limit: int, ratio: float, verbose: bool, text: str, mode: Mode) -> None:
    modes = {Mode.FAST_MATH: "fast-math", Mode.SLOW: "slow"}
    written = (
        f"limit={limit}  ratio={ratio!r} {'' if verbose else 'no-'}verbose text={text} mode={modes[mode]}"
    )
    made = parsed(written)
    assert (made.limit, made.ratio, made.verbose, made.text, made.mode) == (limit, ratio, verbose, text, mode)


@given(st.text("limtraxvebosdnp-=0123456789. "))
def test_any_text_is_read_or_refused_at_a_place(text: str) -> None:
    with contextlib.suppress(OptionError):
        parse_options(OPTIONS, text)
        return
    error = refused(Everything, text)
    assert 0 <= error.start <= error.end <= len(text) + 1


@pytest.mark.parametrize(
    ("text", "told", "place"),
    [
        ("limit=x", "expected int for limit, got 'x'", "x"),
        ("limit=1.5", "expected int for limit, got '1.5'", "1.5"),
        ("text=a limit=", "expected int for limit, got ''", ""),
        ("ratio=much", "expected float for ratio, got 'much'", "much"),
        ("text=", "expected text for text, got ''", ""),
        ("mode=FAST", "expected fast-math|slow for mode, got 'FAST'", "FAST"),
        ("named=A", "expected first|second for named, got 'A'", "A"),
        ("level=mid", "expected low|high|3|true for level, got 'mid'", "mid"),
        ("verbose=yes", "expected true|false for verbose, got 'yes'", "yes"),
        ("no-verbose=true", "expected verbose=true|false, got no-verbose=true", "no-verbose"),
        ("limit", "expected limit=int, got 'limit' alone", "limit"),
        ("no-limit", "expected options among limit=int, ", "no-limit"),
        ("max_depth=3", "expected options among limit=int, ", "max_depth"),
        ("limit=1 limit=2", "expected one value for limit, got another", "limit=2"),
        ("verbose no-verbose", "expected one value for verbose, got another", "no-verbose"),
        ("kind=a", "expected options among limit=int, ", "kind"),
        ("made=a", "expected options among limit=int, ", "made"),
    ],
)
def test_wrong_text_is_refused_where_it_is_wrong(text: str, told: str, place: str) -> None:
    error = refused(Everything, text)
    assert str(error).startswith(told)
    assert text[error.start : error.end] == place


def test_a_misspelt_option_has_a_suggestion() -> None:
    assert str(refused(Everything, "limt=3")).endswith("got 'limt'; did you mean 'limit'?")


@dataclass(frozen=True)
class Needy:
    path: str


@dataclass(frozen=True)
class Bare:
    pass


def test_an_option_without_default_must_be_given() -> None:
    assert parse_options(options_of(Needy), "path=/tmp") == {"path": "/tmp"}
    assert str(refused(Needy, "")) == "expected path=text, got no path"


def test_a_pass_without_options() -> None:
    assert parse_options(options_of(Bare), "  ") == {}
    assert str(refused(Bare, "x")) == "expected no options, got 'x'"


@dataclass(frozen=True)
class Listed:
    names: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Wrong:
    limit: int = "many"  # type: ignore[assignment]


@dataclass(frozen=True)
class Truth:
    limit: int = True


@dataclass(frozen=True)
class Clash:
    cache: bool = True
    no_cache: bool = False


@dataclass(frozen=True)
class Unresolved:
    limit: NoSuchType = 3  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (Listed, "bool, int, float, str, .* as the type of names, got list"),
        (Wrong, "a default of the type of the field limit, int, got 'many'"),
        (Truth, "a default of the type of the field limit, int, got True"),
        (Clash, "one meaning for the option no-cache, got two fields that have it"),
        (Unresolved, "types of fields that can be resolved, got NameError"),
    ],
)
def test_fields_that_are_no_options(kind: type, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        options_of(kind)


def test_the_options_are_the_fields() -> None:
    assert [option.field for option in OPTIONS] == [each.name for each in fields(Everything) if each.init]


@dataclass(frozen=True)
class Lenient:
    ratio: float = 1
    scale: float | None = 2
    limit: int | None = 3
    made: int = field(default_factory=lambda: 7)
    pipeline: str = "none"


def test_a_whole_number_is_a_default_of_a_float() -> None:
    assert Lenient(**parse_options(options_of(Lenient), "ratio=2")) == Lenient(2.0)  # type: ignore[arg-type]


def test_an_empty_value_is_none_where_that_is_allowed() -> None:
    values = parse_options(options_of(Lenient), "limit= scale= made=3")
    assert values == {"limit": None, "scale": None, "made": 3}


def test_a_field_whose_default_is_made_is_no_mandatory_option() -> None:
    assert not any(option.required for option in options_of(Lenient))
    assert [option.required for option in options_of(Needy)] == [True]


@pytest.mark.parametrize("value", ["a{b c}", "a{b{c d} e}", "cse,a{b=1 c=2},d{e f}"])
def test_a_value_has_spaces_within_braces(value: str) -> None:
    values = parse_options(options_of(Lenient), f"ratio=1 pipeline={value} limit=4")
    assert values == {"ratio": 1.0, "pipeline": value, "limit": 4}


def test_long_words_are_told_in_part() -> None:
    for word, shown in (("x" * 60, "x" * 60), ("x" * 61, "x" * 57 + "...")):
        assert str(refused(Bare, word)) == f"expected no options, got '{shown}'"
        assert str(refused(Lenient, f"limit={word}")) == f"expected int for limit, got '{shown}'"


def test_what_is_missing_has_a_place() -> None:
    error = refused(Everything, "text=a limit= ")
    assert (error.start, error.end) == (13, 14)
    error = refused(Uneasy, "level=low")
    assert (error.start, error.end) == (0, 9)


@dataclass(frozen=True)
class Uneasy:
    path: str
    level: Literal["low", "high"] = "low"


def with_default(hint: object, default: object) -> type:
    return make_dataclass("Made", [("limit", hint, field(default=default))], frozen=True)


@pytest.mark.parametrize(
    ("hint", "default", "told"),
    [
        (int | None, "many", "int, got 'many'"),
        (float, True, "float, got True"),
        (str, 3, "text, got 3"),
        (bool, 1, r"true\|false, got 1"),
        (Mode, 1, r"fast-math\|slow, got 1"),
        (Literal["low", "high"], "mid", r"low\|high, got 'mid'"),
    ],
)
def test_a_default_has_the_type_of_its_field(hint: object, default: object, told: str) -> None:
    with pytest.raises(TypeError, match=f"a default of the type of the field limit, {told}$"):
        options_of(with_default(hint, default))


@pytest.mark.parametrize("hint", [int | str | None, int | str, list[int] | None, Union[int, str, None]])  # noqa: UP007
def test_a_choice_of_types_is_no_option(hint: object) -> None:
    with pytest.raises(TypeError, match=r"or one of them \| None as the type of limit, got"):
        options_of(with_default(hint, None))
