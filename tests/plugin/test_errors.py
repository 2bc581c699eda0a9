# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tree of errors in the docstring is that of the classes."""

from __future__ import annotations

import re

import pytest

from passpilot.plugin import errors
from passpilot.plugin.errors import Error, PasspilotWarning, PeerError, RunnerError, restated


def test_the_docstring_shows_the_classes() -> None:
    shown: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    rows = re.findall(r"^( {4}[ │├└─]*)(\w+(?:Error|Warning))\b", errors.__doc__ or "", re.MULTILINE)
    for indent, name in rows:
        while above and above[-1][0] >= len(indent):
            above.pop()
        shown[name] = above[-1][1] if above else "Error"
        above.append((len(indent), name))
    kinds = [each for each in vars(errors).values() if isinstance(each, type) and each is not Error]
    assert shown.pop(PasspilotWarning.__name__)
    assert shown == {kind.__name__: kind.mro()[1].__name__ for kind in kinds if issubclass(kind, Error)}


def test_restated_keeps_the_class_and_what_it_knows() -> None:
    class UsersError(RunnerError):
        fatal = True

    first = UsersError("x")
    again = restated(first, "who: x")
    assert (type(again), str(again), again.__cause__) == (RunnerError, "who: x", first)
    assert isinstance(again, RunnerError)
    assert again.fatal
    assert isinstance(restated(PeerError("y"), "z"), PeerError)
    with pytest.raises(RunnerError, match="z"):
        raise restated(PeerError("y"), "z")
