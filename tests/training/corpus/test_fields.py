# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`JsonFields`: every kind of member, what is missing, and the errors that name the place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from passpilot.plugin.errors import InputError
from passpilot.training.corpus.fields import JsonFields, read_json

VALUE = {
    "text": "t",
    "number": 3,
    "yes": True,
    "none": None,
    "texts": ["a", "b"],
    "nested": [["a"], [], ["b", "c"]],
    "objects": [{"x": 1}, {"x": 2}],
    "object": {"a": {"x": 3}, "b": {"x": 4}},
    "named": {"a": "b"},
    "float": 1.5,
}
FIELDS = JsonFields(VALUE, "f.json")


def test_members_by_their_kind() -> None:
    assert (FIELDS.text("text"), FIELDS.text("text", "d"), FIELDS.text("absent", "d")) == ("t", "t", "d")
    assert (FIELDS.number("number"), FIELDS.flag("yes"), FIELDS.flag("absent")) == (3, True, False)
    assert (FIELDS.texts("texts"), FIELDS.texts("absent")) == (("a", "b"), ())
    assert (FIELDS.nested_texts("nested"), FIELDS.nested_texts("absent")) == ((("a",), (), ("b", "c")), ())
    assert [each.number("x") for each in FIELDS.objects("objects")] == [1, 2]
    assert list(FIELDS.objects("absent")) == []
    assert {name: each.number("x") for name, each in FIELDS.members("object").items()} == {"a": 3, "b": 4}
    assert (FIELDS.members("absent"), FIELDS.named_texts("absent")) == ({}, {})
    assert FIELDS.member("object").member("b").number("x") == 4
    assert FIELDS.named_texts("named") == {"a": "b"}
    assert [name in FIELDS for name in ("text", "none", "absent")] == [True, False, False]


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (lambda: FIELDS.text("absent"), "absent: expected a string, got nothing"),
        (lambda: FIELDS.text("none", "d"), "none: expected a string, got nothing"),
        (lambda: FIELDS.text("yes"), "yes: expected a string, got a boolean"),
        (lambda: FIELDS.number("absent"), "absent: expected an integer, got nothing"),
        (lambda: FIELDS.number("yes"), "yes: expected an integer, got a boolean"),
        (lambda: FIELDS.number("float"), "float: expected an integer, got a number"),
        (lambda: FIELDS.flag("number"), "number: expected true or false, got a number"),
        (lambda: FIELDS.texts("text"), "text: expected an array of strings, got a string"),
        (lambda: FIELDS.texts("nested"), "nested: expected an array of strings, got an array"),
        (lambda: FIELDS.nested_texts("object"), "object: expected an array of arrays, got an object"),
        (lambda: FIELDS.nested_texts("texts"), "texts: expected arrays of strings, got an array"),
        (lambda: FIELDS.objects("object"), "object: expected an array, got an object"),
        (lambda: list(FIELDS.objects("texts")), "texts[0]: expected a JSON object, got a string"),
        (
            lambda: list(FIELDS.objects("objects"))[1].text("y"),
            "objects[1]: y: expected a string, got nothing",
        ),
        (lambda: FIELDS.members("texts"), "texts: expected an object, got an array"),
        (lambda: FIELDS.members("named"), "named: a: expected a JSON object, got a string"),
        (lambda: FIELDS.member("number"), "number: expected a JSON object, got a number"),
        (lambda: FIELDS.member("object").text("a"), "object: a: expected a string, got an object"),
        (lambda: FIELDS.named_texts("texts"), "texts: expected an object of strings, got an array"),
        (lambda: FIELDS.named_texts("object"), "object: expected an object of strings, got an object"),
    ],
)
def test_an_error_names_the_place(read: Callable[[], object], said: str) -> None:
    with pytest.raises(InputError) as caught:
        read()
    assert str(caught.value) == f"f.json: {said}"


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ([], "an array"),
        ("x", "a string"),
        (1, "a number"),
        (1.5, "a number"),
        (True, "a boolean"),
        (None, "nothing"),
    ],
)
def test_what_is_no_object(value: object, kind: str, tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text(json.dumps(value))
    assert read_json(tmp_path / "f.json") == value
    with pytest.raises(InputError) as caught:
        JsonFields.read(tmp_path / "f.json")
    assert str(caught.value) == f"{tmp_path}/f.json: expected a JSON object, got {kind}"


def test_a_file_of_other_bytes_is_one_line(tmp_path: Path) -> None:
    for data in (b"\xff\xfe\xff", b"{\n\n"):
        (tmp_path / "f.json").write_bytes(data)
        with pytest.raises(InputError, match=r"f.json: expected JSON, got other text: .") as caught:
            read_json(tmp_path / "f.json")
        assert "\n" not in str(caught.value)
