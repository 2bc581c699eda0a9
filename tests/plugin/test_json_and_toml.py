# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`typed_record`: every kind of member, what is missing, and the errors that name the place."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from passpilot.plugin.errors import InputError
from passpilot.plugin.json_and_toml import check_typed_dict, parse_json, parse_toml, read_json, typed_record


@dataclass(frozen=True)
class Inner:
    """An object in another."""

    x: int


@dataclass(frozen=True)
class Outer:
    """All kinds of members."""

    text: str
    number: int = 0
    real: float = 0.0
    yes: bool = False
    texts: tuple[str, ...] = ()
    nested: tuple[tuple[str, ...], ...] = ()
    objects: tuple[Inner, ...] = ()
    members: Mapping[str, Inner] = field(default_factory=dict, metadata={"key": "object"})
    named: Mapping[str, str] = field(default_factory=dict)
    inner: Inner | None = None


VALUE = {
    "text": "t",
    "number": 3,
    "real": 2,
    "yes": True,
    "texts": ["a", "b"],
    "nested": [["a"], [], ["b", "c"]],
    "objects": [{"x": 1}, {"x": 2}],
    "object": {"a": {"x": 3}, "b": {"x": 4}},
    "named": {"a": "b"},
    "inner": {"x": 5},
    "unknown": [],
}


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("[" * 65 + "]" * 65, "nesting of more than 64 levels"),
        ("[" * 100_000, "nesting of more than 64 levels"),
        ('{"a":' * 65 + "1" + "}" * 65, "nesting of more than 64 levels"),
        (f"[{10**20}]", "an integer of more than 64 bits"),
        (f"[-{10**400}]", "an integer of more than 64 bits"),
        ("9" * 5000, "Exceeds the limit"),
        ('["\\ud800"]', "'utf-8' codec can't encode character"),
        ('{"\\udfff\\ud800": 1}', "'utf-8' codec can't encode character"),
        ("[1e999]", "1e999 is no number"),
        ("[NaN]", "NaN is no number"),
    ],
)
def test_what_is_out_of_bounds(text: str, got: str) -> None:
    with pytest.raises(InputError, match=f"^f: expected JSON, got other text: {re.escape(got)}"):
        parse_json(text, "f")
    if "1e999" not in text:  # TOML has infinity
        with pytest.raises(InputError, match=r"^f: expected TOML, got other text: "):
            parse_toml(f"x = {text}", "f")


def test_what_is_within_the_bounds() -> None:
    assert parse_json('["\\ud83d\\ude00", "\\udcff", 18446744073709551615]', "f") == [
        "\U0001f600",
        "\udcff",
        2**64 - 1,
    ]
    deep = parse_json("[" * 64 + "]" * 64, "f")
    assert parse_toml("x = " + "[" * 60 + "]" * 60, "f")["x"] == deep[0][0][0][0]  # type: ignore[index]


def test_an_error_about_a_large_value_is_short() -> None:
    with pytest.raises(InputError) as caught:
        typed_record({"text": [["x" * 1000] * 1000] * 1000}, Outer, "f")
    assert len(str(caught.value)) < 200


def test_members_by_their_kind() -> None:
    nested = (("a",), (), ("b", "c"))
    members = {"a": Inner(3), "b": Inner(4)}
    whole = Outer("t", 3, 2.0, True, ("a", "b"), nested, (Inner(1), Inner(2)), members, {"a": "b"}, Inner(5))
    assert typed_record(VALUE, Outer, "f.json") == whole
    assert typed_record({"text": "t"}, Outer, "f.json") == Outer("t")
    assert typed_record({"text": "t", "inner": None, "number": None}, Outer, "f.json") == Outer("t")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"text": None}, "expected text, got none"),
        ({"text": True}, "text: expected a string, got True"),
        ({"number": True}, "number: expected an integer, got True"),
        ({"number": 1.5}, "number: expected an integer, got 1.5"),
        ({"yes": 1}, "yes: expected true or false, got 1"),
        ({"texts": "a"}, "texts: expected an array, got 'a'"),
        ({"texts": [["a"]]}, "texts: expected a string, got ['a']"),
        ({"nested": {"a": 1}}, "nested: expected an array, got {'a': 1}"),
        ({"nested": ["a"]}, "nested: expected an array, got 'a'"),
        ({"objects": {}}, "objects: expected an array, got {}"),
        ({"objects": ["a"]}, "objects[0]: expected a JSON object, got 'a'"),
        ({"objects": [{"x": 1}, {}]}, "objects[1]: expected x, got none"),
        ({"object": []}, "object: expected an object, got []"),
        ({"object": {"a": "b"}}, "object: a: expected a JSON object, got 'b'"),
        ({"named": ["a"]}, "named: expected an object, got ['a']"),
        ({"named": {"a": {}}}, "named: a: expected a string, got {}"),
        ({"inner": {"x": "y"}}, "inner: x: expected an integer, got 'y'"),
    ],
)
def test_an_error_names_the_place(changes: dict[str, object], said: str) -> None:
    with pytest.raises(InputError) as caught:
        typed_record({**VALUE, **changes}, Outer, "f.json")
    assert str(caught.value) == f"f.json: {said}"


def test_what_a_typed_dict_may_hold() -> None:
    check_typed_dict({"a": [1]}, dict[str, list[int]], "x")
    for value, said in (([], "x: expected an object, got []"), ({"a": {}}, "x: expected an array, got {}")):
        with pytest.raises(InputError) as caught:
            check_typed_dict(value, dict[str, list[int]], "x")
        assert str(caught.value) == said


def test_unknown_keys_are_refused_where_it_is_strict() -> None:
    with pytest.raises(InputError, match=r"f: expected keys among x, got 'y'"):
        typed_record({"x": 1, "y": 2}, Inner, "f", strict=True)


@pytest.mark.parametrize("value", [[], "x", 1, 1.5, True, None])
def test_what_is_no_object(value: object, tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text(json.dumps(value))
    assert read_json(tmp_path / "f.json") == value
    with pytest.raises(InputError) as caught:
        typed_record(read_json(tmp_path / "f.json"), Inner, "f.json")
    assert str(caught.value) == f"f.json: expected a JSON object, got {value!r}"


def test_a_file_of_other_bytes_is_one_line(tmp_path: Path) -> None:
    for data in (b"\xff\xfe\xff", b"{\n\n"):
        (tmp_path / "f.json").write_bytes(data)
        with pytest.raises(InputError, match=r"f.json: expected a JSON file, got other text") as caught:
            read_json(tmp_path / "f.json")
        assert "\n" not in str(caught.value)
