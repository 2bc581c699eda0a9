# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where definitions, warnings and errors of users come from."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from types import ModuleType

import pytest

from passpilot.passes.mlir.api import pass_
from passpilot.passes.python.api import function_pass
from passpilot.passes.shipped.phases import Phases
from passpilot.plugin.errors import PasspilotWarning, RegistrationError
from passpilot.plugin.origin import definition_origin, error_place, line_in, warn_user

HERE = Path(__file__).name


def module(name: str, text: str, **names: object) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(names)
    exec(compile(text, f"{name}.py", "exec"), vars(made))
    return made


def test_a_definition_is_where_its_module_is_called() -> None:
    text = "def outer(): return inner()\ndef inner(): return origin('relay')\n"
    api = module("api", text, origin=definition_origin)
    relay = module("relay", "\n\ndef given(f): return f()\n")
    user = module(
        "user", "def direct(): return api.outer()\n\ndef through(): return relay.given(api.outer)\n"
    )
    vars(user).update(api=api, relay=relay)
    assert user.direct() == "user.py:1"
    assert user.through() == "user.py:3"


@pytest.mark.parametrize("decorator", [function_pass, pass_])
def test_decorators_name_the_line_of_the_user(decorator: object) -> None:
    user = module("user", "\n\ndef wrong(): decorator('No Name')\n", decorator=decorator)
    with pytest.raises(RegistrationError, match=r"at user\.py:3: expected a name in kebab-case"):
        user.wrong()


def test_phases_are_defined_where_the_user_makes_them() -> None:
    text = "\n\n\ndef wrong(): Phases('No Name', ('sroa',), 1, lambda _: [0])\n"
    user = module("user", text, Phases=Phases)
    with pytest.raises(RegistrationError, match=r"^decision point 'No Name' at user\.py:4: "):
        user.wrong()


def test_a_warning_is_of_the_line_that_led_here() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_user("look")
    (warning,) = caught
    assert (warning.category, str(warning.message)) == (PasspilotWarning, "look")
    assert Path(warning.filename).name == HERE


def test_the_place_of_an_error_is_that_of_the_users_code() -> None:
    user = module("user", "import json\n\ndef wrong(): json.loads('{')\n")
    with pytest.raises(ValueError, match="Expecting") as caught:
        user.wrong()
    assert error_place(caught.value) == "user.py:3"
    assert line_in("user.py", caught.value) == 3
    assert line_in("other.py", caught.value) is None
    assert error_place(ValueError("never raised")) == ""


def test_a_file_that_cannot_be_read_has_the_place_of_the_mistake() -> None:
    with pytest.raises(SyntaxError) as caught:
        compile("\na = = b", "user.py", "exec")
    assert line_in("user.py", caught.value) == 2
    assert error_place(caught.value) == "", "the text has it"


def test_a_mistake_in_another_file_has_the_line_that_led_to_it() -> None:
    user = module("user", "\n\ndef wrong(): compile('a = = b', 'other.py', 'exec')\n")
    with pytest.raises(SyntaxError) as caught:
        user.wrong()
    assert line_in("other.py", caught.value) == 1
    assert line_in("user.py", caught.value) == 3


def test_an_error_of_a_library_alone_has_a_place_there() -> None:
    with pytest.raises(ValueError, match="Expecting") as caught:
        json.loads("{")
    error = caught.value
    assert error.__traceback__
    error.__traceback__ = error.__traceback__.tb_next
    assert error_place(error).startswith(json.decoder.__file__ + ":")
