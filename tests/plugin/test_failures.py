# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How exceptions are put into words, and which place they name."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from passpilot.features.point import find_point
from passpilot.plugin import failures
from passpilot.plugin.errors import InputError
from passpilot.plugin.failures import describe_exception, describe_failure
from passpilot.runners.base import allocate
from passpilot.runners.spec import make_runner

POINT = find_point("inline")


def raised(call: Callable[[], object]) -> BaseException:
    with pytest.raises(BaseException) as caught:  # noqa: PT011
        call()
    return caught.value


def test_description_names_the_innermost_line_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "policy.py"
    path.write_text(
        "import json\ndef helper():\n    return json.loads('{')\ndef decide(obs):\n    return helper()\n"
        "def missing(obs):\n    return obs['weight']\n",
    )
    for name, line, head in (
        ("decide", 3, "JSONDecodeError: "),
        ("missing", 7, "PolicyError: obs['weight']"),
    ):
        text = describe_exception(raised(allocate(make_runner(f"python:{path}:{name}", POINT)).evaluate))
        assert text.startswith(head)
        assert text.endswith(f" ({path}:{line})")


def test_description_of_odd_exceptions() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    def throw(error: BaseException) -> None:
        raise error

    here = f"({__file__}:"
    assert describe_exception(raised(lambda: throw(ValueError()))).startswith(f"ValueError {here}")
    assert describe_exception(raised(lambda: throw(ValueError("a\nb")))).startswith(f"ValueError: a b {here}")
    assert describe_exception(raised(lambda: throw(MuteError()))).startswith(
        "MuteError: (its text cannot be read: Runtime"
    )
    assert describe_exception(KeyError("x")) == "KeyError: 'x'"
    syntax = raised(lambda: compile("a = = b", "policy.py", "exec"))
    assert describe_exception(syntax) == "SyntaxError: invalid syntax (policy.py, line 1)"
    assert "test_failures.py:" in describe_exception(raised(lambda: json.loads("{")))


def test_our_own_errors_need_no_type_and_no_place() -> None:
    assert describe_failure(InputError("not this")) == "not this"
    assert describe_failure(ValueError("x")) == "ValueError: x"


def test_our_own_errors_out_of_the_users_code_have_both() -> None:
    def fails() -> None:
        raise InputError("not this")

    told = describe_failure(raised(fails))
    assert told.startswith("InputError: not this (")
    assert "test_failures.py:" in told


def test_what_utf_8_cannot_hold_is_escaped() -> None:
    assert describe_exception(ValueError("a\udc80")) == "ValueError: a\\x80"
    assert describe_failure(InputError("a\udc80")) == "a\\x80"


SOURCE = """
def fails(stack, error):
    def close():
        raise error
    try:
        with stack:
            stack.callback(close)
    except type(error) as caught:
        return caught
"""


def test_an_error_of_passpilots_names_no_place_inside_python() -> None:
    """Here it comes through contextlib, as in the process that compiles for agents."""
    space: dict[str, Callable[..., BaseException]] = {}
    exec(compile(SOURCE, failures.__file__, "exec"), space)
    assert describe_failure(space["fails"](contextlib.ExitStack(), InputError("not this"))) == "not this"
    assert "contextlib.py:" in describe_failure(space["fails"](contextlib.ExitStack(), ValueError("x")))


def test_an_exception_in_a_callback_of_mlirs_bindings_is_said_as_such() -> None:
    text = (
        "Exception raised in callback: Traceback (most recent call last):\n"
        '  File "passpilot/cli/main.py", line 66, in run\n'
        '  File "bad.py", line 9, in visit\n'
        "NameError: name 'nope' is not defined\n"
    )
    assert describe_exception(RuntimeError(text)) == "NameError: name 'nope' is not defined (bad.py:9)"
    assert describe_exception(ValueError(text)).startswith("ValueError: Exception raised in callback")


def test_a_misspelt_attribute_has_a_suggestion() -> None:
    assert failures.headline(raised(lambda: "a".uper())).endswith("'uper'; did you mean 'upper'?")  # type: ignore[attr-defined]
    assert failures.headline(raised(lambda: "a".quite_other())).endswith("'quite_other'")  # type: ignore[attr-defined]
